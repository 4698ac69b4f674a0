"""A job text before it is run: every problem, every warning, and what running it would do.

In: the text of an editor, the record. Out: a Draft (what the text says), and a Review of the plan.
Nothing is stored here.
"""

import re
from collections.abc import Iterable

import msgspec
from django.conf import settings
from django.utils.translation import gettext
from msgspec.structs import replace

from cluster.jobspec.left_out import dropped_fields, parts_left_out
from cluster.jobspec.parse import MAX_TEXT, ParsedText, parse_text
from cluster.jobspec.problems import JobProblems, Problem
from cluster.jobspec.request_form import path_steps
from cluster.operations.admission import (
    JobRefused,
    check_transition,
    place_problems,
    warnings_of_reference,
)
from cluster.operations.errors import OperationRefused, TooLarge
from cluster.operations.job_plan import PlannedJob, PlannedPlacement, plan_job
from cluster.operations.jobs import MAX_SUBMISSION
from cluster.store.ports import RecordReader
from dashboard.graphs.placement import placement_view, reach_below
from dashboard.outcomes import placed_by
from dashboard.queries.differences import DiffLine, diff_lines
from dashboard.queries.submission_words import GroupChange, sentence, sentence_of_child
from dashboard.wording import natural
from scheduler.access.caller import Caller
from scheduler.ports import IDSource, Snapshot
from scheduler.structs.allocation import Allocation
from scheduler.structs.job import Job, JobType
from scheduler.structs.node import NodeStatus
from scheduler.structs.plan_annotations import DesiredUpdates

#: Placements told one by one; the rest is counted.
MAX_PLACEMENTS = 40
_GLOBAL = "global"
#: How a message of the HCL reader begins: file, line and columns.
_PLACE = re.compile(r"^\S+:\d+,\d+(-\d+)?(,\d+)?: ")

#: Field of DesiredUpdates, kind of label, in the order people ask.
_CHANGES = (
    ("place", "place"),
    ("in_place_update", "in-place"),
    ("destructive_update", "replace"),
    ("stop", "stop"),
    ("migrate", "migrate"),
    ("canary", "canary"),
    ("preemptions", "preempt"),
    ("reschedule_later", "later"),
    ("disconnect", "cut-off"),
    ("reconnect", "back"),
    ("ignore", "ignore"),
)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A problem or warning as the editor shows it."""

    message: str
    severity: str
    path: str = ""
    line: int | None = None
    column: int | None = None


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """What a text says. `job` is None when it cannot be read."""

    findings: tuple[Finding, ...]
    job: Job | None = None
    format: str = ""
    #: HTTP status for a text that cannot be planned; 200 for one that can.
    status: int = 200

    @property
    def problems(self) -> tuple[Finding, ...]:
        """What keeps it from running."""
        return tuple(each for each in self.findings if each.severity == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What its author should know."""
        return tuple(each for each in self.findings if each.severity == "warning")


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """A dry run, ready to be shown."""

    groups: tuple[GroupChange, ...]
    placements: tuple[PlannedPlacement, ...]
    more_placements: int
    stops: tuple[tuple[str, str, str], ...]
    lines: tuple[DiffLine, ...]
    job_modify_index: int
    index: int
    unplaced: int
    placed: int
    is_new: bool
    is_unchanged: bool
    strong: str
    rest: str

    @property
    def has_bars(self) -> bool:
        """Whether any of the scores is not 0."""
        return any(placement.norm_score for placement in self.placements)

    @property
    def has_below(self) -> bool:
        """Whether any of the scores is below 0."""
        return reach_below(placement.norm_score for placement in self.placements)


def read_text(text: str, variables: str = "") -> tuple[Draft, ParsedText | None]:
    """Everything the text itself says; needs no record."""
    if len(text.encode()) > MAX_TEXT:
        told = Finding(message=gettext("The job is larger than 1 MiB."), severity="error")
        return Draft(findings=(told,), status=TooLarge.status), None
    if not text.strip():
        told = Finding(
            message=gettext("The job file is empty. Start from an example."), severity="error"
        )
        return Draft(findings=(told,), status=400), None
    try:
        parsed = parse_text(text, variables)
    except JobProblems as refused:
        return Draft(findings=_findings(refused.problems, "error"), status=400), None
    warnings = [*_findings(parsed.warnings, "warning")]
    size = len(text.encode()) + len(variables.encode())
    if size > MAX_SUBMISSION:
        warnings.append(
            Finding(
                message=gettext(
                    "The text is longer than {max_submission:.0f} MB: the job is taken, but "
                    "its text is not kept."
                ).format(max_submission=MAX_SUBMISSION / 1000000.0),
                severity="warning",
            )
        )
    job = parsed.job
    if job.region in {"", _GLOBAL}:
        job = replace(job, region=settings.BIVOUAC_REGION)
    findings = (*_findings(parsed.problems(), "error"), *warnings)
    return Draft(findings=findings, job=job, format=parsed.format), parsed


def judge(
    reader: RecordReader, draft: Draft, parsed: ParsedText | None, *, may_use: bool = True
) -> Draft:
    """The draft with what only the record knows: namespace, pool, region, drivers, settings."""
    job = draft.job
    if job is None or parsed is None:
        return draft
    wrong = list(place_problems(reader, job))
    if job.region != settings.BIVOUAC_REGION:
        wrong.append(
            Problem(
                "Region",
                gettext('there is no path to region "{region}"').format(region=job.region),
            )
        )
    if not may_use and not wrong:
        wrong.append(
            Problem(
                "Namespace",
                gettext('you may not run jobs in namespace "{namespace}"').format(
                    namespace=job.namespace
                ),
            )
        )
    placed = [
        Finding(message=each.message, severity="error", path=each.path, line=line, column=column)
        for each in wrong
        for line, column in [parsed.place_of(path_steps(each.path))]
    ]
    told = [
        Finding(message=each, severity="warning") for each in warnings_of_reference(reader, job)
    ]
    told += _left_out(job, parsed)
    told += _driver_warnings(reader, job, parsed)
    findings = (*placed, *draft.problems, *draft.warnings, *told)
    status = 400 if any(each.severity == "error" for each in findings) else 200
    return replace(draft, findings=findings, status=status)


def review(snapshot: Snapshot, job: Job, *, by: Caller, now: int, ids: IDSource) -> Review:
    """What running the job would do now. Raises `OperationRefused`."""
    check_transition(snapshot.job(job.key), job)
    planned = plan_job(snapshot, job, by=by, now=now, ids=ids)
    names = {node.id: node.name for node in snapshot.nodes()}
    groups = tuple(
        _group_change(job.type, name, updates, planned, names)
        for name, updates in sorted(_updates(planned, job).items())
    )
    unplaced = sum(group.unplaced for group in groups)
    strong, rest = sentence(planned, groups, unplaced)
    if job.is_periodic or job.is_parameterized:
        strong, rest = sentence_of_child(job, len(planned.placements), unplaced)
    return Review(
        groups=groups,
        placements=tuple(sorted(planned.placements, key=_in_turn)[:MAX_PLACEMENTS]),
        more_placements=max(len(planned.placements) - MAX_PLACEMENTS, 0),
        stops=tuple(
            (alloc.id, alloc.name, names.get(alloc.node_id) or alloc.node_name)
            for alloc in sorted(planned.stops, key=_in_turn)[:MAX_PLACEMENTS]
        ),
        lines=diff_lines(planned.diff),
        job_modify_index=planned.job_modify_index,
        index=planned.index,
        unplaced=unplaced,
        placed=len(planned.placements),
        is_new=planned.job_modify_index == 0,
        is_unchanged=planned.diff.type == "None",
        strong=strong,
        rest=rest,
    )


def _in_turn(named: PlannedPlacement | Allocation) -> tuple[tuple[int, int, str], ...]:
    return natural(named.name)


def refusal_findings(refused: OperationRefused) -> tuple[Finding, ...]:
    """Why an operation took nothing, each reason for itself."""
    if isinstance(refused, JobRefused):
        return _findings(refused.problems, "error")
    return (Finding(message=str(refused), severity="error"),)


def _updates(planned: PlannedJob, job: Job) -> dict[str, DesiredUpdates]:
    stated = dict(planned.annotations.desired_updates)
    for name in planned.failed_task_groups:
        stated.setdefault(name, DesiredUpdates())
    for group in job.task_groups:
        stated.setdefault(group.name, DesiredUpdates())
    return stated


def _group_change(
    job_type: str, name: str, updates: DesiredUpdates, planned: PlannedJob, names: dict[str, str]
) -> GroupChange:
    metric = planned.failed_task_groups.get(name)
    unplaced = metric.coalesced_failures + 1 if metric is not None else 0
    if job_type == JobType.SYSTEM:
        made = sum(placement.task_group == name for placement in planned.placements)
        updates = _of_system(updates, made)
    else:
        # The scheduler counts as placed what it wanted to place.
        updates = _without(updates, unplaced)
    return GroupChange(
        name=name,
        changes=tuple(
            (kind, count) for field, kind in _CHANGES if (count := getattr(updates, field))
        ),
        unplaced=unplaced,
        why=placement_view(metric, names) if metric is not None else None,
    )


def _of_system(updates: DesiredUpdates, made: int) -> DesiredUpdates:
    """What a system job's plan does now; it counts as replaced whatever differs, also later ones.

    Among its placements it counts whatever is on a node, and its canaries among those it replaces.
    """
    fresh = min(max(placed_by(updates, JobType.SYSTEM), 0), made)
    replaced = min(made - fresh, updates.destructive_update)
    return replace(
        updates,
        place=made - replaced,
        canary=0,
        destructive_update=replaced,
        stop=updates.stop + updates.migrate,
        migrate=0,
        reschedule_later=updates.reschedule_later + updates.destructive_update - replaced,
    )


def _without(updates: DesiredUpdates, unplaced: int) -> DesiredUpdates:
    """What is left when so many find no place; what is stopped anyway stays counted."""
    left = {}
    for field in ("place", "canary", "destructive_update", "migrate"):
        count = getattr(updates, field)
        left[field] = max(count - unplaced, 0)
        unplaced = max(unplaced - count, 0)
    return replace(updates, **left)


def _left_out(job: Job, parsed: ParsedText) -> list[Finding]:
    """What the job asks for in vain, each at its place in the text and in the text's order."""
    told = [
        Finding(
            message=part.sentence, severity="warning", path=part.path, line=line, column=column
        )
        for part in (*parts_left_out(job), *dropped_fields(parsed.form))
        for line, column in [parsed.place_of(path_steps(part.path))]
    ]
    return sorted(told, key=lambda each: (each.line or 0, each.column or 0))


def _driver_warnings(reader: RecordReader, job: Job, parsed: ParsedText) -> list[Finding]:
    ready = [node for node in reader.nodes() if node.status is NodeStatus.READY]
    if not ready:
        return [
            Finding(message=gettext("No node is ready: the job would wait."), severity="warning")
        ]
    there = {name for node in ready for name, info in node.drivers.items() if info.detected}
    told = []
    for position, group in enumerate(job.task_groups):
        for place, task in enumerate(group.tasks):
            if not task.driver or task.driver in there:
                continue
            path = f"TaskGroups[{position}].Tasks[{place}].Driver"
            line, column = parsed.place_of(path_steps(path))
            told.append(
                Finding(
                    message=gettext(
                        'No node has the driver "{driver}": task "{task}" would wait. Drivers '
                        "here: {there}."
                    ).format(
                        driver=task.driver,
                        task=task.name,
                        there=", ".join(sorted(there)) or "none",
                    ),
                    severity="warning",
                    path=path,
                    line=line,
                    column=column,
                )
            )
    return told


def _findings(problems: Iterable[Problem], severity: str) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            # The place is told beside the message, as a link into the text.
            message=_PLACE.sub("", problem.message.strip())
            if problem.line
            else problem.message.strip(),
            severity=severity,
            path=problem.path,
            line=problem.line,
            column=problem.column,
        )
        for problem in problems
    )
