"""How the fields of forms are called that give a dispatched job its metadata.

In: a key, or the name of a field. Out: the other one.
"""

from urllib.parse import quote, unquote

#: The key follows, quoted: forms strip spaces.
_META = "meta."


def meta_name(key: str) -> str:
    """The field of a key."""
    return _META + quote(key, safe="")


def meta_key(name: str) -> str | None:
    """The key of a field; None for a field of another kind."""
    return unquote(name.removeprefix(_META)) if name.startswith(_META) else None
