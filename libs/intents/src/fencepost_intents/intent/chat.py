# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""Small talk: greetings, thanks, questions about the assistant itself, jokes, feelings."""

from __future__ import annotations

from typing import Final

from fencepost_intents.patterns import lazy

_ZH: Final = lazy(
    r"^(?:你好|您好|hi|hello|嗨|哈喽|哈啰|嘿|喂|在吗|在么|在不在|早上好|早安|早啊?|上午好|中午好|下午好|晚上好|晚安|午安|再见|拜拜|拜|回见|明天见|下次见|回头见|大家好)(?:呀|啊|哦|呢|哈|啦|吖|了|么|吗|，|,| |！|!|。|~|你|您|小助手|朋友|亲)*$"
    r"|^(?:好的?|好吧|行|可以|嗯+|哦+|ok|没事|没关系|知道了|明白了?|收到|对|是的?|不错|很好|太好了|真棒|厉害|辛苦了|加油|哈+|呵+|嘻+|嘿+|呜+|唉+|哎+|棒|赞|666+|牛|了解)(?:啊|呀|哦|的|吧|了|啦|，|,|！|!|。|~| |知道|明白|谢谢|哈)*$"
    r"|谢谢|多谢|感谢|谢啦|谢了|thx|辛苦(?:你|您|啦)|对不起|抱歉|不好意思|你真(?:棒|好|聪明|厉害|可爱|笨)|你太(?:棒|好|聪明|厉害)|你很(?:棒|好|聪明|厉害)"
    r"|你(?:是谁|叫什么|是什么|几岁|多大|是人|是机器人|是真人|是男|是女|会什么|能做什么|能干什么|可以做什么|会做什么|有什么功能|能帮我做什么|喜欢|爱|讨厌|觉得|吃饭|吃了|睡|在干|在做|忙|累|开心|高兴|好吗|怎么样|有没有感情|从哪|住|的名字|的生日|最喜欢|会不会|是ai|相信|认识我|想我|最近)|^你今天|过得(?:怎么样|好吗|如何)"
    r"|(?:讲|说|来|给我讲|给我说)(?:一?个|点|段)?(?:笑话|段子|故事|好笑)|逗我|陪我聊|聊聊天|聊天吧|聊会儿?|无聊|我(?:好|很|太|有点|真|今天|现在|感觉)*(?:累|烦|难过|开心|高兴|伤心|孤独|郁闷|生气|不开心|幸福|焦虑|压力大|紧张|困|失眠|失恋|想哭)"
    r"|(?:新年|春节|中秋|圣诞|国庆|元旦|节日|生日|周末|端午)(?:快乐|愉快)|我爱你|我喜欢你|你爱我|我讨厌你|恭喜|晚安|祝你|人生的意义|生命的意义"
)
_EN: Final = lazy(
    r"^(?:hi|hello|hey|heya|hiya|yo|sup|howdy|greetings|good (?:morning|afternoon|evening|night|day)|goodnight|morning|bye|goodbye|bye bye|see (?:you|ya)|later|cya|ciao|take care|farewell|nice to (?:meet|talk|see)|have a (?:good|nice|great))\b(?:[ ,!.]*(?:there|you|all|everyone|buddy|friend|assistant|again|later|tomorrow|soon|to you|around|to|meet|talk|see|day|one|night|evening|weekend|with|day|and|hello|hi|good|morning|now|for now|bot|my friend|man|dude|siri|alexa|olly|google))*[ !.?]*$"
    r"|^(?:ok|okay|k|yes|no|yeah|yep|nope|sure|alright|cool|great|nice|awesome|perfect|wow|lol|haha+|ha|hmm+|oh|wonderful|fine|got it|i see|sounds good|never mind|nevermind|right|correct|maybe|excellent|amazing|good job|well done|good|no problem|you're welcome|that's (?:great|good|nice|funny|cool|all)|understood)\b[ !.,a-z]{0,16}$"
    r"|\bthank(?:s| you)\b|\bthx\b|\bappreciate (?:it|you|that|your)|\bi'?m sorry\b|^sorry\b|\bmy apologies\b"
    r"|\b(?:who|what) (?:are|r|made|created|built|designed) (?:you|u)\b|\bwhat(?:'s| is| are)? (?:your|ur)\b|\bwhat(?:'s| should i call| do i call| can i call)?.{0,12}your name\b|\bwhere (?:are you|do you live|were you|did you)\b|\bhow (?:are|r) (?:you|u|ya|things)\b|\bhow(?:'s| is| was) (?:it going|your (?:day|night|weekend|morning)|everything|life)\b|^what'?s new\b|^you (?:did|were|look|look so|rock)\b|\bhow do you (?:do|feel)\b|\bhow old (?:are|r) (?:you|u)\b|\bwhat'?s up\b|\bhow have you been\b"
    r"|\bare you (?:a |an |my |the |real|human|alive|there|ok|okay|happy|sad|busy|smart|single|married|sentient|intelligent|artificial|listening|awake|feeling|still|good|sure|conscious|tired|hungry|bored|ready)|\bdo you (?:like|love|have (?:a |any |feelings|pets|kids|siblings|friends|hobbies|family)|know me|dream|sleep|eat|feel|think (?:about|i|you)|enjoy|believe|get (?:tired|bored|lonely)|work for|live|remember me|want to)|\bcan you (?:feel|think|dream|love|laugh|sing|dance|hear me|understand me)|\byour (?:hobbies|favou?rite|birthday|age|name|boss|creator|opinion|job|gender|feelings|purpose)\b"
    r"|\b(?:tell|know|say|give|have|hear|crack|got|make|share)\b[^.?]{0,20}\b(?:jokes?|something funny|a story|fun fact|funny)\b|^jokes?\b|\bmake me (?:laugh|smile)\b|\bmake a joke\b|^(?:well,? |oh,? |wow,? )?i(?:'m| am) (?:not |so |very |really |feeling |kind of |a bit |pretty |just |super |quite )*(?:bored|sad|happy|tired|lonely|depressed|angry|excited|stressed|anxious|upset|sick|down|good|great|fine|ok|okay|well|exhausted|nervous|scared)\b|\bi (?:love|like|hate|miss|adore|dislike) you\b|\byou(?:'re| are) (?:so |very |really |the |a |such )*(?:great|awesome|smart|funny|stupid|the best|best|dumb|amazing|nice|kind|cool|helpful|annoying|cute|good|wonderful|beautiful|useless|sweet|welcome)|\bwhat can (?:you|i) (?:do|help|ask|say)\b|\bwhat (?:else )?(?:can|do) you (?:do|know|think|help)\b|\bhow can you help\b|\bmeaning of life\b|\bhappy (?:new year|birthday|holidays|easter|thanksgiving|halloween|friday|monday)\b|\bmerry christmas\b|\blet'?s (?:chat|talk)\b|\btalk to me\b|\bnice to meet\b|\bwhat are your\b|\bi had a (?:good|bad|great|terrible|rough|long|nice)\b|\bcongratulations\b|\bwelcome back\b"
)


# Questions about what the assistant can do carry its cues but ask for nothing yet.
_ZH_META: Final = lazy(
    r"^(?:你|您)?(?:会|能|可以|能不能|可不可以|会不会|能否)(?:帮我|给我|帮忙)?(?:做)?(?:翻译|提醒我?|记账|设闹钟|设置提醒|设提醒|写邮件|发邮件|做ppt|写ppt|总结文档|读文档)(?:吗|么|不)?[?]?$"
    r"|^(?:怎么|如何|怎样)(?:设置|设|创建|添加|取消|删除|使用|用|修改|关闭)?[^,]{0,6}(?:提醒|闹钟|记账|翻译|账单|日程)(?:功能)?[?]?$|^(?:你|您)?(?:都)?(?:能|会|可以)提醒我(?:什么|哪些|啥)[^,]{0,6}$|^(?:怎么|如何|怎样)(?:写|发|回)(?:一?封)?(?:电子)?(?:邮件|信)[?]?$|(?:提醒|闹钟|记账|翻译)(?:功能)?(?:怎么用|怎么设|怎么弄|怎么取消|太多|太吵|不准|没响)"
)
_EN_META: Final = lazy(
    r"^(?:can|could|do|are|will) you (?:able to |know how to |even )?(?:translate|set (?:reminders|alarms)|remind (?:me|people)|track (?:expenses|spending)|write emails?|draft emails?|make (?:slides|presentations))\s*[?]?$"
    r"|^how (?:do|can|would|should|to) ?(?:i|you|we)? (?:set|create|make|use|cancel|change|delete|turn off|edit) (?:an? |the |my |up )*(?:reminders?|alarms?|timers?)\b"
)


_LONGEST_TALK: Final = 300  # code points; what is longer is a text, not talk


def is_about_us(text: str, zh: bool) -> bool:
    """Whether a text asks what the assistant can do, or how, instead of asking for it."""
    return bool((_ZH_META if zh else _EN_META).search(text))


def is_small_talk(text: str, zh: bool) -> bool:
    """Whether a text (normal form, stripped) is conversation, not a request."""
    return len(text) <= _LONGEST_TALK and bool((_ZH if zh else _EN).search(text))
