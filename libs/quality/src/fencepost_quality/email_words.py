"""The words by which a mail's parts are known, in both languages. Data: a change is a new gate version."""

from __future__ import annotations

import re
from typing import Final

FORMAL: Final = frozenset({"new", "customer", "superior"})
RELATIONS: Final = frozenset({"new", "customer", "superior", "colleague", "friend"})

VAGUE_SUBJECT: Final = re.compile(
    r"^(?:re:|fw:|fwd:|回复[:：]|转发[:：])?\s*(?:hi|hello|hey|email|e-mail|mail|message|question|update|info|important"
    r"|urgent|test|subject|no subject|untitled|你好|您好|邮件|一封邮件|问题|通知|事情|有事|重要|紧急|主题|无主题|关于)?[!！.。:：]*$",
    re.IGNORECASE,
)
PLACEHOLDER: Final = re.compile(
    r"\[(?!\d)[^\]\n]{1,40}\]|【(?:姓名|名字|日期|时间|公司|职位|填写|待定|插入)[^】]{0,20}】|\{\{?[^{}\n]{1,40}\}?\}|<[a-z][^<>@\n]{0,40}>"
    r"|(?<![A-Za-z])X{2,}(?![A-Za-z])|(?<!\w)x{3,}(?!\w)|[某×]{2,}|某某|〇〇|○○|_{3,}|\bTODO\b|\bTBD\b|lorem ipsum|此处填写|\byour name\b",
)
CASUAL_GREETING: Final = re.compile(
    r"^(?:hey|yo|hiya|sup|what'?s up|嗨|哈喽|嘿|亲|亲爱的|老铁|宝)", re.IGNORECASE
)
CASUAL_CLOSING: Final = re.compile(
    r"^\W*(?:(?:lots of |much |all my )?love|hugs|xo+|x{2,}|laters?|catch you)\b|么么哒|抱抱|爱你",
    re.IGNORECASE,
)
PARTS: Final = re.compile(
    r"\b(?:bye|ciao|hugs|xo+|x{2,})\b|拜拜|么么哒|抱抱|爱你", re.IGNORECASE
)  # as friends do
STIFF_GREETING: Final = re.compile(
    r"dear (?:sir|madam|sirs)|to whom it may concern|尊敬的(?:先生|女士|领导|客户|阁下)|敬启者|致有关人士",
    re.IGNORECASE,
)
INTRODUCES: Final = re.compile(
    r"\bmy name is\b|\b(?:let me|allow me to|i(?:'d| would) like to) introduce (?:myself|our)|\bi(?:'m| am) (?:writing to introduce|the |a |an )"
    r"[\w -]*(?:at|from|with|of)\b|\bi (?:work|am working) (?:at|for|with)\b|我(?:叫|的名字是)|(?:请允许我|容我|先)(?:简单)?(?:做个?)?自我介绍"
    r"|自我介绍一下|我(?:是|来自)[^，。,.]{1,24}(?:公司|集团|大学|学院|部门|部|中心|团队|工作室|医院|银行|事务所|协会)|冒昧[^。]{0,12}我是",
    re.IGNORECASE,
)
COURTEOUS: Final = re.compile(
    r"\b(?:thank|thanks|appreciate|grateful|please|kind|sorry|apolog\w+|hope|pleasure|look(?:ing)? forward|wish|welcome|delighted|enjoy|glad to)\b|\bhave an? (?:\w+ )?(?:day|evening|week|weekend|break|holidays?|time|trip|start)\b|感谢|谢谢|多谢|致谢|辛苦|劳驾|麻烦|烦请"
    r"|敬请|恳请|请多|抱歉|见谅|打扰|期待|祝|盼|望",
    re.IGNORECASE,
)
CLOSES: Final = re.compile(
    r"\b(?:regards|sincerely|respectfully|yours|best|cheers|take care|warmly|faithfully|wishes|gratefully|love|hugs|(?:see|talk to|speak to) you|(?:talk|speak) soon|soon|later)\b|此致|敬礼|祝好|祝商祺|商祺|敬上|谨上"
    r"|敬启|顺颂|顺祝|即颂|祝您|祝你|此祝|安好|大安|教安|冬安|夏安|秋安|春安|工作顺利|一切顺利|问候|致意|(?<!意)见[！!。~～]*$|再会|保重|晚安",
    re.IGNORECASE,
)
ASKS: Final = re.compile(
    r"[?？]|\b(?:please|could you|can you|would you|let (?:me|us) know|kindly|reply|confirm|send|join|review|sign|call|choose|tell|approve|share"
    r"|register|no (?:action|reply|response) (?:is )?(?:needed|required)|nothing (?:is )?needed)\b|请|烦请|麻烦|盼|望|能否|可否|是否|回复|确认|告知|告诉|通知我|联系我|发给我|发我|打电话|参加|查收|填好|无需|不必|不用",
    re.IGNORECASE,
)
SPEAKS_FOR: Final = re.compile(
    r"\bon behalf of\s+([^,.;\n]{2,60})|\bin the name of\s+([^,.;\n]{2,60})|(?:^|[，。；\s]|谨|特|兹|我|我们|本人|现|并)代表([^，。,;；\n]{2,24}?)(?:向|对|致|邀请|通知|，|,|。)|受([^，。,;；\n]{2,24}?)的?委托",
    re.IGNORECASE,
)
NAMED_IN_GREETING: Final = re.compile(
    r"^(?:dear|hi|hello|hey|good (?:morning|afternoon|evening))[\s,]+(?:mr|ms|mrs|dr|prof|professor)?\.?\s*([^,:;!\n]+)|^(?:尊敬的|亲爱的|敬爱的)?([^，,：:！!\n]{1,24})",
    re.IGNORECASE,
)
NOBODY_NAMED: Final = re.compile(
    r"^(?:hello|hi|hey|dear|greetings|good (?:morning|afternoon|evening))$|^(?:all|everyone|team|there|both|folks|colleagues|friends|sir|madam|hiring|customer|valued|reader|members?|committee|support|sir or madam)\b"
    r"|team$|committee$|各位|大家|同事|老师们|全体|诸位|你好|您好|客户|用户|朋友|先生/女士|女士/先生|领导|团队|委员会|组委会|编辑部|招聘|负责人|伙伴|早上好|下午好|晚上好|家长|部门|同学",
    re.IGNORECASE,
)
HONORIFICS: Final = re.compile(
    r"(?:总监|总经理|经理|总|老师|先生|女士|主任|博士|教授|院长|处长|部长|主管|工程师|工|律师|医生|同学|师傅|阿姨|叔叔|姐|哥|您好|你好|早上好|下午好|晚上好|好|老|小)+"
)
