# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""What a clause may ask for: the words that carry each intent, in Chinese and English, as patterns.

Every gap is bounded, so that matching stays linear. The earliest match in a clause is its outer request;
the order
here decides only between matches at one place. Patterns are compiled on first use, a language at a time.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from fencepost_intents.patterns import lazy

_ZH_NOTE: Final = r"(?:提醒|闹钟|闹铃|待办|备忘|日程|行程|日历|行事历|代办)"
_ZH_ASK: Final = r"(?:哪些|什么|几个|多少|任何|啥|哪几个|没有|没)"
_ZH_LANG: Final = r"(?:英|日|法|德|韩|俄|中|汉|西班牙|葡萄牙|意大利|阿拉伯|泰|越南|印尼|马来|希腊|荷兰|土耳其|拉丁|印地|粤|国|外|繁体中|简体中|繁體中)(?:文|语|國語)"
_EN_NOTE: Final = (
    r"(?:reminders?|alarms?|timers?|to[- ]?dos?|calendar|events?|appointments?|meetings?|agenda|schedule)"
)
EN_LANG: Final = (
    r"(?:english|chinese|mandarin|cantonese|simplified chinese|traditional chinese|japanese|french|german|korean|spanish|italian|"
    r"portuguese|russian|arabic|thai|vietnamese|dutch|greek|turkish|hindi|latin|polish|swedish|indonesian|hebrew|ukrainian)"
)
EN_PLACE: Final = r"(?:mexico|spain|argentina|chile|colombia|peru|france|germany|austria|italy|japan|china|korea|russia|brazil|portugal|greece|turkey|thailand|vietnam|poland|sweden|ukraine|israel)"
_ZH_FILE: Final = r"(?:文档|文件|合同|协议|附件|报告|pdf|论文|文章|白皮书|说明书|手册|资料|表格|word|excel|材料|条款|标书|章节)"
_EN_FILE: Final = r"(?:document|doc|docx|contract|pdf|file|report|attachment|paper|agreement|manual|spreadsheet|proposal|lease|article|invoice|handbook)"
_ZH_MAIL: Final = r"(?:邮件|电邮|电子邮件|e-?mail|mail|邮箱|伊妹儿|信函)"
_EN_SPEND: Final = r"(?:spend|spent|spending|spendings|expenses?|expenditures?|cost me|paid|pay)"

# (intent, pattern); earlier entries win at the same place.
ZH: Final[tuple[tuple[str, str], ...]] = (
    ("plan.today", r"(?:今天|今日|当天)(?:我|的|都|还|有|一天|要|该|得|需要)*(?:什么|哪些|啥)?(?:安排|计划|日程|行程|做什么|要做什么|干什么|干啥|做啥|事要做|事情|有什么事|有啥事|任务|要做的事|待办)(?!了)"),
    ("plan.today", r"(?:规划|安排|计划|排)(?:一下|下|好)?(?:我的?|我们的?)?(?:今天|一天|今日|这一天)|(?:今天|今日)(?:我)?(?:有(?:什么|哪些|啥|没有)?(?:事|会|安排|行程|计划|日程)|忙(?:什么|啥|不忙|吗|么))|(?:今天|今日)[^。，,]{0,4}(?:怎么|如何)安排"),
    ("translate", rf"(?:(?:请|帮我|麻烦)?(?:把|将)[^。]{{1,200}}?)?(?:翻译|翻成|译成|译为|译作|翻作|转成|换成)(?:成|为|到|一下|下)?(?={_ZH_LANG})"),
    ("translate", rf"(?:中|汉|英|日|法|德|韩|俄)(?:译|翻)(?:中|汉|英|日|法|德|韩|俄)|用{_ZH_LANG}(?:来)?(?:说|写|表达|讲)(?!明)"),
    ("translate", r"(?:帮我|请)?翻译(?!软件|官|器|公司|员|工作|费)"),
    ("translate", rf"用{_ZH_LANG}(?:应该)?(?:怎么|如何|咋|怎样)(?:说|讲|写|表达|念|读)|{_ZH_LANG}(?:应该)?(?:怎么|如何|咋|怎样)(?:说|讲|写|表达)|{_ZH_LANG}(?:里|中)面?[^。，,]{{1,24}}?(?:怎么|如何|咋)(?:说|讲|写|念)|[a-z]{{2,}}[^。，,\u4e00-\u9fff]{{0,60}}(?:在|用|的|翻译成)?(?:中文|汉语)?(?:里|中)?(?:的)?(?:是|有)?(?:什么|啥)意思|{_ZH_LANG}的[^。，,]{{1,16}}?(?:怎么|如何|咋)(?:说|讲|写|念)|(?:什么|啥)意思[:：]|的{_ZH_LANG}(?:单词)?(?:是什么|是啥|叫什么|怎么)"),
    ("reminder.cancel", rf"(?:取消|删除|删掉|删了|删去|去掉|关掉|关闭|关了|移除|清空|清除|清掉|撤销|撤掉|停掉|停止|撤回)[^。，,]{{0,30}}?(?:{_ZH_NOTE}|会议|聚会|约会|活动|会面|见面|预约|面试|饭局)"),
    ("reminder.cancel", rf"(?:把|将)?[^。，,]{{0,30}}?(?:{_ZH_NOTE}|会议)[^。，,]{{0,8}}?(?:取消|删除|删掉|删了|去掉|关掉|关了|移除|清空|清除|停掉|停了|撤销|撤掉|不要了)"),
    ("reminder.cancel", r"(?:不用|别|不要|不必|不需要|无需|停止)再提醒(?:我|我们)|(?:不用|别|不必|不需要|无需|不要)提醒我[^。，,]{1,20}了(?=$|[。！!])"),
    ("reminder.cancel", r"的(?:会议|会|约会|约|面试|饭局|聚会|活动|课)(?:先|都)?(?:给我)?取消(?!了|的)"),
    ("reminder.change", r"的(?:会议|会|约会|约|面试|饭局|聚会|活动|课)(?:改|挪|推迟|提前|调|延)(?:到|至|成)"),
    ("reminder.change", rf"{_ZH_NOTE}[^。，,]{{0,24}}?(?:往|向)(?:后|前)(?:推|挪|延|调|移)"),
    ("reminder.change", rf"(?:把|将)[^。，,]{{0,30}}?(?:{_ZH_NOTE}|会议|会|时间|约|面试|安排|活动|[点半刻分]的)[^。，,]{{0,24}}?(?:改|推迟|延后|延迟|提前|挪|调|延|推后|顺延|变更|移)(?:到|成|为|至|晚|早)?(?=[^。，,]{{0,24}})"),
    ("reminder.change", rf"{_ZH_NOTE}[^。，,]{{0,24}}?(?:改|推迟|延后|延迟|提前|挪|调|推后|顺延|变更|移)(?:到|成|为|至|晚|早)"),
    ("reminder.change", rf"(?:修改|更改|调整|变更|推迟|延后|改一下|改下|更新|改)[^。，,]{{0,24}}?(?:{_ZH_NOTE}|会议)"),
    ("reminder.list", rf"(?:看|查|查看|查询|查一?下|列出|列一?下|显示|展示|告诉我|念|读|打开|检查)(?:一下|一看|看|下)?[^。，,]{{0,20}}?{_ZH_NOTE}(?:事项|列表|清单|表|安排)?"),
    ("reminder.list", rf"(?:有|设了|设置了|定了|还有|设过|剩|设的)(?:{_ZH_ASK})?[^。，,]{{0,10}}?{_ZH_NOTE}(?:事项)?(?:吗|么|没|呢|要|[?]|$)|(?:哪些|什么|几个|所有|全部)(?:的)?{_ZH_NOTE}"),
    ("reminder.list", rf"(?:设|定|建|加|记)(?:置|了|好|过)?的[^。，,]{{0,6}}?{_ZH_NOTE}(?:是|在|有|叫)?(?:几点|什么|哪|多少|啥|几个)|下一?个{_ZH_NOTE}(?:是|在|有)?(?:什么|几点|哪)"),
    ("reminder.list", rf"{_ZH_NOTE}(?:事项)?(?:都)?(?:有哪些|列表|都有什么|有什么|是什么|是几点|设在几点|有没有|上有|里有|还有哪些)|我的(?:提醒|闹钟|待办|备忘|日历)(?:事项|列表)?$"),
    ("reminder.list", r"(?:有|安排了)(?:什么|哪些|几个|没有|啥)(?:会议|会要开|会|安排|活动|约会|事情?|行程|计划)|(?:有会|有安排|有约|有会议|有活动|有事)(?:吗|么)|(?:安排|计划|行程)(?:是什么|是啥|有哪些|怎么样|如何)|什么时候有(?:会|空)|有空(?:吗|么|没)|(?:忙不忙|有时间吗|有没有空)|下一?个(?:会议|会|日程|安排)(?:是|在)|(?:日程表?|日历|行事历)(?:上|里|中)?[^。，,]{0,8}有(?:什么|啥|哪些)"),
    ("reminder.create", r"提醒(?:一下|下)?(?:我们|我(?!妈|爸|老婆|老公|儿子|女儿|家)|咱们|咱|自己|本人|俺)(?!过|了)(?:一下|一声|下)?|提醒我(?=(?:妈|爸|老婆|老公|儿子|女儿)的?(?:生日|纪念日))|提醒(?:一下|下)(?=我(?:妈|爸|老婆|老公|儿子|女儿|家))"),
    ("reminder.create", r"(?:给|跟|为)我(?:发|来|设|弄|做|加|定|建)?(?:一?个|一下|条|一条)?提醒"),
    ("reminder.create", r"(?:设|定|订|上(?=一?个?(?:闹|提醒))|调|建|加|弄|来|开|搞|整|安排|添加|新建|创建|增加|预约|新增|添|记|做|起(?!床|来))(?:置|定|立|好|了|一下)*(?:一?个|一下|下|一条|条|一场)*[^。，,？?]{0,24}?(?:闹钟|闹铃|提醒|日程|行程|待办|备忘|事件|倒计时|计时器|定时器|行事历|代办)"),
    ("reminder.create", r"(?:闹钟|闹铃)(?:定|设)(?:到|在|为|成|个)"),
    ("reminder.create", r"(?:安排|预约|预定|(?<![纽大节预条契])约|组织|召集|设置|设定|创建|新建|添加|增加|新增|加)(?:一?个|一下|下|一场|场)?[^。，,？?]{0,16}?(?:会议|会面|电话会|碰头会|例会|面试|聚会|约会|见面|开会|会)(?!员|计|议室|场)"),
    ("reminder.create", r"(?:加|添加|放|写|记|存|添)(?:到|进|入|在)(?:我的?)?(?:日历|日程|行事历|备忘录|待办|清单|提醒)|(?:日历|日程表?|行事历|备忘录?|待办)(?:上|里|中)?(?:加|添加|安排|记|写|新增)"),
    ("reminder.create", r"(?:叫|喊|催|通知|呼)(?:一下)?(?:我|我们)(?:一声|一下|起床|起来|醒来)?(?!叫|做)|叫醒我"),
    ("reminder.create", r"(?:帮我|给我|请|麻烦)?(?:记一下|记着|记住|记下来|记下)(?!账|这笔)"),
    ("reminder.create", r"(?:记得|别忘[了记]?(?![了记])|不要忘[了记]?(?![了记])|勿忘|切记)(?:要|去)?(?!要?提醒)"),
    ("reminder.create", r"^再?(?:设|定|订)(?:置)?一?个[^。，,]{1,12}(?:点|半|刻|分)的?$"),
    ("reminder.create", r"^提醒(?!他|她|你|您|大家|同事|老|妈|爸|客户|小[\u4e00-\u9fff]|我|过|功能|事项|我了)|提醒(?=[:，,])|(?:倒计时|计时)(?=\d|[一二三四五六七八九十半])|(?:分钟|小时|秒|秒钟|钟头|刻钟)的?(?:倒计时|计时|定时)|(?<=[\u4e00-\u9fff])(?<![个的次条要了来没用别不])提醒$"),
    ("ledger.summary", r"(?:花|用|消费|支出|开销|开支|花费|支付|付|赚|收入|存|挣|进账|充)(?:了|掉|出去|过)?(?:多少|几块|几元|几多)(?:钱|元|块)?|(?:多少|几)(?:钱)?(?:的)?(?:支出|开销|花销|消费|花费|收入)"),
    ("ledger.summary", r"(?:统计|汇总|总结|合计|分析|算一?下|算算|盘点|总计|计算)(?:一下|下)?[^。，,]{0,16}?(?:支出|花费|消费|开销|账目|账单|花了|花的|收入|收支|开支|花销|的账|用了)"),
    ("ledger.summary", r"(?:支出|消费|开销|花销|收支|花费|收入|开支|账单|餐饮费|交通费|伙食费|打车费|话费)[^。，,？?]{0,6}?(?:汇总|统计|总额|总计|总数|情况|报告|报表|是多少|有多少|多少|总共|一共|分析|总和|趋势|占比)|总(?:支出|花费|消费|收入|开销)|(?:一共|总共)(?:花|用|消费|支出)|(?:周|月|年|天|季度|日)(?!记)[^。，,\d]{0,10}(?:支出|消费|开销|花销|花费)[呢?]?$|(?:周|月|年|天|最近|季度)[^。，,]{0,12}(?:一共|总共|合计)(?:是)?多少"),
    ("ledger.list", r"(?:看|查|查看|查询|列出|列一?下|显示|展示|打开|导出|给我看|翻|找)(?:一下|一看|看|下|出)?[^。，,？?]{0,20}?(?:账单|账目|流水|消费记录|支出记录|记账记录|花销|明细|账本|消费|支出|开支|交易记录|收支|记的账|账)(?!户|号)"),
    ("ledger.list", r"(?:账单|流水|账目|消费记录|支出明细|消费明细|交易记录|账本)(?:有哪些|列表|都有什么|有什么|呢|$|[?？])|(?:钱|工资)都?花(?:在|到)?哪|(?:有|记了)(?:哪些|什么|几笔)(?:支出|消费|花销|账|开销|账单)|(?:买|花)了(?:什么|哪些|些什么|些啥)(?:钱)?"),
    ("ledger.add", r"记(?:一|1)?(?:笔|账|个账|一下账|下账|录一?笔|录(?:一下|一笔|下)?[^。，,]{0,12}?(?:费用|支出|消费|开销|花费|收入)|上一笔|支出|收入)|入账|(?:添加|新增|加|录入|增加|登记)(?:一|1)?(?:笔|条|个)?(?:支出|收入|消费|账|开销|花费|花销)"),
    ("email.draft", rf"(?:写|起草|拟|草拟|撰写|发|回|回复|生成|编辑|准备|编|代写|编写|寄|send|draft|write)(?!的|来的|过来|给我的|了的)(?:一|1)?(?:封|份|个|条|下|一下)?[^。，,？?]{{0,16}}?{_ZH_MAIL}(?!了没|了吗|地址是|收到)|给[^。，,？?]{{1,16}}?(?:发|写|回|寄)(?:一|1)?(?:封|份|个)?[^。，,]{{0,6}}?(?:{_ZH_MAIL}|(?<![短微])信(?!息|用|号|任))|(?:写|起草|拟)一?封[^。，,]{{0,12}}?信(?!息|用)"),
    ("presentation.create", r"(?:做|制作|生成|创建|写|准备|弄|整|搞|来|出|设计|帮我)(?:一下|一|1|个|份|套)*[^。？?]{0,30}?(?:ppt|幻灯片|演示文稿|演示稿|slides?|slide|简报|keynote|课件|演示文档|pptx)|^(?:\d+|[一二三四五六七八九十]+)[页张p][^。，,]{0,6}?(?:ppt|幻灯片|演示文稿|slides?)"),
    ("document.ask", rf"(?:总结|概括|归纳|摘要|提炼|解读|阅读|读一下|读|看一下|分析|梳理|提取)(?:一下|下)?[^。，,]{{0,10}}?(?:这|该|此|那|附件|上传|刚发)[^。，,]{{0,8}}?{_ZH_FILE}"),
    ("document.ask", rf"(?:总结|概括|归纳|提炼|解读|梳理)(?!报告|会|性|陈词)(?:一下|下)?[^。，,]{{0,6}}?{_ZH_FILE}"),
    ("document.ask", rf"(?:看看|看一下|检查|审查|审核|审一?下)(?:一下)?[^。，,]{{0,6}}?{_ZH_FILE}"),
    ("document.ask", rf"(?:这份|这个|这篇|该|那份|本|此|上传的|附件(?:里|中)?的?|我(?:刚)?(?:发|上传|传)的|刚才的|上面的)[^。，,]{{0,8}}?{_ZH_FILE}(?:里|中|上|内)?[^。]{{0,30}}?(?:什么|多少|哪|谁|吗|怎么|几|如何|何时|为何|是否|有没有|总结|概括|提到|讲|说)"),
    ("document.ask", rf"(?:根据|依据|按照|基于|从|在)(?:这份|这个|这篇|该|附件|上传的|上述|我的)?[^。，,]{{0,10}}?{_ZH_FILE}|{_ZH_FILE}(?:里|中|内|上)(?:面)?[^。]{{0,30}}?(?:什么|多少|哪|谁|吗|怎么|几|如何|有没有|提到|说|讲)|附件(?:的)?(?:内容|主要|讲)"),
)  # fmt: skip

EN: Final[tuple[tuple[str, str], ...]] = (
    ("plan.today", r"\b(?:plan|organi[sz]e|map out|structure|plan out) (?:out )?(?:my|the|our) (?:day|today)\b|\b(?:what(?:'s| is| are| do| does|s)?|how(?:'s| is| does)?|show|tell me|give me|see|check|any)\b[^.?]{0,30}?\b(?:plans?|agenda|schedule|day|calendar|to-?dos?|to do(?: list)?|tasks|itinerary|lineup)\b[^.?]{0,20}?\b(?:today|for the day|look(?:s|ing)? like today|this morning)\b"),
    ("plan.today", r"\bwhat (?:do|am|should|must|will) i (?:have|do|doing|got|need|gotta|to do|be doing)\b[^.?]{0,24}?\btoday\b|\bmy (?:plan|plans|agenda|schedule|day|calendar) (?:for )?today\b|\btoday'?s (?:plan|plans|agenda|schedule|tasks|to-?dos?|calendar|events|meetings|itinerary|appointments)\b|\bwhat'?s (?:on )?(?:for |up )?today\b|\bwhat(?:'s| is) (?:on )?my (?:plan|agenda|schedule|day)\b(?! for (?!today))(?![^.?]{0,20}(?:tomorrow|week|month|monday|tuesday|wednesday|thursday|friday|saturday|sunday))|\bhow does my day look\b|\bhow'?s my day\b|\bwhat does my (?:day|schedule) look like(?! (?:tomorrow|on|next|this))"),
    ("translate", rf"\btranslat(?:e|ion|ing)\b|\bhow (?:do|would|can|could|should|to) (?:you |i |we |one |people |they )?(?:say|write|pronounce|express|spell)\b[^.?]{{0,80}}?\bin {EN_LANG}|\b(?:what(?:'s| is| are)|whats) (?:the )?{EN_LANG} (?:word|words|term|phrase|translation|for|equivalent|expression)\b"),
    ("translate", rf"\bhow (?:do|would|can|could|should|to|does)\b[^.?]{{0,20}}?\b(?:say|ask for|write)\b[^.?]{{1,80}}?\bin {EN_PLACE}\b"),
    ("translate", rf"\bwhat(?:'s| is| does| do| would| are)?\b[^.?]{{0,60}}?\b(?:called|mean|say|said|word for|words? for|translated|call)\b[^.?]{{0,60}}?\bin {EN_LANG}\b|\b(?:say|put|write|convert|render|turn)\b[^.?]{{1,80}}?\b(?:in|into|to) {EN_LANG}\b|\b(?:in|into) {EN_LANG}[,:]|\bhow (?:do|would) {EN_LANG} (?:people |speakers )?say\b|\bmean in {EN_LANG}\b|\bhow (?:can|do|does|could|would|should|to|might)\b[^.?]{{1,60}}?\bin {EN_LANG}\s*[?.]?$|\bwhat(?:'s| is| are|s| would be)\b[^.?]{{1,60}}?\bin {EN_LANG}\s*[?.]?$|\b{EN_LANG} for ['\"]?\w+"),
    ("reminder.cancel", rf"\b(?:cancel|delete|remove|clear|erase|drop|dismiss|get rid of|turn off|disable|take (?:off|out)|scrap|unset|stop|wipe|kill|scratch|take|cross)\b(?! reminding)[^.?]{{0,50}}?\b{_EN_NOTE}\b|\b(?:take|cross|check|get)\b[^.?]{{1,40}}?\boff (?:my|the|our) (?:to[- ]?do|calendar|agenda)|\b(?:cancel|delete|clear|remove) (?:everything|anything|it all)\b|\bstop reminding (?:me|us)\b|\b(?:don't|do not) (?:remind|wake) me\b[^.?]{{0,60}}\b(?:anymore|any more|any longer)\b"),
    ("reminder.cancel", r"\b(?:turn|switch|shut)\b[^.?]{0,30}?\b(?:alarms?|timers?|reminders?)\b[^.?]{0,10}?\boff\b"),
    ("reminder.change", rf"\b(?:move|change|push|reschedule|postpone|delay|shift|update|edit|bring(?! up)|modify|switch|snooze|extend|adjust|put off|rename|bump)\b[^.?]{{0,50}}?\b{_EN_NOTE}\b|\b(?:shift|change|move)\b[^.?]{{0,12}}?\d{{1,2}}(?::\d\d)? ?(?:am|pm)\b[^.?]{{1,30}}? to \b|\bsnooze\b|\breschedule\b|\b(?:push|move|postpone|bump)\b[^.?]{{1,50}}?\b(?:to|until|till|back|by|forward)\b[^.?]{{0,12}}?(?:\d|\bnoon|\bmidnight|\btomorrow|\btoday|\bnext|\bmonday|\btuesday|\bwednesday|\bthursday|\bfriday|\bsaturday|\bsunday)"),
    ("reminder.list", r"\b(?:what|which|when|where|how many|do i have|did i (?:set|have|make|create)|have i (?:set|got)|is there|are there|any|show|list|check|read|display|view|see|tell me|give me|look up|pull up|find|open|bring up|go over|review)\b(?!\s*(?:a reminder to|me to))[^.?]{0,40}?\b(?:reminders?|alarms?|timers?|to-?dos?|to do list|calendar|appointments?|meetings?|agenda|schedule|scheduled)\b|\bmy (?:reminders|alarms|calendar|appointments|meetings)\b(?=[^.]{0,30}$)|^(?:all )?(?:reminders|alarms)\b"),
    ("reminder.list", r"\bwhat(?:'s|s| is) (?:my|the|our) next (?:event|meeting|appointment|reminder|alarm|class|call)s?\b|\bmy next (?:events?|meetings?|appointments?) (?:is|are)\b|\bwhat do i need to remember\b|\bwho (?:am i|are we) (?:meeting|seeing)\b|\b(?:what(?:'s|s| is)|read)\b[^.?]{0,12}\bon my (?:reminder|to-?do|chore|task) list\b|\b(?:i )?(?:want|would like|'d like|need|like) to (?:hear|see|know|view) (?:all )?(?:of )?my (?:reminders?|alarms?|calendar|schedule|agenda|to-?dos?)\b|\b(?:i )?(?:wanted|needed) to (?:remember|recall|keep in mind)\b(?! to)"),
    ("reminder.list", r"\b(?:what|anything|something)(?:'s| is| do i have)?\b[^.?]{0,20}?\b(?:scheduled|planned|going on|coming up|on my (?:calendar|schedule|agenda|plate)|lined up|booked)\b|\b(?:am i|are we) (?:free|busy|available|booked)\b|\bwhen(?:'s| is| are) (?:my|our|the) (?:next |upcoming )?(?:\w+ )?(?:appointments?|meetings?|dentist|interview|call|events?|class|reservation|doctor|birthday|anniversary|party|game|practice|lunch|dinner)\b|\bwhat do i have (?:on|for|this|next|tomorrow|planned|scheduled)\b|\bwhat did i (?:ask|want|tell|need) (?:you )?(?:to )?(?:be )?remind|\bwhat'?s (?:happening|next) (?:on|today|tomorrow)\b|\bwhat (?:am i|are we) (?:doing|up to)\b|\bdo (?:i|we) have (?:anything|something|any plans|plans)\b|^(?:have|do|does|is|are|has) (?:you|i|we|my|there)\b[^.?]{0,60}\b(?:calendar|schedule|agenda|reminders?|alarms?|meetings?|appointments?)\b(?! (?:to|for me to|about))"),
    ("reminder.create", r"\bremind(?:er)? (?:me|us|myself)\b|\b(?:reming|remidn|remimd|remid|remnd|rmind|remin|remaind) me\b|\bremindme\b|\bremind em\b|\bget me to remember\b|\bhelp me (?:to )?remember\b|\b(?:don't|dont|do not|never) let me forget\b|\bmake sure (?:that )?i (?:don't forget|remember|don't miss)\b|\bi (?:need|want|have) to remember to\b|\bremember to\b"),
    ("reminder.create", r"\b(?:set|create|make|add|put|schedule|start|need|want|give me|get me|have|new|place|leave|program|turn on|setup|set up|enter|activate|do)\b(?: me| up| in| for me)*[^.?,]{0,60}?\b(?:reminders?|alarms?|timers?|to-?do|countdown)\b"),
    ("reminder.create", r"\b(?:put|add|mark|schedule|book|enter|save|place|note|log|pencil|write|include|insert|plan)\b[^.?]{1,80}?\b(?:(?:on|to|in|into|onto) (?:my |the |our )?(?:calendar|schedule|agenda|diary|to[- ]?do(?: list)?|planner))\b|\bpencil in\b|\bblock (?:off|out)\b|\bmark (?:my|the) calendar\b"),
    ("reminder.create", r"\b(?:schedule|arrange|set up|setup|organize|plan|create|make|add|set|put|book|need|have)\b(?: me| up| in)*(?: an?| the| my| our| another| new)?[^.?,]{0,40}?\b(?:meeting|appointment|appt|event|call with|conference|calendar event|calendar entry|get-?together|lunch with|dinner with|interview|standup|1:1|one on one|one-on-one)\b(?! rooms?\b)"),
    ("reminder.create", r"\bring (?:the|an?|my) (?:alarm|bell)\b|\b(?:put|add|place|write|get)\b[^.?]{1,60}?\b(?:on|to|onto) (?:my |the )?(?:(?:chore|task|reminder|to-?do) list|list of (?:things to do|tasks|chores))\b|\badd to my list of (?:things to do|tasks|chores)\b"),
    ("reminder.create", r"\bwake (?:me|us)\b|\b(?:ping|nudge|alert|notify|buzz|prompt|warn|poke) (?:me|us)\b|\blet me know (?:when it'?s|at|in|on)\b|\bsend me a (?:reminder|notification|note)\b|\bset (?:one|another|another one|it) (?:for|at)\b|\btimer (?:for\b|(?=\d|an? |one |two |five |ten |fifteen |twenty |thirty ))|\balarm (?:for|at)\b|\breminder (?:to|for|at|about|on)\b|^reminder\b|^alarm\b|^schedule\b|\btell me to\b|\bcountdown\b|\b\d+ ?(?:min|minute|hour|second)s? timer\b"),
    ("ledger.summary", rf"\bhow much\b[^.?]{{0,40}}?\b(?:have|did|do|has|am|are|was|were|is)?\b[^.?]{{0,20}}?\b(?:{_EN_SPEND}|earned?|earn|made|make|saved?|gone|went)\b[^?]{{0,60}}|\bwhat (?:did|have|do|has) (?:i|we)\b[^.?]{{0,20}}?\b(?:spend|spent|pay|paid|blow)\b|\bwhat(?:'s| is| are| was| were)? (?:my|our)\b[^.?]{{0,30}}?\b(?:spending|spendings|expenses|expenditures?|total spend|spend|income|costs)\b|\bwhat i(?:'ve| have)? (?:spent|paid)\b|\bspending (?:history|summary|report|breakdown|total|habits)\b|\btotal (?:spend|spending|spent|expenses|cost|expenditures?|income)\b"),
    ("ledger.summary", r"\bcompare (?:my|our) (?:spending|expenses)|\b(?:biggest|largest|highest|average) (?:expense|purchase|spending)\b"),
    ("ledger.summary", r"^(?:have|did|had) (?:i|we) (?:already )?(?:spend|spent|pay|paid)\b"),
    ("ledger.summary", r"\b(?:summari[sz]e|total(?: up)?|sum(?: up)?|add up|break ?down|analy[sz]e|calculate|tally|recap|report|overview|summary)\b[^.?]{0,30}?\b(?:my |our |the |all )?(?:spending|expenses|spend|purchases|expenditures?|costs|ledger|income|transactions|spent)\b|\b(?:expense|spending|expenses) (?:report|summary|breakdown|overview)\b|\bwhere (?:did|does|is|has) (?:all )?my money\b"),
    ("ledger.list", r"\b(?:show|list|see|display|view|give|pull up|what are|what were|check|find|look at|open|bring up|get|tell me|read|go over|go through|review)\b[^.?]{0,40}?\b(?:transactions?|expenses|purchases|ledger|spendings|spending|payments i|bills i paid|entries|charges)\b|\b(?:my |our )?(?:recent|last|latest) (?:\w+ )?(?:transactions?|expenses|purchases|charges)\b|\bwhat (?:did|have) i (?:buy|bought|purchased?)\b|\btransaction history\b|\bwhat (?:transactions|purchases|expenses|charges)\b"),
    ("ledger.add", r"\b(?:log|record|track|jot down|put down|note down|note)\b[^.?]{0,16}?(?:[$€£¥]|\b\d)"),
    ("ledger.add", r"\b(?:log|record|note|add|enter|track|put down|jot down|book|save|register|file|note down)\b(?: an?| the| my| this| that| down)*[^.?]{0,30}?\b(?:expenses?|spending|purchase|payment|income|transaction|cost)\b|\badd to (?:my )?(?:ledger|expenses|spending)\b"),
    ("email.draft", r"\b(?:draft|write|compose|send|shoot|prepare|type|reply|respond|create|start|drop|fire off|forward|generate|dictate)\b(?! me (?:my|the|all) )[^.?]{0,40}?\b(?:e-?mails?|mails?)\b(?! address)|^(?:a )?(?:new|another) e-?mail\b|^(?:please |can you |could you |i (?:want|need) (?:you )?to |let'?s )?e-?mail (?!me\b|is\b|from\b|address\b)\w+|\b(?:please|to|can you|could you|you to) e-?mail (?!me\b|is\b|from\b|address\b)\w+|^reply to\b|\brespond to (?:the |that |this |my )?\w+'?s? (?:e-?mail|message)"),
    ("presentation.create", r"\b(?:make|create|build|prepare|generate|design|put together|draft|need|do|write|produce|want|give me|turn|assemble|develop|whip up)\b[^.?]{0,60}?\b(?:presentation|powerpoint|slide ?deck|slides?|slideshow|slide show|pitch deck|deck|ppt|pptx|keynote)\b|^(?:a )?(?:\d+|ten|five|twelve)[- ](?:slide|page) (?:presentation|deck|ppt|powerpoint)"),
    ("document.ask", rf"\b(?:summari[sz]e|sum up|tl;?dr|outline|explain|analy[sz]e|review|extract|read|go through|give me (?:a |the )?summary of|what(?:'s| is| are| does| do| did)?|who|where|when|which|how|does|is there|are there|find|list|tell me|key points|search)\b[^.?]{{0,60}}?\b(?:the|this|that|attached|my|these|uploaded|in|of) (?:\w+[' ]s? ?){{0,2}}{_EN_FILE}s?\b"),
    ("document.ask", rf"\b(?:according to|based on|per|in|from) (?:the|this|that|my|attached) (?:\w+ ){{0,2}}{_EN_FILE}s?\b|\b(?:attached|uploaded) (?:\w+ ){{0,2}}{_EN_FILE}s?\b"),
)  # fmt: skip


@cache
def compiled(language: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The patterns of a language, compiled once."""
    return tuple(
        (intent, lazy(source, 0 if language == "zh" else re.ASCII))
        for intent, source in (ZH if language == "zh" else EN)
    )
