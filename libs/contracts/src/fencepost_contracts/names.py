"""Names of tools, and which argument names speak of identity (I14).

A tool's name is ASCII, `<module>.<verb_noun>`, and compared exactly. Two names that a person could take for
one another are refused in a contract; a call under a look-alike name simply isn't in the catalog.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any, Final

from fencepost_contracts.canonical import pointer

MODULE_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,31}")
MOST_REMEMBERED: Final = 64  # characters of a name whose folding is kept; a longer one is nobody's argument
TOOL_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,31}\.[a-z][a-z0-9_]{0,63}")

# Letters of other scripts that are drawn like Latin ones, after NFKC and case folding.
_DRAWN_ALIKE: Final = str.maketrans(
    "аеіјорсухѕԁһԛԝьвкмнтгαβγεικνορτυχωϲёєɑɡɩıƖ",
    "aeijopcyxsdhqwbbkmhtrabyeiknoptuxwceeagiii",
)
_SAME_SHAPE: Final = (
    ("rn", "m"),
    ("vv", "w"),
    ("0", "o"),
    ("1", "l"),
    ("i", "l"),
    ("5", "s"),
    ("_", ""),
    ("-", ""),
)

# Who acts, for whom and where comes from the persisted run, and credentials are put in at the send: neither
# is a model's to say. Names of things out there (an `owner` of a repository) are none of these.
_IDENTITY: Final = frozenset({
    "tenant", "tenantid", "tenants", "user", "userid", "uid", "sub", "subjectid", "role", "roles",
    "actor", "actorid", "principal", "principalid", "impersonate", "onbehalfof", "runas", "conversation",
    "conversationid", "runid", "module", "moduleid", "authorization", "apikey", "accesstoken",
    "password",
})  # fmt: skip


def skeleton(name: str) -> str:
    """Equal for names that look alike: NFKC, case, confusable letters and digits folded away."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    folded = "".join(char for char in folded if unicodedata.category(char) not in ("Cf", "Mn", "Cc", "Zs"))
    folded = folded.translate(_DRAWN_ALIKE)
    for seen, meant in _SAME_SHAPE:
        folded = folded.replace(seen, meant)
    return folded


def is_identity(name: str) -> bool:
    """Does an argument of this name (or one that looks like it) say who acts?"""
    return _is_identity(name) if len(name) <= MOST_REMEMBERED else _is_identity.__wrapped__(name)


@lru_cache(maxsize=4096)
def _is_identity(name: str) -> bool:
    folded = unicodedata.normalize("NFKC", name).casefold().translate(_DRAWN_ALIKE)
    return re.sub(r"[\W_]", "", folded) in _IDENTITY


def identity_in_arguments(arguments: Any, at: str = "") -> list[str]:
    """Pointers of all identity arguments, however deep. Places are written out only where there are some."""
    return _identities(arguments, at) if _has_identity(arguments) else []


def _has_identity(value: Any) -> bool:
    if isinstance(value, dict):
        for key, item in value.items():
            if is_identity(key) or (isinstance(item, dict | list) and _has_identity(item)):
                return True
    elif isinstance(value, list):
        return any(_has_identity(item) for item in value if isinstance(item, dict | list))
    return False


def _identities(arguments: Any, at: str) -> list[str]:
    found: list[str] = []
    if isinstance(arguments, dict):
        for key, value in arguments.items():
            place = at + pointer(key)
            if is_identity(key):
                found.append(place)
            found.extend(_identities(value, place))
    elif isinstance(arguments, list):
        for number, value in enumerate(arguments):
            found.extend(_identities(value, at + pointer(number)))
    return found
