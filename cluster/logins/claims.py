"""What the claims of a token say to our rules: values and lists by name, and texts made of them.

In: claims and the mappings of an auth method. Out: `Claims`; names with their `${value.x}` filled.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cluster.logins.errors import ClaimsUnreadable

_VARIABLE = re.compile(r"\$\{\s*([^}\s]*)\s*\}")


class Claims(NamedTuple):
    """The mapped claims, as selectors see them."""

    value: dict[str, str]
    list: dict[str, tuple[str, ...]]

    def as_item(self) -> dict[str, Any]:
        """For the expressions of rules."""
        return {"value": self.value, "list": self.list}


def mapped_claims(
    claims: Mapping[str, Any], values: Mapping[str, str], lists: Mapping[str, str]
) -> Claims:
    """Those that a method names, under the names it gives them. Raises ClaimsUnreadable."""
    found_values = {}
    for source, target in values.items():
        claim = found_claim(claims, source)
        if claim is not None:
            found_values[target] = _text(claim, source)
    found_lists = {}
    for source, target in lists.items():
        claim = found_claim(claims, source)
        if claim is not None:
            found_lists[target] = _texts(claim, source)
    return Claims(found_values, found_lists)


def filled(text: str, facts: Mapping[str, str], change: Callable[[str], str] = str) -> str:
    """A text with each `${name}` replaced, its value changed so. Raises ClaimsUnreadable."""

    def fact(found: re.Match[str]) -> str:
        if found[1] not in facts:
            raise ClaimsUnreadable(f"unknown variable accessed: {found[1]}")
        return change(facts[found[1]])

    return _VARIABLE.sub(fact, text)


def variables(claims: Claims) -> dict[str, str]:
    """The values by the names that texts use."""
    return {f"value.{name}": value for name, value in claims.value.items()}


def found_claim(claims: Mapping[str, Any], source: str) -> Any:
    """A claim by its name, or by a JSON pointer; None when it is not there."""
    if not source.startswith("/"):
        return claims.get(source)
    found: Any = claims
    for part in source[1:].split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping):
            found = found.get(name)
        elif isinstance(found, list) and name.isascii() and name.isdigit() and len(name) < 10:
            found = found[int(name)] if int(name) < len(found) else None
        else:
            return None
    return found


def _text(claim: Any, source: str) -> str:
    text = _scalar(claim)
    if text is None:
        kind = "[]interface {}" if isinstance(claim, list) else "map[string]interface {}"
        raise ClaimsUnreadable(
            f"error converting claim '{source}' to string from unknown type {kind}"
        )
    return text


def _texts(claim: Any, source: str) -> tuple[str, ...]:
    items = [_scalar(item) for item in (claim if isinstance(claim, list) else [claim])]
    if None in items:
        raise ClaimsUnreadable(f'"{source}" list claim could not be converted to string list')
    return tuple(item for item in items if item)


def _scalar(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, str | int | float) else None
