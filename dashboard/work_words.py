"""What sets evaluations going and what their plans do, in words.

In: triggers and counts by their keys. Out: words.
"""

from collections.abc import Mapping

from django.utils.translation import gettext, gettext_noop

from dashboard.wording import number, one_of
from scheduler.structs.evaluation import EvalTrigger

#: What each trigger means, for people.
TRIGGER_WORDS: dict[str, str] = {
    EvalTrigger.JOB_REGISTER: gettext_noop("a job was registered or changed"),
    EvalTrigger.JOB_DEREGISTER: gettext_noop("a job was stopped or purged"),
    EvalTrigger.PERIODIC_JOB: gettext_noop("a periodic job was launched"),
    EvalTrigger.NODE_DRAIN: gettext_noop("a node drains: its allocations move"),
    EvalTrigger.NODE_UPDATE: gettext_noop("a node joined, left, or changed its status"),
    EvalTrigger.ALLOC_STOP: gettext_noop("somebody stopped an allocation"),
    EvalTrigger.SCHEDULED: gettext_noop("its time had come"),
    EvalTrigger.ROLLING_UPDATE: gettext_noop("the next batch of a staggered system job"),
    EvalTrigger.DEPLOYMENT_WATCHER: gettext_noop("a deployment took its next step"),
    EvalTrigger.FAILED_FOLLOW_UP: gettext_noop("an evaluation failed; this one tries again later"),
    EvalTrigger.MAX_PLAN_ATTEMPTS: gettext_noop(
        "plans were refused too often; this one waits for room"
    ),
    EvalTrigger.ALLOC_FAILURE: gettext_noop("an allocation failed"),
    EvalTrigger.QUEUED_ALLOCS: gettext_noop(
        "not everything could be placed; this one waits for room"
    ),
    EvalTrigger.PREEMPTION: gettext_noop(
        "its allocations had to make room for a more important job"
    ),
    EvalTrigger.JOB_SCALING: gettext_noop("somebody changed the count of a group"),
    EvalTrigger.MAX_DISCONNECT_TIMEOUT: gettext_noop(
        "a disconnected node was waited for long enough"
    ),
    EvalTrigger.RECONNECT: gettext_noop("a disconnected node came back"),
    EvalTrigger.ALLOC_RESCHEDULE: gettext_noop("a failed allocation is replaced after its delay"),
}


#: Of an evaluation that found everything as it should be.
NOTHING = gettext_noop("nothing had to change")


#: What found places: all of it, a part of it.
PLACED = (gettext_noop("{count} placed"), gettext_noop("{count} of {of} placed"))


REPLACED = (gettext_noop("{count} replaced"), gettext_noop("{count} of {of} replaced"))


STEPWISE = (
    gettext_noop("{count} to replace step by step"),
    gettext_noop("{count} of {of} to replace step by step"),
)


MOVED = (gettext_noop("{count} moved"), gettext_noop("{count} of {of} moved"))


#: The rest of a plan, in the order in which it is told.
OTHERS = (
    gettext_noop("{count} updated in place"),
    gettext_noop("{count} stopped"),
    gettext_noop("{count} of other jobs preempted"),
    gettext_noop("{count} to be replaced later"),
    gettext_noop("{count} left on a disconnected node"),
    gettext_noop("{count} reconnected"),
)


#: By the key of `done_by`, what plans of a story did.
_DONE = {
    "placed": PLACED[0],
    "replaced": REPLACED[0],
    "moved": MOVED[0],
    "updated": gettext_noop("{count} updated"),
    "stopped": gettext_noop("{count} stopped"),
    "preempted": gettext_noop("{count} preempted"),
}


def trigger_told(trigger: str) -> str:
    """What a trigger means; empty for one that is not known."""
    return gettext(TRIGGER_WORDS.get(trigger, ""))


def done_told(done: Mapping[str, int]) -> str:
    """`3 placed, 1 stopped`, of what `done_by` counted: the label of a drawing."""
    return ", ".join(done_parts(done))


def done_list(done: Mapping[str, int]) -> str:
    """`3 placed, 2 moved and 1 stopped`: the same within a sentence; empty where nothing was."""
    parts = done_parts(done)
    return one_of(parts, "and") if parts else ""


def done_sentence(done: Mapping[str, int]) -> str:
    """`3 placed and 1 stopped.`, or nothing."""
    told = done_list(done)
    return f"{told}." if told else ""


def done_parts(done: Mapping[str, int]) -> list[str]:
    """`3 placed`, `1 stopped`."""
    return [
        gettext(_DONE[key]).format(count=number(count))
        if key in _DONE
        else f"{number(count)} {key}"
        for key, count in done.items()
    ]
