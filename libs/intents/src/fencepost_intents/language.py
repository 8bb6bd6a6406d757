"""Which language a text is in, and the one normal form that every rule reads.

The normal form has as many code points as the text, so that a span in one is a span in the other: full width
becomes ASCII, traditional characters of our own vocabulary become simplified, letters become lower case.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from fencepost_intents.patterns import lazy

# Only characters that the lexicons use: a title is always cut from the text as written.
_TRADITIONAL: Final = (
    "覆复訴诉點点鐘钟鍾钟週周禮礼後后時时個个兩两號号幾几過过這这還还請请說说説说幫帮給给記记帳账賬账錢钱塊块圓圆飯饭車车費费寫写郵邮發发譯译語语華华國国為为從从開开會会議议計计劃划簡简報报頁页總总結结檔档"
    "問问題题對对應应須须買买賣卖書书機机場场電电話话視视頻频訂订單单據据購购與与無无歐欧鎊镑幣币萬万億亿貳贰參叁陸陆負负廣广農农曆历節节聖圣誕诞勞劳動动慶庆陰阴陽阳臘腊歲岁間间雙双隻只鬧闹設设東东"
    "紐纽約约倫伦馬马羅罗韓韩臺台灣湾門门納纳當当該该別别斷断繼继續续變变遲迟邊边裡里裏里們们麼么嗎吗誰谁樣样麗丽愛爱學学習习業业務务員员經经銀银貸贷轉转帶带趕赶遠远進进離离聽听讓让認认識识試试證证"
    "調调談谈論论講讲謝谢輕轻較较輸输辦办準准備备醫医藥药療疗檢检驗验測测氣气溫温燈灯關关閉闭啟启樂乐歡欢響响顧顾類类願愿顯显風风飛飞館馆魚鱼鳥鸟麥麦黃黄齊齐龍龙處处複复製制復复歸归徵征隨随險险階阶"
    "際际隊队難难雖虽雲云霧雾靜静項项順顺預预領领頭头鬆松鮮鲜鹽盐協协叢丛嚴严喪丧圖图團团園园圍围執执壞坏壓压壽寿夠够夾夹奪夺奮奋婦妇嬸婶實实審审寬宽將将專专尋寻導导屆届屬属層层崗岗幹干庫库廚厨廳厅"
    "張张彈弹強强彙汇徑径態态慣惯憑凭憶忆懷怀懶懒懸悬戲戏戶户拋抛擇择擊击擔担擠挤擴扩擺摆數数敵敌暫暂曬晒條条楊杨極极構构槍枪標标樓楼權权檯台歷历殘残殺杀氫氢沒没決决沖冲況况淚泪淨净減减滅灭滿满漢汉"
    "潔洁災灾烏乌煙烟煩烦熱热營营爭争爺爷狀状獎奖獲获環环現现瑪玛產产畢毕畫画異异盡尽監监盤盘眾众著着礎础祕秘種种稱称穩稳窮穷競竞筆笔築筑籃篮級级紅红純纯紙纸組组細细終终統统絕绝網网維维綱纲緊紧線线"
    "編编練练縣县縮缩績绩織织繞绕繪绘義义聯联聰聪職职聲声腦脑臉脸臨临舉举舊旧蘋苹薦荐藍蓝蘭兰虛虚蟲虫術术衛卫衝冲補补裝装規规覺觉覽览觀观訊讯訓训託托許许訪访評评詞词詢询詳详誤误課课讀读貨货貴贵貼贴"
    "賀贺資资賓宾賞赏賽赛贈赠贏赢趙赵跡迹踐践躍跃軍军軟软輪轮輛辆遊游運运達达違违遞递選选鄉乡釋释針针鈔钞鋪铺錄录錯错鍵键鎖锁鏡镜鐵铁長长閱阅陣阵陳陈隱隐雜杂靈灵韻韵頂顶額额顏颜飲饮飾饰養养餘余驚惊"
    "尋寻體体髮发鬥斗鴨鸭麵面黨党齡龄"
)
_TABLE: Final[dict[int, int]] = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},
    **{ord(_TRADITIONAL[i]): ord(_TRADITIONAL[i + 1]) for i in range(0, len(_TRADITIONAL), 2)},
    **dict.fromkeys(map(ord, "\u3000\u00a0\u2009\u202f\u200b\u200c\u200d\ufeff\t"), 0x20),
    **dict.fromkeys(map(ord, "‘’`´"), ord("'")),
    **dict.fromkeys(map(ord, "–—−‐‑―"), ord("-")),
    **dict.fromkeys(map(ord, "～〜"), ord("~")),
    ord("￥"): ord("¥"),
    ord("﹩"): ord("$"),
    ord("〇"): ord("零"),
    ord("○"): ord("零"),
    ord("﹣"): ord("-"),
}
_ZH_RUN: Final = lazy(r"[\u4e00-\u9fff]")
_EN_RUN: Final = lazy(r"[a-z]+(?:'[a-z]+)?")
_OTHER_SCRIPT: Final = lazy(r"[\u3040-\u30ff\uac00-\ud7af\u0400-\u04ff\u0600-\u06ff\u0e00-\u0e7f]")


def normalize(text: str) -> str:
    """The normal form: same length, spans kept."""
    mapped = text.translate(_TABLE)
    lowered = mapped.lower()
    if len(lowered) == len(text):
        return lowered
    # A few letters (İ) grow when lowered; they are kept as they are.
    return "".join(low if len(low := char.lower()) == 1 else char for char in mapped)


@lru_cache(maxsize=256)
def language_of(norm: str) -> str:
    """`zh`, `en`, or `other` (another script and no Han), by counting Han characters and Latin words."""
    han = len(_ZH_RUN.findall(norm))
    words = len(_EN_RUN.findall(norm))
    if han and han * 2 >= words:
        return "zh"
    if not words and _OTHER_SCRIPT.search(norm):
        return "other"
    return "en"
