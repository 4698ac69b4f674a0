"""Version numbers and the constraints on them (placement.md 6.3).

In: texts such as `1.7.0-beta1+ent` and `>= 1.6, < 2`. Out: whether the version satisfies the
constraint; whatever does not parse satisfies nothing.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

_CORE = r"v?(?P<core>[0-9]+(?:\.[0-9]+)*)"
_PART = r"[0-9A-Za-z~-]*(?:\.[0-9A-Za-z~-]+)*"
_METADATA = r"(?:\+[0-9A-Za-z~-]+(?:\.[0-9A-Za-z~-]+)*)?"


def _grammar(dash: str) -> re.Pattern[str]:
    pre = rf"(?:-(?P<numeric>[0-9]+{_PART})|{dash}(?P<word>[A-Za-z~-]+{_PART}))?"
    return re.compile(_CORE + pre + _METADATA, re.ASCII)


_LENIENT = _grammar("-?")
_STRICT = _grammar("-")
_CLAUSE = re.compile(r"\s*(=|!=|>=|<=|>|<|~>)?\s*(\S+)\s*", re.ASCII)
_LARGEST = 2**63 - 1


class Version(NamedTuple):
    """A parsed version; metadata is dropped because it never matters."""

    #: At least three.
    segments: tuple[int, ...]
    #: How many of them were written.
    written: int
    pre_release: str


class Clause(NamedTuple):
    """One comparison of a constraint."""

    operator: str
    version: Version


@lru_cache(maxsize=4096)
def parse_version(text: str, *, strict: bool = False) -> Version | None:
    """The version a text means, or None. Strictly, a pre-release needs its dash."""
    match = (_STRICT if strict else _LENIENT).fullmatch(text)
    if match is None:
        return None
    parts = match["core"].split(".")
    if any(len(part) > 4000 for part in parts):
        return None
    segments = [int(part) for part in parts]
    if max(segments) > _LARGEST:
        return None
    written = len(segments)
    segments += [0] * (3 - written)
    return Version(tuple(segments), written, match["numeric"] or match["word"] or "")


def satisfies_version(text: str, constraint: str) -> bool:
    """Whether a version meets every clause; pre-releases only meet clauses that name one."""
    clauses = _parse_clauses(constraint, strict=False)
    version = parse_version(text)
    if version is None or clauses is None:
        return False
    return all(
        _meets(clause.operator, version, clause.version)
        and (clause.operator in {"=", "!="} or _passes_gate(version, clause))
        for clause in clauses
    )


def satisfies_semver(text: str, constraint: str) -> bool:
    """Whether a version meets every clause, by plain semantic-version order; `~>` is not known."""
    clauses = _parse_clauses(constraint, strict=True)
    version = parse_version(text)
    if version is None or clauses is None or any(clause.operator == "~>" for clause in clauses):
        return False
    return all(_meets(clause.operator, version, clause.version) for clause in clauses)


def compare_versions(left: Version, right: Version) -> int:
    """-1, 0 or 1. Zero-padded equals of different length are equal, whatever their pre-release."""
    for one, other in zip_longest(left.segments, right.segments, fillvalue=0):
        if one != other:
            return -1 if one < other else 1
    if len(left.segments) != len(right.segments):
        return 0
    return _compare_pre_releases(left.pre_release, right.pre_release)


@lru_cache(maxsize=1024)
def _parse_clauses(text: str, *, strict: bool) -> tuple[Clause, ...] | None:
    clauses = []
    for part in text.split(","):
        match = _CLAUSE.fullmatch(part)
        version = match and parse_version(match[2], strict=strict)
        if not match or not version:
            return None
        clauses.append(Clause(match[1] or "=", version))
    return tuple(clauses)


_ORDERS: dict[str, Callable[[int], bool]] = {
    "=": lambda order: order == 0,
    "!=": lambda order: order != 0,
    ">": lambda order: order > 0,
    "<": lambda order: order < 0,
    ">=": lambda order: order >= 0,
    "<=": lambda order: order <= 0,
}


def _meets(operator: str, version: Version, wanted: Version) -> bool:
    if operator == "~>":
        return _is_pessimistic_match(version, wanted)
    return _ORDERS[operator](compare_versions(version, wanted))


def _passes_gate(version: Version, clause: Clause) -> bool:
    wanted = clause.version
    if version.pre_release and wanted.pre_release:
        return version.segments == wanted.segments
    if version.pre_release:
        return False
    return not wanted.pre_release or clause.operator != "~>"


def _is_pessimistic_match(version: Version, wanted: Version) -> bool:
    if compare_versions(version, wanted) < 0 or len(wanted.segments) > len(version.segments):
        return False
    fixed = wanted.written - 1
    last = len(wanted.segments) - 1
    return (
        version.segments[:fixed] == wanted.segments[:fixed]
        and version.segments[last] >= wanted.segments[last]
    )


def _compare_pre_releases(left: str, right: str) -> int:
    if left == right:
        return 0
    if not left or not right:
        return 1 if not left else -1
    for one, other in zip_longest(left.split("."), right.split("."), fillvalue=""):
        order = _compare_parts(one, other)
        if order:
            return order
    return 0


def _compare_parts(left: str, right: str) -> int:
    if left == right:
        return 0
    # An absent part ranks below a number but above a word.
    if not left:
        return -1 if right.isdigit() else 1
    if not right:
        return 1 if left.isdigit() else -1
    if left.isdigit() and right.isdigit():
        return _sign(int(left) - int(right))
    if left.isdigit() or right.isdigit():
        return -1 if left.isdigit() else 1
    return -1 if left < right else 1


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
