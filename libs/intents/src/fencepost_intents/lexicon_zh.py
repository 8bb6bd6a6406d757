# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""Chinese words of time and money: word -> (kind, value). Kinds are listed in `lexer`.

A word of kind "." only keeps its characters from being read as something else (一起 holds no number).
"""

from __future__ import annotations

from typing import Any, Final

Entry = tuple[str, Any]


def _each(kind: str, words: str, value: Any = None) -> dict[str, Entry]:
    return dict.fromkeys(words.split(), (kind, value))


_WEEK_WORDS: Final = ("周", "星期", "礼拜")
_WEEK_ENDS: Final = (("一1", 0), ("二2", 1), ("三3", 2), ("四4", 3), ("五5", 4), ("六6", 5), ("日天7", 6))

WORDS: Final[dict[str, Entry]] = {
    # Relative days: (offset, part of day)
    **_each("D", "今天 今日 今儿 今儿个 当天", (0, None)),
    **_each("D", "明天 明日 明儿 明儿个 翌日 听日", (1, None)),
    **_each("D", "后天 后日", (2, None)),
    **_each("D", "大后天", (3, None)),
    **_each("D", "大大后天", (4, None)),
    **_each("D", "昨天 昨日 昨儿 寻日 噚日", (-1, None)),
    **_each("D", "前天 前日", (-2, None)),
    **_each("D", "大前天", (-3, None)),
    **_each("D", "今早 今晨", (0, "morning")),
    **_each("D", "今晚 今夜 今天夜里", (0, "evening")),
    **_each("D", "明早 明晨", (1, "morning")),
    **_each("D", "明晚", (1, "evening")),
    **_each("D", "昨晚 昨夜", (-1, "evening")),
    **_each("D", "后晚", (2, "evening")),
    **_each("D", "前晚", (-2, "evening")),
    # Parts of the day
    **_each("P", "凌晨 拂晓", "dawn"),
    **_each("P", "早上 早晨 清晨 清早 大清早 一大早 一早 大早上", "morning"),
    **_each("P", "上午 午前", "forenoon"),
    **_each("P", "中午 午间 晌午", "noon"),
    **_each("P", "正午", "noon_exact"), **_each("P", "早晚", "both"),
    **_each("P", "下午 午后", "afternoon"),
    **_each("P", "傍晚 黄昏", "dusk"),
    **_each("P", "晚上 晚间 夜晚 夜间 夜里 晚夕", "evening"),
    **_each("P", "深夜 半夜 三更半夜 后半夜 大半夜", "night"),
    **_each("P", "午夜 零点钟 午夜十二点 午夜12点 半夜十二点 半夜12点", "midnight"),
    # Units
    **_each("u", "秒 秒钟", "second"),
    **_each("u", "分钟", "minute"),
    **_each("u", "小时 钟头", "hour"),
    **_each("u", "天", "day"),
    **_each("u", "周 星期 礼拜", "week"),
    **_each("u", "季度 季", "quarter"),
    **_each("u", "年度", "year"),
    **_each("u", "工作日 个工作日", "workday"),
    **_each("k", "刻 刻钟"),
    **_each("h", "半 半钟"),
    **_each("g", "个"), **_each("&", "又"),
    **_each("m", "月"),
    **_each("m", "月份"),
    **_each("d", "日 号"),
    **_each("y", "年"),
    **_each("c", "点 点钟 点整 点正 时 时整"),
    **_each("c", "点多 点左右", "about"),
    **_each("f", "分"),
    # Relative years, edges of periods, weekends
    **_each("q", "今年", 0), **_each("q", "明年 来年", 1), **_each("q", "后年", 2),
    **_each("q", "去年", -1), **_each("q", "前年", -2), **_each("q", "大后年", 3),
    **_each("X", "月底 月末 月尾", ("month", "end")), **_each("X", "月初", ("month", "start")),
    **_each("X", "月中", ("month", "middle")), **_each("X", "年底 年末 岁末 年尾", ("year", "end")),
    **_each("X", "年初", ("year", "start")), **_each("X", "年中", ("year", "middle")),
    **_each("X", "季末 季度末 季度底 季底", ("quarter", "end")), **_each("X", "季初 季度初", ("quarter", "start")),
    **_each("X", "周初", ("week", "start")),
    **_each("x", "上旬", 0), **_each("x", "中旬", 1), **_each("x", "下旬", 2),
    **_each("E", "周末 双休日 礼拜末"),
    # Before, after, within, from, to
    **_each("A", "后 以后 之后 过后", "after"),
    **_each("B", "前 以前 之前", "before"),
    **_each("N", "内 之内 以内"),
    **_each("b", "截止到 截至到 截止 截至 不晚于 最晚 最迟 赶在"),
    **_each("t", "到 至 ~ - -- 持续到"), **_each("w", "直到 一直到 一直持续到"), **_each("I", "再过 过 再等", None),
    **_each("F", "从 自 自从 由"),
    **_each("v", "开始 起"),
    **_each("&", "和 跟 与 及 以及 、 或 或者 还是"),
    **_each("s", "的 在 于 大概 大约 差不多 左右 那天 这天 当日"),
    **_each("e", "除了 除 不包括 不含 不算"),
    **_each("O", "除外 之外 以外 不算在内 例外"),
    **_each("~", "差"),
    # Recurrence
    **_each("R", "每 每逢 每到 逢"),
    **_each("r", "每隔 隔"),
    **_each("Q", "天天 日日", ("DAILY", 1, None)), **_each("Q", "隔天 隔日 每隔一天 隔一天", ("DAILY", 2, None)),
    **_each("Q", "每早", ("DAILY", 1, "morning")), **_each("Q", "每晚 夜夜", ("DAILY", 1, "evening")),
    **_each("Q", "隔周", ("WEEKLY", 2, None)), **_each("Q", "年年", ("YEARLY", 1, None)),
    **_each("z", "次 遍 回"), **_each("4", "持续 共 一共 总共"), **_each("4", "连续 连着 接连", "run"),
    **_each("H", "节假日 法定节假日 法定假日 公众假期 假期", "*"),
    **_each("L", "上半年", ("half_year", 1)), **_each("L", "下半年", ("half_year", 2)),
    **_each("p", "最近 过去 近", "recent"), **_each("p", "未来 接下来 今后", "next"),
    **_each("#", "几 数 好几 若干"),
    # Lunar calendar
    **_each("l", "农历 阴历 旧历"),
    **{f"初{char}": ("i", n) for n, char in enumerate("一二三四五六七八九十", 1)},
    **_each("j", "正月", 1), **_each("j", "冬月", 11), **_each("j", "腊月", 12),
    # Holidays
    **_each("H", "元旦 元旦节 新年", "new_year"),
    **_each("H", "大年初一 年初一 春节 过年 农历新年", "spring_festival"),
    **_each("H", "除夕 除夕夜 大年三十 年三十 年夜", "lunar_eve"),
    **_each("H", "元宵节 元宵", "lantern"), **_each("H", "清明节 清明", "qingming"),
    **_each("H", "五一 五一节 劳动节 五一劳动节", "labour_cn"), **_each("H", "端午节 端午", "dragon_boat"),
    **_each("H", "七夕 七夕节", "qixi"), **_each("H", "中秋节 中秋 八月节", "mid_autumn"),
    **_each("H", "重阳节 重阳", "double_ninth"), **_each("H", "腊八节 腊八", "laba"),
    **_each("H", "国庆节 国庆 十一国庆 十一国庆节", "national_cn"),
    **_each("H", "妇女节 三八节 三八妇女节", "women"), **_each("H", "儿童节 六一儿童节 六一", "children"),
    **_each("H", "教师节", "teachers_cn"), **_each("H", "建军节 八一建军节", "army_cn"), **_each("H", "青年节 五四青年节", "youth_cn"), **_each("H", "植树节", "arbor_cn"), **_each("H", "建党节", "party_cn"), **_each("H", "冬至", "winter_solstice"),
    **_each("H", "双十一 双11", "singles"), **_each("H", "情人节", "valentine"), **_each("H", "愚人节", "april_fools"),
    **_each("H", "母亲节", "mothers"), **_each("H", "父亲节", "fathers"), **_each("H", "感恩节", "thanksgiving"),
    **_each("H", "平安夜 圣诞夜 圣诞前夜", "christmas_eve"), **_each("H", "圣诞节 圣诞", "christmas"),
    **_each("H", "万圣节 万圣夜", "halloween"), **_each("H", "复活节", "easter"), **_each("H", "黑色星期五", "black_friday"),
    **_each("H", "跨年夜 跨年", "new_year_eve"),
    # Money
    **_each("C", "元 元钱 圆 元整 元人民币 块人民币 人民币 块大洋", "CNY"), **_each("K", "块 块钱", "CNY"),
    **_each("J", "毛 毛钱 角 角钱", "tenth"), **_each("J", "分钱", "hundredth"), **_each("J", "美分", "USD"), **_each("J", "便士", "GBP"),
    **_each("C", "美元 美金 美刀 刀 美钞", "USD"), **_each("C", "欧元 欧", "EUR"), **_each("C", "英镑 镑", "GBP"),
    **_each("C", "日元 日币 日圆 円", "JPY"), **_each("C", "港币 港元 港纸 港幣 港圆", "HKD"),
    **_each("C", "台币 新台币 台幣", "TWD"), **_each("C", "韩元 韩币 韩圆", "KRW"), **_each("C", "澳元 澳币 澳大利亚元", "AUD"),
    **_each("C", "加元 加币 加拿大元", "CAD"), **_each("C", "新加坡元 新加坡币 新币 坡币", "SGD"),
    **_each("C", "泰铢", "THB"), **_each("C", "奈拉", "NGN"), **_each("C", "里拉 土耳其里拉", "TRY"), **_each("C", "比索 墨西哥比索", "MXN"), **_each("C", "瑞典克朗", "SEK"), **_each("C", "雷亚尔", "BRL"), **_each("C", "迪拉姆", "AED"), **_each("C", "卢布", "RUB"), **_each("C", "卢比 印度卢比", "INR"),
    **_each("C", "瑞士法郎 瑞郎", "CHF"), **_each("C", "林吉特 马币", "MYR"), **_each("C", "澳门元 澳门币", "MOP"),
    **_each("C", "越南盾", "VND"), **_each("C", "新西兰元 纽币", "NZD"),
    **_each("!", "负 减"),
    # Zones
    **_each("Z", "北京时间 中国时间 国内时间 上海时间", "Asia/Shanghai"), **_each("Z", "香港时间", "Asia/Hong_Kong"),
    **_each("Z", "台北时间 台湾时间", "Asia/Taipei"), **_each("Z", "东京时间 日本时间", "Asia/Tokyo"),
    **_each("Z", "首尔时间 韩国时间", "Asia/Seoul"), **_each("Z", "新加坡时间", "Asia/Singapore"),
    **_each("Z", "纽约时间 美东时间 美国东部时间 美东", "America/New_York"),
    **_each("Z", "洛杉矶时间 旧金山时间 西雅图时间 美西时间 美国西部时间 太平洋时间 美西", "America/Los_Angeles"),
    **_each("Z", "芝加哥时间 美中时间 美国中部时间", "America/Chicago"),
    **_each("Z", "伦敦时间 英国时间", "Europe/London"), **_each("Z", "巴黎时间 法国时间", "Europe/Paris"),
    **_each("Z", "柏林时间 德国时间", "Europe/Berlin"), **_each("Z", "悉尼时间", "Australia/Sydney"),
    **_each("Z", "莫斯科时间", "Europe/Moscow"), **_each("Z", "迪拜时间", "Asia/Dubai"),
    **_each("Z", "格林威治时间 格林尼治时间 世界时 协调世界时", "UTC"),
    # No numbers, times or money in these
    **_each(".", "一起 一下 一些 一样 一直 一定 一般 一切 一旦 一边 一会 一会儿 万一 统一 唯一 第一时间 一一 一同 一律 一再"),
    **_each(".", "早一点 晚一点 快一点 有一点 一点点 一点儿 一点都 一点也 慢一点 多一点 少一点 一声 一趟 一句 一条 一笔 一番"),
    **_each(".", "年代 世纪 地点 有点 早点 晚点 快点 重点 特点 景点 差点 优点 缺点 观点 要点 起点 终点 点菜 点餐 点赞 点外卖 点评 点名 网点 站点"),
    **_each(".", "时候 时间 同时 及时 按时 准时 当时 随时 临时 平时 有时 到时 到时候 时差 时长 小时候 时区 时尚 时刻 实时 暂时 超时 定时"),
    **_each(".", "天气 天空 天津 聊天 天花板 天使 前端 前台 前面 目前 提前 前任 前程 前往 眼前 当前 前景 前男友 前女友 前途"),
    **_each(".", "后来 后面 最后 然后 后续 背后 后台 后果 后悔 后期 售后 落后 今后 先后 后端 前后"),
    **_each(".", "到底 到达 收到 看到 想到 听到 遇到 找到 得到 感到 做到 提到 迟到 签到 到家 到期 报到 遇到 办到 回到 来到"),
    **_each(".", "月亮 月饼 月球 岁月 蜜月 年轻 年纪 年龄 年级 少年 青年 周年 周报 周会 周边 周围 周杰伦 年货 年会 年终奖 年薪 月薪 年报"),
    **_each(".", "日程 日报 日记 日志 日常 日本 日语 日文 日期 生日 节日 假日 日子 日历 往日 平日 日用品 日式 日料 向日葵 星期几 礼拜几 周几"),
    **_each(".", "号码 帐号 账号 信号 符号 型号 几号 编号 分享 分析 部分 充分 分别 分手 分开 十分感谢 十分重要 分类 分期 积分 学分 满分 分数 分之 分配 分公司 分机"),
    **_each(".", "半天 多半 一半 半价 半路 零食 零钱 零件 零售 百度 千万 百分之 二手 二维码 三明治 四川 九龙 千克 万达 五金 十字 七匹狼 六神 九寨沟 三亚 三星 四季"),
    **_each(".", "角度 角色 三角 主角 羽毛 毛巾 毛衣 毛病 毛笔 刀具 菜刀 剪刀 指甲刀 欧洲 欧美 欧式 块头 一块儿 石块 板块 模块 刀片 减肥 减少 减脂 负责 负债 抱负 元素 元宝 公元 单元 多元 状元"),
    **_each(".", "差别 差不多了 出差 误差 起床 起来 一起 对不起 起飞 起草 起诉 发起 想起 从来 从此 从事 自己 自动 自行车 自拍 由于 理由 自由 来自 来回 回家 回来 回复 回答 回去 回电 回信 次数 其次"),
    **_each(".", "除了会 删除 移除 清除 解除 免除 去除 排除 扫除 和平 和谐 与其 及格 以及 跟进 跟踪 或许 的话 目的 在线 在家 现在 存在 正在 实在 关于 对于 等于 属于 于是 终于 隔壁 隔离 间隔 内容 内部 国内 内存 内衣 室内 内向 个人 个性 整个"),
    **_each(".", "季节 四季 赛季 雨季 刻意 立刻 深刻 即刻 雕刻 此刻 秒杀 秒懂 星期日志 元旦快乐 新年快乐 春节快乐 中秋快乐 圣诞快乐 国庆快乐 节日快乐 周末愉快 周末快乐 早上好 上午好 中午好 下午好 晚上好 早安 晚安 午安"),
    **_each(".", "开始吧 每个人 每人 年轻人 第一次 上一次 下一次 这一次 有一次 再一次 再次 上次 下次 这次 首次 初次 一次性 一号线 二号线 十号线"),
    **{f"隔{week}{char}": ("Q", ("WEEKLY", 2, None, (day,))) for week in _WEEK_WORDS for chars, day in _WEEK_ENDS for char in chars},
}  # fmt: skip
WORDS.update(
    {f"{week}{char}": ("W", day) for week in _WEEK_WORDS for chars, day in _WEEK_ENDS for char in chars}
)

# 下周一起吃饭 is 下周 + 一起: a weekday that is really the head of the next word.
WEEKDAY_TAILS: Final = {
    "一": ("起吃", "起去", "起来", "起看", "起玩", "起聊", "起做", "起讨", "起过", "起聚", "起学", "起打", "起喝", "起出", "起跑",
           "定", "直", "共", "样", "般", "次", "遍", "个"),
    "二": ("次",), "三": ("次", "遍", "天"), "四": ("次", "天"), "五": ("次", "天"), "六": ("次", "天"),
    "日": ("程", "常", "历", "均", "报", "志", "记"), "天": ("气",),
}  # fmt: skip
# 周五晚, but 周五晚饭; 三号, but 三号楼; 初 before these is a day of the moon's month.
LUNAR_DAYS: Final = frozenset("一二三四五六七八九十")
UNITS_OF_TIME: Final = frozenset("分点日号年月")
NUMBERED: Final = frozenset("楼线桌院馆厅房室机床厂铺仓柜窗台井坑路座栋门柱球员选")
AFTER_LATE: Final = frozenset("上间夕餐饭会宴点些了到归礼安夜婚年熟")
ADDED_ON: Final = frozenset("加写记添标排补附")
NEXT_LAST: Final = {"下": 1, "上": -1, "这": 0, "本": 0, "当": 0, "今": 0, "那": 0}
