"""Why not there: what kept one node from one more of a group, then and now, check by check.

In: what a run found, what is found now, and a node by name or id. Out: sentences and a list of
checks; the first that failed is marked, and what stands behind it.
"""

from typing import NamedTuple

import msgspec
from django.utils.translation import gettext, gettext_noop

from cluster.operations.explain_now import FoundNow
from cluster.store.ports import RecordReader
from dashboard.graphs.matrix_words import UNITS
from dashboard.wording import amount, count_of, dimension_word, number, one_of
from scheduler.structs.explanation import (
    CheckResult,
    GroupExplanation,
    NodeVerdict,
    VerdictKind,
)

#: Characters of an id that may name a node.
_SHORTEST_ID = 4
_SUGGESTED = 5
_CHECK_WORDS = {
    "pool": gettext_noop("Node pool"),
    "datacenter": "Datacenter",
    "ready": gettext_noop("Ready, eligible"),
    "job constraints": gettext_noop("Constraints of the job"),
    "drivers": "Drivers",
    "constraints": gettext_noop("Constraints of the group"),
    "devices": "Devices",
    "networks": "Networks",
    "secrets providers": gettext_noop("Secrets providers"),
    "host volumes": gettext_noop("Host volumes"),
    "CSI volumes": gettext_noop("CSI volumes"),
    "distinct": gettext_noop("Others there"),
    "max allocation exceeded": gettext_noop("Number of allocations"),
    "cpu": "CPU",
    "memory": "Memory",
    "disk": "Disk",
}


class CheckLine(NamedTuple):
    """One check of the list."""

    word: str
    passed: bool
    told: str
    is_first: bool


class WhyNot(msgspec.Struct, frozen=True, kw_only=True):
    """The answer, ready to be written."""

    #: "" where no node is called so.
    node_id: str = ""
    name: str = ""
    #: What is said after the name, or instead of it.
    strong: str
    rest: str = ""
    checks: tuple[CheckLine, ...] = ()


def node_called(reader: RecordReader, text: str) -> str:
    """The id of the node with this name, or whose id begins so; "" where there is none."""
    if not text:
        return ""
    nodes = reader.nodes()
    named = next((node.id for node in nodes if node.name == text), "")
    by_id = (node.id for node in nodes if len(text) >= _SHORTEST_ID and node.id.startswith(text))
    return named or next(by_id, "")


def why_not(text: str, then: GroupExplanation | None, now: FoundNow) -> WhyNot:
    """What is to be said of the node that the text names."""
    verdict = next(
        (each for each in now.survey.nodes if now.survey.checks and _is_named(each, text, now)),
        None,
    )
    if verdict is None:
        like = sorted(node.name for node in now.nodes.values() if text and text in node.name)
        hint = gettext("Perhaps {like}?").format(like=one_of(like[:_SUGGESTED])) if like else ""
        return WhyNot(strong=gettext("No node is called {text}.").format(text=text), rest=hint)
    name = now.nodes[verdict.node_id].name
    was, is_now = _then_told(verdict.node_id, then), _now_told(verdict)
    passed = sum(1 for each in _until_first(now.survey.checks))
    if not was:
        strong, rest = f"{is_now}.", gettext("What kept it out then was not kept.")
    elif was == _in_the_past(is_now):
        strong, rest = f"{was}.", gettext("Now it is the same.")
    else:
        strong, rest = f"{was}.", gettext("Now it {is_now}.").format(is_now=is_now)
    if verdict.kind is not VerdictKind.ROOM:
        passes = count_of(passed, "{count} check", "{count} checks")
        rest = f"{rest} {_beyond(now.survey.checks).format(check=passes)}"
    return WhyNot(
        node_id=verdict.node_id,
        name=name,
        strong=strong,
        rest=rest,
        checks=_lines(now.survey.checks),
    )


def _in_the_past(told: str) -> str:
    """As it would have been told of then."""
    for now, then in (
        (gettext("is "), gettext("was ")),
        (gettext(" lacks "), gettext(" lacked ")),
        (gettext(" has "), gettext(" had ")),
    ):
        told = told.replace(now, then, 1)
    return told


def _is_named(verdict: NodeVerdict, text: str, now: FoundNow) -> bool:
    node = now.nodes[verdict.node_id]
    if any(other.name == text for other in now.nodes.values()):
        return node.name == text
    return len(text) >= _SHORTEST_ID and node.id.startswith(text)


def _then_told(node_id: str, then: GroupExplanation | None) -> str:
    if then is None:
        return ""
    for short in then.exhausted:
        if node_id in short.node_ids:
            lacking = dict(zip(short.node_ids, short.missing, strict=False)).get(node_id, 0)
            return _lacked(short.dimension, lacking)
    for refused in then.refused:
        if node_id in refused.node_ids:
            return gettext("was asked and could never run it: {reason}").format(
                reason=refused.reason.rstrip()
            )
    for left in then.not_asked:
        if node_id in left.node_ids:
            return gettext("was not asked: {reason}").format(reason=left.reason)
    place = next((at for at, each in enumerate(then.best, 1) if each.node_id == node_id), 0)
    if place:
        return gettext("had room, and its score was {norm_score:.2f}").format(
            norm_score=then.best[place - 1].norm_score
        )
    return ""


def _lacked(dimension: str, lacking: int) -> str:
    if not lacking:
        return gettext("was asked and had no room: {dimension}").format(dimension=dimension)
    lacks = amount(lacking, UNITS.get(dimension, ""))
    return gettext("was asked and lacked {lacks} of {dimension}").format(
        lacks=lacks, dimension=dimension_word(dimension)
    )


def _now_told(verdict: NodeVerdict) -> str:
    match verdict.kind:
        case VerdictKind.ROOM:
            return gettext("has room for one more")
        case VerdictKind.EXHAUSTED if verdict.missing:
            lacks = amount(verdict.missing, UNITS.get(verdict.check, ""))
            return gettext("is asked and lacks {lacks} of {check}").format(
                lacks=lacks, check=dimension_word(verdict.check)
            )
        case VerdictKind.EXHAUSTED:
            return gettext("is asked and has no room: {reason}").format(reason=verdict.reason)
        case VerdictKind.REFUSED:
            return gettext("is asked and could never run it: {reason}").format(
                reason=verdict.reason
            )
        case _:
            return gettext("is not asked: {reason}").format(reason=verdict.reason)


def _until_first(checks: tuple[CheckResult, ...]) -> list[CheckResult]:
    """Those before the first that fails."""
    first = next((at for at, each in enumerate(checks) if not each.passed), len(checks))
    return list(checks[:first])


def _beyond(checks: tuple[CheckResult, ...]) -> str:
    """What it passes, and what would stop it next; `{check}` stands for how many come before."""
    failed = [each for each in checks if not each.passed][1:]
    if not failed:
        return gettext("It passes {check} before that and all that follow.")
    words = [_check_word(each) for each in failed]
    return gettext("It passes {{check}} before that. Next it would fail at {words}.").format(
        words=one_of(words, "and")
    )


def _check_word(each: CheckResult) -> str:
    return gettext(_CHECK_WORDS.get(each.check, each.check))


def _lines(checks: tuple[CheckResult, ...]) -> tuple[CheckLine, ...]:
    first = len(_until_first(checks))
    return tuple(
        CheckLine(_check_word(each), each.passed, _line_told(each), at == first)
        for at, each in enumerate(checks)
    )


def _line_told(each: CheckResult) -> str:
    if each.check in UNITS:
        return gettext("{free} free, asks {asked}").format(
            free=amount(each.free, UNITS[each.check]), asked=number(each.asked)
        )
    return each.reason or ("holds" if each.passed else "no")
