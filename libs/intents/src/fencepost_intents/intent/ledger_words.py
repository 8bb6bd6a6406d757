# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""When a clause with an amount reports money that moved, and what it was for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from fencepost_intents.patterns import lazy

_ZH_MOVED: Final = lazy(
    r"花(?=[\d一二两三四五六七八九十百])|花了|花费|花掉|花去|用了|用掉|付了|付款|支付|付掉|付过|交了|缴了|缴费|交费|买了|买的|刷了|充了|充值|转了|转给了|收到|收了|收入|到账|入账|发工资|工资|退款|退了|退回|赚了|挣了|"
    r"报销|吃了|喝了|还了|借给|捐了|打赏|红包|奖金|消费|一共|总共|共计|合计|支出|扣了|扣费|请客|随礼|份子钱|下单|订了|租了|打了|加了|看了|修了|剪了|洗了|AA|aa|(?:买|吃|喝|坐|打|交|充|付|加)[^,]{1,8}$"
)
_ZH_NOT_MOVED: Final = lazy(
    r"^(?!.*(?:吃|喝|聚餐|花|玩|唱)).*人均|票价|房价|评分|贵不贵|觉得|账户|一晚|含早|附近|有没有|每个?(?:月|年|周|天)|打完折|给[^,]{1,6}转(?!了|过)|花了[他她]|(?:^|,)(?:他|她|人家|朋友|同事)[^,]{0,4}(?:花|付|买|用)了|(?:大概|大约|估计)(?!.*了)(?<!了大概)(?<!了大约)|卖\d|想|丢了|里面有|太低|太高|太少|太多|才\d|^一(?:个|件|杯|斤|瓶|本|张|只|条|台|部)|(?:块|元|毛)钱?(?:一|1|/|每)(?:斤|个|件|杯|瓶|本|张|次|米|平|公斤|份|箱|袋|天|月|年|小时)|要买|打算|准备|计划|预算|如果|要是|多少|价格|售价|卖(?!了)|值(?:多少|得)|能不能|可以吗|吗[?]?$|[?]|以内|以下|之内|欠|^(?:来|再来|要)(?:一|两|三)?(?:份|碗|杯|个|盘|瓶)|(?:帮|给|替)我(?:报销|充|买|订|交|付|转|还|缴)(?!了|过)|便宜|推荐|多贵|汇率|等于|换算|换成|兑换|股价|借我|左右的|级别|"
    r"需要|应该|必须|得花|可能|大概要|还差|存款|余额|打折|优惠|折|起步价|起售|月薪|年薪|彩票|中奖|希望|梦想|就好了|什么|哪|不对|改成|应该是|记错|那笔|要花|得付|该付|待付|未付|没付|还没|别买|不买|不想|太贵|帮我转|给我转|转我|转账(?!了)|转给(?!了)"
)
_EN_MOVED: Final = lazy(
    r"\b(?:spent|paid|payed|bought|cost(?: me)?|costs me|purchased|donated|tipped|got|received|earned|made|withdrew|charged|ordered|gave|lent|sold|refunded|refund|reimbursed|splurged|dropped|shelled out|was|were|came to|expense|income|salary|paycheck|used|blew|spend|topped up|ran me|set me back|picked up|grabbed|rented|booked|subscribed|split)\b"
)
_EN_NOT_MOVED: Final = lazy(
    r"\b(?:want|wanna|would like|i'd like|going to|gonna|plan to|planning|need|should|if|how much|how many|can i|could|can you|would|transfer|send|deposit|wire|budget|worth|price|prices|convert|exchange|will|under|less than|cheaper|around|per hour|hourly|owe|owes|afford|maybe|might|cheap|find|looking for|search|rate|win|won|lottery|lend me|what is|what's|is it|are there|does|do you|do they|minimum|limit|balance|have to|must|invoice|quote|order|book|move|withdraw|make a payment|pay my|pay the|pay off|bill is|due|venmo me|zelle me|send me|pay me|per (?:night|day|hour|month|week|year)|(?:an?|each|every) (?:month|hour|year|week|night)|(?:to|into|in) (?:usd|eur|euros?|dollars?|yen|jpy|rmb|cny|gbp|pounds|yuan|hkd|won|krw|cad|aud)|wish|should be|wrong|costs?(?! me)|a (?:gallon|dozen|pound|kilo|piece|pop|head|liter|litre)|refund me|not showing|extra|twice|double|again|recogni[sz]e|requested|atm|instead of|overcharged|statement|is (?:that|it) (?:fair|ok|okay|normal)|change|save up|get me|buy me)\b|[?]|\b(?:is|are|it's|that's) (?:about |only |like |around )?(?=[$€£¥\d])|^(?!.*\b(?:bought|paid|spent)\b).*\beach\b|^\s*(?:did|have|has|do|does|is|are|am|was|were)\b"
)

# category -> words; the first category whose word occurs wins, so narrow ones stand first.
CATEGORIES: Final[Mapping[str, str]] = {
    "income": "工资|薪水|奖金|收入|分红|利息|稿费|兼职|salary|wage|wages|paycheck|bonus|income|dividend|freelance",
    "groceries": "买菜|超市|菜市场|水果|蔬菜|粮油|盒马|生鲜|groceries|grocery|supermarket|vegetables|fruit|costco|walmart|trader joe's",
    "food": "早餐|午餐|晚餐|早饭|午饭|晚饭|夜宵|宵夜|吃饭|外卖|奶茶|咖啡|饮料|餐厅|餐费|聚餐|火锅|烧烤|零食|面条|拉面|饭|餐|吃|喝|蛋糕|面包|酒|"
            "lunch|dinner|breakfast|brunch|coffee|tea|food|restaurant|restaurants|meal|meals|snack|snacks|pizza|burger|drinks|takeout|starbucks|eating out|dining|beer|bar|cake|ice cream|sushi|ramen",
    "transport": "打车|出租车|滴滴|地铁|公交|加油|停车|高速|过路费|车费|打的|网约车|单车|交通|油费|"
                 "taxi|taxis|uber|lyft|cab|cabs|gas|fuel|parking|subway|bus|metro|toll|train|transport|transportation|ride|commute|petrol",
    "travel": "机票|火车票|高铁|车票|旅游|旅行|门票|签证|flight|flights|airfare|trip|travel|airbnb|vacation|plane ticket",
    "lodging": "酒店|住宿|民宿|宾馆|旅馆|hotel|hotels|motel|hostel|lodging",
    "housing": "房租|租金|房贷|物业|rent|mortgage|hoa",
    "utilities": "电费|水费|水电|燃气|煤气|话费|网费|宽带|暖气|手机费|electricity|water bill|internet|phone bill|utilities|utility|electric bill|gas bill|wifi|power bill",
    "health": "看病|医院|药|挂号|体检|牙|医疗|健身|doctor|dentist|medicine|pharmacy|hospital|gym|prescription|medical|health|vet",
    "education": "学费|书|课程|培训|补习|文具|book|books|tuition|course|courses|textbook|textbooks|school|class",
    "entertainment": "电影|游戏|演唱会|KTV|ktv|会员|门票|唱歌|剧本杀|movie|movies|game|games|concert|netflix|spotify|subscription|cinema|tickets|entertainment",
    "gift": "礼物|红包|份子|随礼|鲜花|捐|gift|gifts|present|donation|donated|flowers|charity",
    "shopping": "衣服|裤子|鞋|裙子|包包|化妆品|护肤|手机|电脑|淘宝|京东|购物|件|外套|日用品|家电|家具|"
                "clothes|clothing|jacket|shoes|shirt|dress|jeans|shopping|amazon|phone|laptop|furniture|electronics|headphones",
    "personal": "理发|剪头发|美容|美甲|洗澡|按摩|haircut|salon|spa|massage",
}  # fmt: skip
_REFUND: Final = lazy(r"退款|退了|退回|退钱|返现|\brefund(?:ed)?\b|\breimburse(?:d|ment)?\b|\bcash ?back\b")
_INCOME: Final = lazy(
    r"发工资|工资|薪水|奖金|收入|收到(?!货|账单)|到账|入账|进账|赚了|挣了|分红|稿费|报销到|\b(?:received|earned|salary|paycheck|income|got paid|bonus|sold|wages|paid me)\b"
)
_SHARED: Final = lazy(
    r"\baa\b|aa(?:制)?|每人|人均|平摊|平分|均摊|各付|分摊|\bsplit\b|\beach\b|\bper person\b|\bdivided\b|\bapiece\b|\bgo(?:ing)? dutch\b|\bshared (?:by|between|among)\b"
)


def reports_money(clause: str, zh: bool, amounts: int) -> bool:
    """Whether a clause with an amount tells of money spent or received, not wished, priced or asked about."""
    if zh:
        if _ZH_NOT_MOVED.search(clause):
            return False
        return bool(_ZH_MOVED.search(clause)) or len(clause) <= 16
    if _EN_NOT_MOVED.search(clause):
        return False
    return bool(_EN_MOVED.search(clause)) or clause.count(" ") <= 5


@cache
def _category_rules() -> tuple[tuple[str, re.Pattern[str]], ...]:
    rules: list[tuple[str, re.Pattern[str]]] = []
    for name, words in CATEGORIES.items():
        parts = words.split("|")
        zh = [word for word in parts if not word.isascii()]
        en = [re.escape(word) for word in parts if word.isascii()]
        rules.append((name, lazy("|".join([*zh, rf"\b(?:{'|'.join(en)})\b"]))))
    return tuple(rules)


def category_of(text: str) -> tuple[str, tuple[int, int]] | None:
    """The ledger category that a text's words belong to, and where the word stands."""
    for name, rule in _category_rules():
        if found := rule.search(text):
            return name, found.span()
    return None


def flow_of(text: str) -> str | None:
    """`refund`, `income`, or None for an expense."""
    if _REFUND.search(text):
        return "refund"
    return "income" if _INCOME.search(text) else None


def is_shared(text: str) -> bool:
    """Whether the sum is shared out, so that the whole and the share are both amounts of the sentence."""
    return bool(_SHARED.search(text))
