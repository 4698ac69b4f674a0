"""What would help those that wait after a rehearsal: confirmed changes, with button or text.

In: a result as its reader may know it, the rows of the form. Out: lines, the best first. Every
number is of a rehearsal of its own; a change that the form can make leads there.
"""

from collections.abc import Callable, Sequence

import msgspec
from django.utils.translation import gettext, ngettext

from cluster.operations.unblock_changes import ChangeWord, UnblockChange
from cluster.rehearsal.result import Rehearsed, RehearsedHelp
from cluster.store.ports import RecordReader
from dashboard.queries.composed import AskedChange
from dashboard.queries.unblock import about_told, change_told, made_at
from dashboard.viewer import Viewer
from dashboard.wording import number
from scheduler.structs.identity import JobKey

GroupName = tuple[str, str, str]


class HelpLine(msgspec.Struct, frozen=True, kw_only=True):
    """One change that helps."""

    key: str
    told: str
    #: Of everything that waits, by it.
    fits: str
    is_whole: bool
    about: str = ""
    #: The form with this change as well; "" where the form cannot make it.
    try_url: str = ""
    #: Where it is made in earnest, and the word of that button; "" where there is none.
    url: str = ""
    verb: str = ""

    @property
    def text(self) -> str:
        """To be copied."""
        return f"{self.told}: {self.fits}"


def help_texts(result: Rehearsed) -> list[HelpLine]:
    """The lines without buttons, each change once."""
    return [
        HelpLine(
            key=f"help-{place}",
            told=change_told(each.change, each.task_group),
            fits=_fits(each.fits_in_all, each.waiting_in_all),
            is_whole=each.fits_in_all >= each.waiting_in_all,
        )
        for place, each in enumerate(_once(result.helps), 1)
    ]


def help_lines(
    reader: RecordReader,
    viewer: Viewer,
    result: Rehearsed,
    with_change: Callable[[AskedChange], str],
) -> list[HelpLine]:
    """The same with buttons; `with_change`: the address of the form with one more change."""
    lines = []
    for line, each in zip(help_texts(result), _once(result.helps), strict=True):
        row = _row(each)
        url, verb, post = made_at(viewer, JobKey(each.namespace, each.job_id), each.change)
        lines.append(
            msgspec.structs.replace(
                line,
                about=gettext("{group}: {fits} · {about}").format(
                    group=f"{each.job_id}.{each.task_group}",
                    fits=_fits(each.fits, each.waiting),
                    about=about_told(reader, each.change),
                ),
                try_url=with_change(row) if row is not None else "",
                url="" if post else url,
                verb="" if post else verb,
            )
        )
    return lines


def best_of_groups(result: Rehearsed) -> dict[GroupName, RehearsedHelp]:
    """By group, what lets most of it find a place."""
    best: dict[GroupName, RehearsedHelp] = {}
    for each in result.helps:
        name = each.namespace, each.job_id, each.task_group
        if name not in best or each.fits > best[name].fits:
            best[name] = each
    return best


def help_told(each: RehearsedHelp) -> str:
    """`Add 5 nodes like node-7: 31 of 31 fit`, of its group."""
    return gettext("{change}: {fits}").format(
        change=change_told(each.change, each.task_group), fits=_fits(each.fits, each.waiting)
    )


def help_sentence(result: Rehearsed) -> str:
    """What would help most, as the end of what is said of a rehearsal; "" where nothing would."""
    if not result.helps:
        return ""
    best = result.helps[0]
    return ngettext(
        "{change}, and {fits} of {waiting} finds a place.",
        "{change}, and {fits} of {waiting} find a place.",
        best.fits_in_all,
    ).format(
        change=change_told(best.change, best.task_group),
        fits=number(best.fits_in_all),
        waiting=number(best.waiting_in_all),
    )


def _fits(fits: int, waiting: int) -> str:
    return ngettext("{fits} of {waiting} fits", "{fits} of {waiting} fit", fits).format(
        fits=number(fits), waiting=number(waiting)
    )


def _once(helps: Sequence[RehearsedHelp]) -> list[RehearsedHelp]:
    """One change may have been found for several groups."""
    seen: list[tuple[UnblockChange, str]] = []
    once = []
    for each in helps:
        # What is changed of a job is another change for another job.
        is_of_job = each.change.change in _OF_JOBS
        name = each.change, f"{each.namespace} {each.job_id} {each.task_group}" * is_of_job
        if name not in seen:
            seen.append(name)
            once.append(each)
    return once


_OF_JOBS = frozenset({ChangeWord.ASK_LESS, ChangeWord.ADD_DATACENTER, ChangeWord.DROP_CONSTRAINT})


def _row(each: RehearsedHelp) -> AskedChange | None:
    """The row of the form that makes the change; None where the form has none."""
    change, limit = each.change, each.limit
    match change.change:
        case ChangeWord.ADD_NODE:
            return AskedChange("add", {"many": str(change.count), "like": change.node_name})
        case ChangeWord.SET_ELIGIBLE:
            return AskedChange("open", {"where": "name", "is": change.node_name})
        case ChangeWord.RAISE_QUOTA if not (change.count or limit.disk_mb):
            limits = {"memory": limit.memory_mb, "cpu": limit.cpu}
            given = {field: str(value) for field, value in limits.items() if value}
            return AskedChange("quota", {"quota": change.quota, **given})
        case _:
            return None
