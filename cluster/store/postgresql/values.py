"""Values as PostgreSQL is sent them: texts whose type it takes from where they stand.

In: what Django's cursors take of the store: texts, numbers, truth, bytes, None, moments. Out:
libpq's values and formats. A text is sent as it is, so one statement serves every type of column.
"""

from collections.abc import Callable, Sequence
from typing import Any

from psycopg import DataError

_TEXT, _BINARY = 0, 1
Dumped = tuple[list[bytes | None], list[int]]


def dumped(parameters: Sequence[Any]) -> Dumped:
    """The parameters of one statement. Raises DataError for a text that no column can hold."""
    values: list[bytes | None] = []
    formats: list[int] = []
    for value in parameters:
        kind = type(value)
        if kind is bytes:
            values.append(value)
            formats.append(_BINARY)
        else:
            values.append(_DUMPERS[kind](value) if kind in _DUMPERS else _other(value))
            formats.append(_TEXT)
    return values, formats


def _text(value: str) -> bytes:
    if "\0" in value:
        raise DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    return value.encode()


_DUMPERS: dict[type, Callable[[Any], bytes | None]] = {
    str: _text,
    int: lambda value: str(value).encode(),
    bool: lambda value: b"t" if value else b"f",
    type(None): lambda _: None,
}


def _other(value: Any) -> bytes:
    """Enums of texts and numbers, moments, fractions: as they are written."""
    if isinstance(value, str):
        return _text(str.__str__(value))
    if isinstance(value, int):
        return str(int(value)).encode()
    return _text(str(value))
