"""What would unblock a group, in words: each confirmed change with its button, or text to copy.

In: the confirmed changes (`cluster.operations.unblock`), the viewer. Out: lines. Names of jobs
that the viewer may not read are left out; quantities stay.
"""

from urllib.parse import quote

import msgspec
from django.utils.translation import gettext, ngettext

from cluster.operations.unblock import UnblockAnswer, Unblocking, seen_by
from cluster.operations.unblock_changes import ChangeWord, UnblockChange
from cluster.page_addresses import job_edit_url, job_url
from cluster.store.ports import RecordReader
from dashboard.rights import NODE_WRITE
from dashboard.viewer import Viewer
from dashboard.wording import amount, constraint_subject, count_of, number, one_of
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.explanation import AskedAmounts
from scheduler.structs.identity import JobKey

#: Fields of amounts, how they are called, and their units.
_AMOUNTS = (("memory_mb", "memory", "MiB"), ("cpu", "CPU", "MHz"), ("disk_mb", "disk", "MiB"))


class AnswerLine(msgspec.Struct, frozen=True, kw_only=True):
    """One change that helps."""

    told: str
    about: str
    #: `3 of 3 fit`.
    fits: str
    is_whole: bool
    #: Of its button: where it leads or posts to, its word; "" where there is only text to copy.
    url: str = ""
    verb: str = ""
    #: Fields of a button that posts.
    post: dict[str, str] = {}


class UnblockView(msgspec.Struct, frozen=True, kw_only=True):
    """The panel, ready to be written."""

    index: int
    at: int
    waiting: int
    answers: tuple[AnswerLine, ...]
    in_vain: tuple[str, ...]
    untried: int


def unblock_view(
    reader: RecordReader, viewer: Viewer, evaluation: Evaluation, group: str, found: Unblocking
) -> UnblockView:
    """The lines, best first."""
    found = seen_by(found, reader, viewer.sees)
    return UnblockView(
        index=found.index,
        at=found.at,
        waiting=found.waiting,
        answers=tuple(
            _line(reader, viewer, evaluation, group, answer, found.waiting)
            for answer in found.answers
        ),
        in_vain=tuple(change_told(change, group) for change in found.in_vain),
        untried=found.untried,
    )


def change_told(change: UnblockChange, group: str) -> str:
    """What is to be done, as a person would say it."""
    name = change.node_name or change.node_id[:8]
    match change.change:
        case ChangeWord.SET_ELIGIBLE:
            return gettext("Set {name} eligible").format(name=name)
        case ChangeWord.CANCEL_DRAIN:
            return gettext("Cancel the drain of {name}").format(name=name)
        case ChangeWord.FREE:
            return gettext("Free {amounts} on {name}").format(
                amounts=_amounts(change.amounts), name=name
            )
        case ChangeWord.RAISE_QUOTA:
            more = [_amounts(change.amounts)] if _amounts(change.amounts) else []
            more += (
                [count_of(change.count, "{count} allocation", "{count} allocations")]
                if change.count
                else []
            )
            return gettext("Raise quota {quota} by {more}").format(
                quota=change.quota, more=gettext(" and ").join(more) or gettext("what is asked")
            )
        case ChangeWord.ASK_LESS:
            return _less_told(change)
        case ChangeWord.ADD_DATACENTER:
            return gettext("Allow datacenter {datacenter} as well").format(
                datacenter=change.datacenter
            )
        case ChangeWord.DROP_CONSTRAINT:
            return gettext("Drop the constraint on {subject}").format(
                subject=constraint_subject(change.constraint)
            )
        case ChangeWord.ADD_NODE:
            return _nodes_told(change, name)
        case ChangeWord.SCALE_DOWN:
            return gettext("Scale {group} to {count}").format(
                group=group, count=number(change.count)
            )


def _nodes_told(change: UnblockChange, name: str) -> str:
    of_class = (
        gettext(" of class {node_class}").format(node_class=change.node_class)
        if change.node_class
        else ""
    )
    if change.count > 1:
        return gettext("Add {count} nodes{of_class} like {name}").format(
            count=number(change.count), of_class=of_class, name=name
        )
    return gettext("Add one node{of_class} like {name}").format(of_class=of_class, name=name)


def _less_told(change: UnblockChange) -> str:
    for field, word, unit in _AMOUNTS:
        now, then = getattr(change.amounts, field), getattr(change.instead_of, field)
        if now != then:
            return gettext("Ask for {now} of {word} instead of {then}").format(
                now=amount(now, unit), word=word, then=number(then)
            )
    return gettext("Ask for less")


def _amounts(amounts: AskedAmounts) -> str:
    parts = [
        gettext("{value} of {word}").format(value=amount(value, unit), word=word)
        for field, word, unit in _AMOUNTS
        if (value := getattr(amounts, field)) > 0
    ]
    return one_of(parts, "and") if parts else ""


def _line(
    reader: RecordReader,
    viewer: Viewer,
    evaluation: Evaluation,
    group: str,
    answer: UnblockAnswer,
    waiting: int,
) -> AnswerLine:
    change = answer.change
    url, verb, post = made_at(viewer, evaluation.job_key, change)
    is_whole = answer.fits >= waiting
    fits = ngettext("{fits} of {waiting} fits", "{fits} of {waiting} fit", answer.fits).format(
        fits=number(answer.fits), waiting=number(waiting)
    )
    if change.change is ChangeWord.SCALE_DOWN:
        fits = gettext("none would wait")
    return AnswerLine(
        told=change_told(change, group),
        about=about_told(reader, change),
        fits=fits,
        is_whole=is_whole,
        url=url,
        verb=verb,
        post=post,
    )


def about_told(reader: RecordReader, change: UnblockChange) -> str:
    """What the change rests on."""
    match change.change:
        case ChangeWord.SET_ELIGIBLE | ChangeWord.CANCEL_DRAIN:
            return gettext("free there: {amounts}").format(
                amounts=_amounts(change.amounts) or "nothing"
            )
        case ChangeWord.FREE:
            return _example(reader, change)
        case ChangeWord.ADD_NODE:
            return gettext("with {amounts}, empty").format(amounts=_amounts(change.amounts))
        case ChangeWord.ADD_DATACENTER:
            return _more_asked(change)
        case ChangeWord.DROP_CONSTRAINT:
            # As the job file has it, to be found there.
            return f"{change.constraint}; {_more_asked(change)}"
        case ChangeWord.SCALE_DOWN:
            return gettext("those that wait are no longer asked for")
        case ChangeWord.ASK_LESS:
            return gettext("of each allocation, by its largest task; a new version of the job")
        case _:
            return gettext("all its namespaces share it")


def _more_asked(change: UnblockChange) -> str:
    return gettext("{more} would be asked").format(
        more=count_of(change.nodes, "{count} more node", "{count} more nodes")
    )


def _example(reader: RecordReader, change: UnblockChange) -> str:
    alloc = reader.allocation(change.alloc_id) if change.alloc_id else None
    if alloc is None:
        return gettext("no single allocation there that you may see holds as much")
    memory = sum(task.memory.memory_mb for task in alloc.allocated_resources.tasks.values())
    held = amount(memory, "MiB")
    return gettext("for example by the end of {alloc}, {held}, priority {job_priority}").format(
        alloc=alloc.name, held=held, job_priority=alloc.job_priority
    )


def made_at(viewer: Viewer, key: JobKey, change: UnblockChange) -> tuple[str, str, dict[str, str]]:
    """Where the change is made, by those who may; nothing for others."""
    may = viewer.may_in(key.namespace)
    match change.change:
        case ChangeWord.SET_ELIGIBLE if NODE_WRITE in viewer.may_with_nodes:
            url = f"/nodes/{change.node_id}/eligibility"
            return url, gettext("Set eligible"), {"eligibility": "eligible"}
        case ChangeWord.CANCEL_DRAIN:
            return f"/drains/{change.node_id}/", gettext("Open the drain"), {}
        case ChangeWord.RAISE_QUOTA if "quota" in viewer.opens:
            return f"/quotas/{quote(change.quota, safe='')}/", gettext("Open the quota"), {}
        case ChangeWord.FREE if change.alloc_id:
            return f"/allocations/{change.alloc_id}/", gettext("Open it"), {}
        case ChangeWord.SCALE_DOWN if "scale" in may:
            return f"{job_url(key)}#job-scale", "Scale", {}
        case ChangeWord.ASK_LESS | ChangeWord.ADD_DATACENTER | ChangeWord.DROP_CONSTRAINT if (
            "plan" in may
        ):
            return job_edit_url(key), gettext("Edit job"), {}
        case _:
            return "", "", {}
