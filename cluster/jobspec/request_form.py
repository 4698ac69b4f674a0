"""A decoded JSON document checked against the shapes of a job request.

In: a `dict` as JSON gives it. Out: the request form: every field present under its exact name,
None where a field was left open; and the paths of fields nobody knows. Collects every wrong type.
Knows no defaults and no rules.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from cluster.jobspec.problems import JobProblems, Problem
from cluster.jobspec.request_shapes import SHAPES, Field, Shape

#: A job request with exact names, complete, None for what was left open.
RequestForm = dict[str, Any]
#: The way to a value from the top: names and list positions.
Steps = tuple[str | int, ...]
Place = tuple[int | None, int | None]

#: Deeper nesting than any job has a use for; bounds every recursion below.
MAX_DEPTH = 100
#: Further problems of one document are counted, not listed.
MAX_PROBLEMS = 200

_INTEGER_RANGES = {
    "int": (-(2**63), 2**63 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "dur": (-(2**63), 2**63 - 1),
    "int8": (-128, 127),
    "uint8": (0, 255),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}
#: What nests; a union would be made anew for each look.
_NESTING = (dict, list)
_ZEROES: dict[str, Any] = {"str": "", "bool": False} | dict.fromkeys(_INTEGER_RANGES, 0)
#: Objects of lists in which a null is as good as an empty check, or nothing.
_MAY_BE_NULL = ("ServiceCheck", "WorkloadIdentity")
#: How the decoder's messages call a kind.
_TYPE_WORDS = {"str": "string", "dur": "time.Duration", "bytes": "[]uint8", "any": "interface {}"}


class Unusable(Exception):
    """The value was refused; the problem is already noted."""


@dataclass(slots=True)
class Reading:
    """What one reading of a document has found besides values."""

    locate: Callable[[Steps], Place]
    problems: list[Problem] = field(default_factory=list)
    unknown: list[Steps] = field(default_factory=list)

    def note(self, steps: Steps, message: str) -> None:
        """Add a problem, up to the number anyone would read."""
        if len(self.problems) < MAX_PROBLEMS:
            line, column = self.locate(steps)
            self.problems.append(Problem(path_text(steps), message, line, column))


def nowhere(_steps: Steps) -> Place:
    """The place of a value in a document that did not come as text."""
    return None, None


def path_text(steps: Steps) -> str:
    """`("TaskGroups", 0, "Name")` as `TaskGroups[0].Name`."""
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def path_steps(path: str) -> Steps:
    """The way that `path_text` has written."""
    return tuple(
        int(number) if number else name
        for name, number in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path)
    )


def complete(
    shape_name: str, document: object, locate: Callable[[Steps], Place] = nowhere
) -> tuple[RequestForm, tuple[Steps, ...]]:
    """The request form of a document, and the paths of its unknown fields.

    Raises `JobProblems` with every field of a wrong type.
    """
    reading = Reading(locate)
    if is_too_deep(document):
        raise JobProblems([Problem("", "exceeded max depth")], malformed=True)
    form: RequestForm = {}
    with suppress(Unusable):
        form = _object(document, SHAPES[shape_name], (), reading)
    if reading.problems:
        raise JobProblems(reading.problems, malformed=True)
    return form, tuple(reading.unknown)


def empty_form(shape_name: str) -> RequestForm:
    """A form in which nothing is given."""
    return dict(_empty_form(shape_name))


@cache
def _empty_form(shape_name: str) -> Mapping[str, Any]:
    # Texts, numbers and None: whoever gets a copy may share them.
    return {
        each.name: None if each.is_open else _zero(each.kind)
        for each in SHAPES[shape_name].fields.values()
        if not each.is_hidden
    }


def _zero(kind: str) -> Any:
    return _ZEROES.get(kind)


def is_too_deep(document: object) -> bool:
    """Whether objects and lists nest deeper than any request has a use for."""
    level = [document]
    for _ in range(MAX_DEPTH):
        level = [
            item
            for value in level
            if isinstance(value, _NESTING)
            for item in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return False
    return True


def _object(value: object, shape: Shape, steps: Steps, reading: Reading) -> RequestForm:
    if not isinstance(value, dict):
        raise _mismatch(value, shape.name, f"api.{shape.name}", steps, reading)
    form = empty_form(shape.name)
    for name, item in value.items():
        known = shape.fields.get(str(name).casefold())
        if known is None:
            reading.unknown.append((*steps, str(name)))
            continue
        if item is None:
            continue
        try:
            form[known.name] = _value(
                item, known.kind, (*steps, known.name), (shape, known), reading
            )
        except Unusable:
            continue
    return form


#: The struct and field a value belongs to; decoder messages name both.
_Home = tuple[Shape, Field]


def _value(value: object, kind: str, steps: Steps, home: _Home, reading: Reading) -> Any:  # noqa: C901 - JSON; one branch for each kind
    if kind == "str" and isinstance(value, str):
        return _clean(value)
    if kind[0] == "[":
        if not isinstance(value, list):
            raise _mismatch(value, home[0].name, _type_word(kind), steps, reading)
        return _list(value, kind[1:-1], steps, home, reading)
    if kind[0] == "{":
        if not isinstance(value, dict):
            raise _mismatch(value, home[0].name, _type_word(kind), steps, reading)
        return _map(value, kind[1:-1], steps, home, reading)
    if kind in SHAPES:
        if not isinstance(value, dict):
            raise _mismatch(value, home[0].name, _type_word(kind), steps, reading)
        form = _object(value, SHAPES[kind], steps, reading)
        if kind == "VolumeMount" and form["Volume"] is not None and form["Destination"] is None:
            # As with a null among objects.
            reading.note(steps, f"{path_text(steps)}.Destination must be given")
        return form
    if kind in _INTEGER_RANGES:
        return _integer(value, kind, steps, home, reading)
    if kind == "any":
        return free_value(value)
    if kind == "bool" and isinstance(value, bool):
        return value
    if kind == "bytes" and isinstance(value, str):
        return _base64(value, steps, reading)
    raise _mismatch(value, home[0].name, _type_word(kind), steps, reading)


def _list(value: list[Any], kind: str, steps: Steps, home: _Home, reading: Reading) -> list[Any]:
    items = []
    for position, item in enumerate(value):
        if item is None and kind not in SHAPES:
            items.append(_zero(kind))
            continue
        if item is None:
            if kind == "ServiceCheck":
                items.append(empty_form(kind))
            if kind in _MAY_BE_NULL:
                continue
            # A null among objects would be a job with a hole; the reference drops into it and
            # fails.
            reading.note((*steps, position), f"{path_text((*steps, position))} must not be null")
            continue
        try:
            items.append(_value(item, kind, (*steps, position), home, reading))
        except Unusable:
            continue
    return items


def _map(
    value: dict[Any, Any], kind: str, steps: Steps, home: _Home, reading: Reading
) -> dict[str, Any]:
    items: dict[str, Any] = {}
    for name, item in value.items():
        key = _clean(str(name))
        if item is None:
            if kind not in SHAPES:
                items[key] = _zero(kind)
            continue
        try:
            items[key] = _value(item, kind, (*steps, str(name)), home, reading)
        except Unusable:
            continue
    return items


def _integer(value: object, kind: str, steps: Steps, home: _Home, reading: Reading) -> int:
    low, high = _INTEGER_RANGES[kind]
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return value
    raise _mismatch(value, home[0].name, _type_word(kind), steps, reading, numeric=True)


def free_value(value: object) -> Any:
    """A value of the author's own: kept as it is, as far as the record can hold it."""
    if isinstance(value, dict):
        return {_clean(str(key)): free_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [free_value(item) for item in value]
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return float(value) if abs(value) < 1 << 1023 else 0.0
    return value


def _clean(text: str) -> str:
    # Half a surrogate pair is legal in JSON text but has no UTF-8 form, which everything below
    # needs.
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _base64(value: str, steps: Steps, reading: Reading) -> str:
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        reading.note(steps, "illegal base64 data at input byte 0")
        raise Unusable from None
    return value


def _mismatch(
    value: object,
    struct: str,
    wanted: str,
    steps: Steps,
    reading: Reading,
    *,
    numeric: bool = False,
) -> Unusable:
    word = _value_word(value, numeric=numeric)
    if not steps:
        reading.note(steps, f"json: cannot unmarshal {word} into Go value of type {wanted}")
        return Unusable()
    names = ".".join(str(step) for step in steps if isinstance(step, str))
    reading.note(
        steps,
        f"json: cannot unmarshal {word} into Go struct field {struct}.Job.{names}"
        f" of type {wanted}",
    )
    return Unusable()


def _value_word(value: object, *, numeric: bool) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return f"number {value!r:.40}" if numeric else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _type_word(kind: str) -> str:
    if kind[0] == "[":
        return f"[]{_type_word(kind[1:-1])}"
    if kind[0] == "{":
        return f"map[string]{_type_word(kind[1:-1])}"
    if kind in SHAPES:
        return f"*api.{kind}"
    return _TYPE_WORDS.get(kind, kind)
