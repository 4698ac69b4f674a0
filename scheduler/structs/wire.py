"""How a struct's snake_case fields are spelled on the wire, and the base class that applies it.

In: field names. Out: the PascalCase names of the public JSON API. Knows nothing of any one struct;
an irregular spelling is passed to `wire_names`.
"""

from collections.abc import Callable
from typing import Annotated

import msgspec

#: Words that are written in capitals on the wire wherever they occur in a name.
_INITIALISMS = {
    word.lower(): word
    for word in (
        "ID", "IDs", "MB", "CPU", "IP", "CIDR", "DNS", "HTTP", "TLS", "CSI", "CNI", "GC", "IOPS",
        "NUMA", "UI", "GRPC", "MBits", "TTL", "OS", "PCI", "TG", "SE",
    )
}  # fmt: skip

#: Nanoseconds of a span of time; written as an integer.
Duration = int

#: Nanoseconds since the Unix epoch; written as an integer. 0 means unset.
Nanoseconds = int

#: Nanoseconds since the Unix epoch that the public API writes as RFC 3339 text, or null when 0.
#: Inside the house, in the record and in capsules it stays an integer.
Instant = Annotated[int, msgspec.Meta(extra={"wire": "rfc3339"})]


def wire_name(field: str) -> str:
    """The wire spelling of one snake_case field name: `memory_mb` becomes `MemoryMB`."""
    return "".join(
        _INITIALISMS.get(word) or word[:1].upper() + word[1:]
        for word in field.rstrip("_").split("_")
    )


def wire_names(**exceptions: str) -> Callable[[str], str]:
    """A rename hook for a struct whose named fields are spelled irregularly."""
    return lambda field: exceptions.get(field) or wire_name(field)


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename=wire_name):
    """A value with wire names: immutable, compared by content, built by keyword.

    Change one with `msgspec.structs.replace`. Lists are tuples; an absent list is `()`, an absent
    map `{}`, an absent text `""`. Maps must not be mutated by a holder.
    """


def without_nulls(value: object) -> object:
    """A decoded JSON document without the null members of objects: null means not given."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
