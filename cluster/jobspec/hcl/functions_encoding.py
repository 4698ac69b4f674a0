"""Functions that encode, decode and hash.

In and out: values of expressions.
"""

import base64
import binascii
import csv
import hashlib
import json
import urllib.parse
import uuid
from collections.abc import Callable

from cluster.jobspec.hcl.functions_text import BadArgument, text_argument
from cluster.jobspec.hcl.values import Value, from_json, to_json

_NAMESPACES = {
    "dns": uuid.NAMESPACE_DNS,
    "url": uuid.NAMESPACE_URL,
    "oid": uuid.NAMESPACE_OID,
    "x500": uuid.NAMESPACE_X500,
}


def base64decode(text: Value) -> Value:
    """The text that was encoded."""
    try:
        return base64.b64decode(text_argument(text, 0), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise BadArgument(0, "str", "failed to decode base64 data") from None


def base64encode(text: Value) -> Value:
    """The text in base64."""
    return base64.b64encode(text_argument(text, 0).encode()).decode()


def csvdecode(text: Value) -> Value:
    """Rows as objects named by the head line."""
    lines = text_argument(text, 0).splitlines()
    rows = list(csv.reader(lines, strict=True))
    if not rows:
        raise BadArgument(0, "str", "missing header line")
    if any(len(row) != len(rows[0]) for row in rows):
        raise BadArgument(0, "str", "wrong number of fields")
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


def jsondecode(text: Value) -> Value:
    """The value that JSON text spells."""
    try:
        return from_json(json.loads(text_argument(text, 0)))
    except (ValueError, RecursionError):
        raise BadArgument(0, "str", "the text is no JSON") from None


def jsonencode(value: Value) -> Value:
    """The value as JSON text."""
    text = json.dumps(to_json(value), separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def urlencode(text: Value) -> Value:
    """The text as a part of a query."""
    return urllib.parse.quote_plus(text_argument(text, 0))


def _hash(name: str) -> Callable[[Value], Value]:
    def digest(text: Value) -> Value:
        return hashlib.new(
            name, text_argument(text, 0).encode(), usedforsecurity=False
        ).hexdigest()

    return digest


def uuidv5(namespace: Value, name: Value) -> Value:
    """The id that a name has in a namespace."""
    word = text_argument(namespace, 0, "namespace")
    try:
        space = _NAMESPACES.get(word) or uuid.UUID(word)
    except ValueError:
        raise BadArgument(0, "namespace", "must be dns, url, oid, x500 or a UUID") from None
    return str(uuid.uuid5(space, text_argument(name, 1, "name")))


def yamlencode(value: Value) -> Value:
    """The value as YAML; JSON is a part of that language."""
    return json.dumps(to_json(value), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


#: By the name the language gives them.
FUNCTIONS: dict[str, Callable[..., Value]] = {
    "base64decode": base64decode, "base64encode": base64encode, "csvdecode": csvdecode,
    "jsondecode": jsondecode, "jsonencode": jsonencode, "urlencode": urlencode, "uuidv5": uuidv5,
    "yamlencode": yamlencode,
    **{name: _hash(name) for name in ("md5", "sha1", "sha256", "sha512")},
}  # fmt: skip
