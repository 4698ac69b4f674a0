"""The JSON body of a request, read as the reference's decoder reads it.

In: bytes. Out: a `Body` whose fields are found by name in any case and have the wanted type, or
`OperationRefused` with the decoder's words; null means not given. What was given and never asked
for is unknown: `unknown_fields` names it.
"""

import base64
import json
import re
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any, TypeVar

from cluster.jobspec.durations import read_duration
from cluster.jobspec.hcl.nearest import nearest
from cluster.jobspec.request_form import free_value, is_too_deep
from cluster.operations.errors import OperationRefused

Value = TypeVar("Value")

EMPTY = "Request body is empty"

_WORDS = {
    "Expecting value": "looking for beginning of value",
    "Expecting property name enclosed in double quotes": (
        "looking for beginning of object key string"
    ),
    "Expecting ':' delimiter": "after object key",
    "Expecting ',' delimiter": "after object key:value pair",
}
_INT64 = 2**63
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", re.ASCII)
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/]", re.ASCII)
_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)", re.ASCII
)
#: Digits of a second's nanoseconds.
_FRACTION = 9
_NUMBER_AND_UNIT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)([^\d.]*)")


class Body:
    """A decoded JSON object."""

    def __init__(self, document: dict[str, Any], name: str) -> None:
        self._name = name
        self._document = document
        self._fields = {key.casefold(): item for key, item in document.items()}
        #: What was asked for, by its name in small letters; and what that handed out.
        self._asked: dict[str, str] = {}
        self._inside: dict[str, list[Body]] = {}
        self._is_whole = False

    @property
    def name(self) -> str:
        """What error texts call it."""
        return self._name

    @property
    def document(self) -> dict[str, Any]:
        """As it came; who takes it whole says itself what of it is unknown."""
        self._is_whole = True
        return self._document

    def unknown_fields(self, known: Collection[str] = ()) -> list[tuple[str, str]]:
        """The paths of what was given and never asked for, each with a hint, as they came.

        What says nothing (null, false, 0, an empty text, list or object) is left out, as is
        `known` at any depth: names in small letters.
        """
        return [] if self._is_whole else list(self._unknown(known))

    def _unknown(self, known: Collection[str]) -> Iterator[tuple[str, str]]:
        for key, value in self._document.items():
            small = key.casefold()
            if small in self._inside:
                is_list = isinstance(value, list)
                for place, inner in enumerate(self._inside[small]):
                    step = f"{key}[{place}]." if is_list else f"{key}."
                    yield from ((step + path, hint) for path, hint in inner.unknown_fields(known))
            elif small not in self._asked and small not in known and value:
                yield key, nearest(key, self._asked.values())

    def has(self, field: str) -> bool:
        """Whether the field was given at all, and not null."""
        return self._value(field) is not None

    def is_list(self, field: str) -> bool:
        """Whether the field was given as a list."""
        return isinstance(self._value(field), list)

    def text(self, field: str) -> str:
        """A string, "" when not given; half characters are replaced."""
        return str(free_value(self._typed(field, str, "", "string")))

    def flag(self, field: str) -> bool:
        """A boolean, False when not given."""
        return self._typed(field, bool, default=False, word="bool")

    def number(self, field: str, word: str = "int") -> int:
        """An integer of 64 bits, 0 when not given; `word` is what error texts call its type."""
        value = self._value(field)
        if isinstance(value, bool):
            raise self._mismatch(value, field, word)
        number = self._typed(field, int, 0, word)
        if not -_INT64 <= number < _INT64:
            raise self._mismatch(number, field, word)
        return number

    def unsigned(self, field: str) -> int:
        """An integer that is not negative, 0 when not given."""
        number = self.number(field, "uint64")
        if number < 0:
            raise self._mismatch(number, field, "uint64")
        return number

    def octets(self, field: str) -> bytes:
        """Bytes, sent in base64; none when not given."""
        text = self._typed(field, str, "", "[]uint8").replace("\r", "").replace("\n", "")
        whole = _BASE64.match(text)
        if whole is None or whole.end() < len(text):
            at = _base64_fault(text, 0 if whole is None else whole.end())
            raise OperationRefused(f"illegal base64 data at input byte {at}")
        return base64.b64decode(text)

    def nested(self, field: str) -> "Body | None":
        """A nested object, None when not given."""
        value: dict[str, Any] | None = self._typed(field, dict, None, "object")
        return None if value is None else self._handed_out(field, [value])[0]

    def objects(self, field: str) -> "list[Body]":
        """A list of objects, empty when not given."""
        items: list[Any] = self._typed(field, list, [], f"[]{self._name}")
        for item in items:
            if not isinstance(item, dict):
                raise self._mismatch(item, field, "object")
        return self._handed_out(field, items)

    def duration(self, field: str) -> int:
        """Nanoseconds, from a number or a text like `1h30m`; 0 when not given."""
        if not isinstance(self._value(field), str):
            return self.number(field)
        text = self.text(field)
        span = read_duration(text) if text else 0
        if span is None:
            raise OperationRefused(_no_duration(text))
        return span

    def instant(self, field: str) -> int:
        """Nanoseconds since the Unix epoch, from RFC 3339; 0 when not given, or in year 1."""
        text = self.text(field)
        found = _INSTANT.fullmatch(text)
        if not text or text.startswith("0001-01-01T00:00:00"):
            return 0
        try:
            if found is None:
                raise ValueError
            at = datetime.fromisoformat(found[1] + found[3].replace("Z", "+00:00"))
        except ValueError:
            raise OperationRefused(
                f'parsing time "{text[:64]}" as "2006-01-02T15:04:05Z07:00": cannot parse it'
            ) from None
        fraction = (found[2] or "").ljust(_FRACTION, "0")[:_FRACTION]
        return int(at.timestamp()) * 1_000_000_000 + int(fraction)

    def texts(self, field: str) -> dict[str, str]:
        """A map of strings, empty when not given."""
        value: dict[str, Any] = self._typed(field, dict, {}, "map[string]string")
        for item in value.values():
            if not isinstance(item, str):
                raise self._mismatch(item, field, "string")
        return dict(free_value(value))

    def free(self, field: str) -> dict[str, Any]:
        """An object of the caller's own, as far as the record can hold it; empty when absent."""
        value: dict[str, Any] = self._typed(field, dict, {}, "map[string]interface {}")
        return dict(free_value(value))

    def texts_or_nulls(self, field: str) -> dict[str, str | None]:
        """As `texts`, where null is a value."""
        value: dict[str, Any] = self._typed(field, dict, {}, "map[string]*string")
        for item in value.values():
            if item is not None and not isinstance(item, str):
                raise self._mismatch(item, field, "string")
        return value

    def list_of_texts(self, field: str) -> tuple[str, ...]:
        """A list of strings, empty when not given."""
        value: list[Any] = self._typed(field, list, [], "[]string")
        for item in value:
            if not isinstance(item, str):
                raise self._mismatch(item, field, "string")
        return tuple(map(str, free_value(value)))

    def _handed_out(self, field: str, items: "list[dict[str, Any]]") -> "list[Body]":
        """The same bodies each time, so that they know all that was asked of them."""
        small = field.casefold()
        if small not in self._inside:
            self._inside[small] = [Body(item, self._name) for item in items]
        return self._inside[small]

    def _value(self, field: str) -> Any:
        small = field.casefold()
        self._asked.setdefault(small, field)
        return self._fields.get(small)

    def _typed(self, field: str, kind: type, default: Value, word: str) -> Value:
        value = self._value(field)
        if value is None:
            return default
        if not isinstance(value, kind):
            raise self._mismatch(value, field, word)
        return value  # type: ignore[return-value] # just checked, by a type that is a value here

    def _mismatch(self, value: object, field: str, word: str) -> OperationRefused:
        return OperationRefused(
            f"json: cannot unmarshal {_word_of(value)} into Go struct field"
            f" {self._name}.{field} of type {word}"
        )


def _base64_fault(text: str, start: int) -> int:
    """Where a text goes wrong that is good up to `start`; there, when it only ends too soon."""
    found = _NOT_BASE64.search(text, start)
    if found is None or text[:start].endswith("="):
        return start
    return found.start()


def read_body(raw: bytes, name: str) -> Body:
    """The object in `raw`; `name` is what error texts call it. Raises for an empty body."""
    if not raw.strip():
        raise OperationRefused(EMPTY)
    return read_optional_body(raw, name)


def read_optional_body(raw: bytes, name: str) -> Body:
    """As `read_body`, with an empty body for an empty object."""
    if not raw.strip():
        return Body({}, name)
    document = _decode(raw)
    if document is None:
        return Body({}, name)
    if not isinstance(document, dict):
        word = _word_of(document)
        raise OperationRefused(f"json: cannot unmarshal {word} into Go value of type api.{name}")
    if is_too_deep(document):
        raise OperationRefused("exceeded max depth")
    return Body(document, name)


def _no_duration(text: str) -> str:
    """What is wrong with a text that should be a span of time, in the decoder's words."""
    position = 0
    while (part := _NUMBER_AND_UNIT.match(text, position)) is not None:
        if not part[1]:
            return f'time: missing unit in duration "{text}"'
        if read_duration(f"1{part[1]}") is None:
            return f'time: unknown unit "{part[1]}" in duration "{text}"'
        position = part.end()
    return f'time: invalid duration "{text}"'


def _decode(raw: bytes) -> object:
    text = raw.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    try:
        # What follows the first value is not looked at.
        return json.JSONDecoder(parse_constant=_no_constant).raw_decode(text)[0]
    except json.JSONDecodeError as error:
        raise OperationRefused(_decoder_message(text, error)) from None
    except RecursionError:
        raise OperationRefused("exceeded max depth") from None
    except ValueError as error:
        text = str(error)
        if "digits" in text:
            text = "json: cannot unmarshal number of thousands of digits"
        raise OperationRefused(text) from None


def _no_constant(name: str) -> object:
    raise ValueError(f"invalid character '{name[0]}' looking for beginning of value")


def _decoder_message(text: str, error: json.JSONDecodeError) -> str:
    if error.pos >= len(text):
        return "unexpected EOF"
    words = _WORDS.get(error.msg, "in string literal")
    return f"invalid character '{text[error.pos]}' {words}"


def _word_of(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"
