"""A scenario as programs and pages send it, in JSON.

In: a document. Out: a `Scenario`, or `ScenarioProblems` that name every problem with its place.
Whether nodes and jobs exist is asked later, of the record.
"""

import base64
import binascii
from collections.abc import Callable
from typing import Any

from cluster.jobspec.durations import read_duration
from cluster.jobspec.parse import parse_job
from cluster.jobspec.problems import JobProblems, Problem
from cluster.operations.errors import OperationRefused
from cluster.operations.filter_expression import compile_filter
from cluster.operations.job_dispatch import Dispatch
from cluster.operations.jobs import HIGHEST_PRIORITY
from cluster.rehearsal.scenario import (
    WHOLE,
    AddNodes,
    ChangeQuota,
    ChangeSettings,
    DispatchJob,
    DrainNodes,
    LoseNodes,
    MarkNodes,
    NodeChoice,
    PurgeNodes,
    RevertJob,
    RunJob,
    ScaleJob,
    Scenario,
    ScenarioChange,
    ScenarioProblems,
    StopJob,
)
from scheduler.structs.identity import DEFAULT_NAMESPACE, JobKey
from scheduler.structs.node import NodeEligibility
from scheduler.structs.quota import QuotaAmounts
from scheduler.structs.scheduler_settings import SchedulerAlgorithm
from scheduler.structs.wire import wire_name

Document = dict[str, Any]

MOST_CHANGES = 1_000
MOST_ADDED = 5_000
MOST_AT_ONCE = 1_000_000
MOST_VERSION = 2**53
#: How the refusal of a filter begins in the API of lists, word by word the reference's.
_OF_LIST, _OF_PAGE = "failed to create result paginator: ", "failed to read result page: "
#: Paces that a drain is rehearsed at beside its own.
MOST_PACES = 5


class _At:
    """A JSON object at its place, read field by field; problems are gathered."""

    def __init__(self, document: Any, path: str, problems: list[Problem]) -> None:
        self.path, self.problems = path, problems
        self.document: Document = document if isinstance(document, dict) else {}
        self._read: set[str] = set()
        if not isinstance(document, dict):
            self.complain("", "must be an object")

    def complain(self, field: str, message: str) -> None:
        path = f"{self.path}.{field}" if field and self.path else self.path or field
        self.problems.append(Problem(path, message))

    def has(self, field: str) -> bool:
        self._read.add(field)
        return self.document.get(field) is not None

    def text(self, field: str, *, needed: bool = False) -> str:
        value = self._value(field)
        if value is not None and not isinstance(value, str):
            self.complain(field, "must be a text")
            return ""
        if needed and not value:
            self.complain(field, "is missing")
        return value or ""

    def flag(self, field: str) -> bool | None:
        value = self._value(field)
        if value is not None and not isinstance(value, bool):
            self.complain(field, "must be true or false")
            return None
        return value

    def number(self, field: str, least: int, most: int, default: int | None = None) -> int:
        value = self._value(field)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int):
            self.complain(field, "is missing" if value is None else "must be a whole number")
        elif not least <= value <= most:
            self.complain(field, f"must be from {least} to {most}")
        else:
            return value
        return least

    def duration(self, field: str) -> int:
        value = self._value(field)
        if isinstance(value, str):
            read = read_duration(value)
            if read is None:
                self.complain(field, f"{value!r} is no span of time; write 30m or 1h")
            return read or 0
        if isinstance(value, bool) or not isinstance(value, int | None):
            self.complain(field, "must be nanoseconds, or a text such as 1h")
            return 0
        return value or 0

    def texts(self, field: str) -> tuple[str, ...]:
        value = self._value(field)
        if value is None:
            return ()
        if not isinstance(value, list):
            self.complain(field, "must be a list")
            return ()
        for number, item in enumerate(value):
            if not isinstance(item, str) or not item:
                self.complain(f"{field}[{number}]", "must be a text")
        return tuple(item for item in value if isinstance(item, str))

    def numbers(self, field: str, least: int, most: int) -> tuple[int, ...]:
        value = self._value(field)
        if value is None:
            return ()
        if not isinstance(value, list):
            self.complain(field, "must be a list")
            return ()
        for place, item in enumerate(value):
            if isinstance(item, bool) or not isinstance(item, int) or not least <= item <= most:
                self.complain(
                    f"{field}[{place}]", f"must be a whole number from {least} to {most}"
                )
        return tuple(item for item in value if isinstance(item, int))

    def texts_by_name(self, field: str) -> dict[str, str]:
        value = self._value(field)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.complain(field, "must be an object")
            return {}
        for name, item in value.items():
            if not isinstance(item, str):
                self.complain(f"{field}.{name}", "must be a text")
        return {name: item for name, item in value.items() if isinstance(item, str)}

    def octets(self, field: str) -> bytes:
        try:
            return base64.b64decode(self.text(field), validate=True)
        except (binascii.Error, ValueError):
            self.complain(field, "must be base64")
            return b""

    def nested(self, field: str) -> "_At":
        value = self._value(field)
        return _At({} if value is None else value, f"{self.path}.{field}", self.problems)

    def close(self) -> None:
        """Name what nobody reads."""
        for field in self.document.keys() - self._read:
            self.complain(str(field), "is not known here")

    def _value(self, field: str) -> Any:
        self._read.add(field)
        return self.document.get(field)


def read_scenario(document: object) -> Scenario:
    """The scenario of a request: `{"Changes": [...]}`, a list, or one object with its changes.

    An object may name several, one of each kind; they are made in the order in which it does.
    """
    problems: list[Problem] = []
    listed = document
    if isinstance(document, dict) and "Changes" in document:
        listed = document["Changes"]
        unknown = document.keys() - {"Changes"}
        problems += [Problem(str(field), "is not known here") for field in sorted(unknown)]
    items = listed if isinstance(listed, list) else _one_by_one(listed)
    if not items:
        problems.append(Problem("Changes", "nothing is changed"))
    if len(items) > MOST_CHANGES:
        problems.append(Problem("Changes", f"{len(items)} changes; at most {MOST_CHANGES}"))
    changes = [
        change
        for number, item in enumerate(items[:MOST_CHANGES])
        if (change := _change(item, f"Changes[{number}]", problems)) is not None
    ]
    if problems:
        raise ScenarioProblems(problems)
    return Scenario(changes=tuple(changes))


def _one_by_one(document: object) -> list[object]:
    if isinstance(document, dict) and len(document) > 1 and document.keys() <= _READERS.keys():
        return [{name: inner} for name, inner in document.items()]
    return [document]


def _change(item: Any, path: str, problems: list[Problem]) -> ScenarioChange | None:
    at = _At(item, path, problems)
    known = [name for name in _READERS if name in at.document]
    if (isinstance(item, dict) and len(item) != 1) or (isinstance(item, dict) and not known):
        at.complain("", f"must have one of {', '.join(_READERS)}, and nothing else")
        return None
    if not known:
        return None
    before = len(problems)
    inner = at.nested(known[0])
    change = _READERS[known[0]](inner)
    return change if len(problems) == before else None


def _nodes(at: _At) -> NodeChoice:
    choice = NodeChoice(
        node_ids=at.texts("NodeIDs"),
        filter=at.text("Filter"),
        share=at.number("Share", 1, WHOLE, WHOLE),
    )
    if bool(choice.node_ids) == bool(choice.filter):
        at.complain("", "names nodes by NodeIDs or by Filter, one of them")
    if choice.filter:
        try:
            compile_filter(choice.filter)
        except OperationRefused as error:
            at.complain("Filter", plain_refusal(error))
    return choice


def plain_refusal(error: OperationRefused) -> str:
    """What is wrong with a filter, without the words of lists, which are read page by page."""
    return str(error).removeprefix(_OF_LIST).removeprefix(_OF_PAGE)


def _drain(at: _At) -> DrainNodes:
    nodes, at_once = _nodes(at), at.number("AtOnce", 0, MOST_AT_ONCE, 0)
    spec = at.nested("Spec")
    change = DrainNodes(
        nodes=nodes,
        deadline=spec.duration("Deadline"),
        ignore_system_jobs=bool(spec.flag("IgnoreSystemJobs")),
        at_once=at_once,
        close_first=bool(at.flag("CloseFirst")),
        paces=at.numbers("Paces", 0, MOST_AT_ONCE),
    )
    if len(change.paces) > MOST_PACES:
        at.complain("Paces", f"{len(change.paces)} paces; at most {MOST_PACES}")
    spec.close()
    at.close()
    return change


def _lose(at: _At) -> LoseNodes:
    change = LoseNodes(nodes=_nodes(at))
    at.close()
    return change


def _purge(at: _At) -> PurgeNodes:
    change = PurgeNodes(nodes=_nodes(at))
    at.close()
    return change


def _eligibility(at: _At) -> MarkNodes:
    wanted = at.text("Eligibility", needed=True)
    if wanted and wanted not in set(NodeEligibility):
        at.complain("Eligibility", "must be eligible or ineligible")
    nodes = _nodes(at)
    at.close()
    known = wanted in set(NodeEligibility)
    return MarkNodes(
        nodes=nodes,
        eligibility=NodeEligibility(wanted) if known else NodeEligibility.ELIGIBLE,
    )


def _add(at: _At) -> AddNodes:
    change = AddNodes(like=at.text("Like", needed=True), count=at.number("Count", 1, MOST_ADDED))
    at.close()
    return change


def _job(at: _At) -> RunJob | None:
    try:
        return RunJob(job=parse_job(at.document))
    except JobProblems as error:
        for problem in error.problems:
            at.complain(problem.path, problem.message)
        return None


def _key(at: _At) -> JobKey:
    return JobKey(at.text("Namespace") or DEFAULT_NAMESPACE, at.text("JobID", needed=True))


def _stop(at: _At) -> StopJob:
    change = StopJob(key=_key(at), purge=bool(at.flag("Purge")))
    at.close()
    return change


def _scale(at: _At) -> ScaleJob:
    count = at.number("Count", 0, 1_000_000)
    change = ScaleJob(key=_key(at), group=at.text("Group"), count=count)
    at.close()
    return change


def _dispatch(at: _At) -> DispatchJob:
    asked = Dispatch(
        payload=at.octets("Payload"),
        meta=at.texts_by_name("Meta"),
        id_prefix=at.text("IdPrefixTemplate"),
        priority=at.number("Priority", 0, HIGHEST_PRIORITY, 0),
    )
    change = DispatchJob(key=_key(at), asked=asked)
    at.close()
    return change


def _revert(at: _At) -> RevertJob:
    prior = None
    if at.has("EnforcePriorVersion"):
        prior = at.number("EnforcePriorVersion", 0, MOST_VERSION)
    change = RevertJob(
        key=_key(at),
        version=at.number("JobVersion", 0, MOST_VERSION),
        prior=prior,
        keeps_counts=bool(at.flag("KeepCounts")),
    )
    at.close()
    return change


def _settings(at: _At) -> ChangeSettings:
    algorithm = at.text("SchedulerAlgorithm") or None
    if algorithm is not None and algorithm not in set(SchedulerAlgorithm):
        at.complain("SchedulerAlgorithm", f"must be {' or '.join(SchedulerAlgorithm)}")
    preemption = at.nested("PreemptionConfig")
    change = ChangeSettings(
        algorithm=algorithm,
        service_preempts=preemption.flag("ServiceSchedulerEnabled"),
        batch_preempts=preemption.flag("BatchSchedulerEnabled"),
        memory_oversubscription=at.flag("MemoryOversubscriptionEnabled"),
    )
    preemption.close()
    at.close()
    if change == ChangeSettings():
        at.complain("", "changes nothing")
    return change


def _quota(at: _At) -> ChangeQuota:
    limits = at.nested("Limits")
    names = {wire_name(field): field for field in QuotaAmounts.__struct_fields__}
    given = {
        field: limits.number(name, -1, 2**53) for name, field in names.items() if limits.has(name)
    }
    if not given:
        at.complain("Limits", f"names none of {', '.join(names)}")
    limits.close()
    change = ChangeQuota(name=at.text("Name", needed=True), limits=given)
    at.close()
    return change


_READERS: dict[str, Callable[[_At], ScenarioChange | None]] = {
    "Drain": _drain,
    "Lose": _lose,
    "Add": _add,
    "Job": _job,
    "Stop": _stop,
    "Scale": _scale,
    "Dispatch": _dispatch,
    "Revert": _revert,
    "Settings": _settings,
    "Quota": _quota,
    "Eligibility": _eligibility,
    "Purge": _purge,
}
