"""What is said of a story first: how it stands, what it achieved, what it waits for.

In: StoryFacts, numbers only. Out: a standing and a sentence; each clause is one of the facts.
"""

import msgspec
from django.utils.translation import gettext, gettext_noop, ngettext

from dashboard.outcomes import OutcomeSentence
from dashboard.wording import clock_time, count_of, number, one_of, span
from dashboard.work_words import done_parts

RUNNING, HELD_UP, WAITS, PAUSED, DONE, FAILED, WENT_BACK, CANCELED, QUIET = (
    "running", "held-up", "waits", "paused", "done", "failed", "went-back", "canceled", "quiet",
)  # fmt: skip


class RolloutFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How far the deployment of a story is."""

    status: str
    version: int
    wanted: int
    healthy: int
    #: Canaries that are healthy and wait for a person.
    canaries_waiting: int = 0
    #: Allocations that did not become healthy, each try of a name by itself.
    unhealthy: int = 0
    #: Of batches that have begun the last, and how many there are; 0 where they are not counted.
    batch: int = 0
    batches: int = 0
    deadline: int = 0
    #: Who holds it while it is paused.
    paused_by: str = ""
    reverts: bool = False
    went_back: bool = False
    #: What is told is that of the version before, which was brought back.
    is_return: bool = False
    description: str = ""


class CrashFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How often what has one name failed, how the last one did, and what comes."""

    failed: int
    #: How the last that failed ended: `exit code 137`; empty where nobody said.
    last: str = ""
    #: When it is tried again, ns; 0: nothing waits for a time.
    next_at: int = 0
    #: One of them runs now.
    runs: bool = False
    #: One has a place and has not been started.
    starts: bool = False

    @property
    def has_given_up(self) -> bool:
        """It failed, and no further try is under way."""
        return bool(self.failed) and not (self.next_at or self.runs or self.starts)


class StoryFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that its sentence may say."""

    evaluations: int = 0
    #: Of these: queued, thought about, or waiting for a time.
    running: int = 0
    blocked: int = 0
    failed: int = 0
    #: What plans did, by its word.
    done: dict[str, int] = {}
    #: Every evaluation was read: what is not in `done` was not done.
    is_read: bool = False
    #: Of allocations that its evaluations placed how many are in which client status.
    placed: dict[str, int] = {}
    #: Of a drain: what is still on its nodes.
    left: int = 0
    #: It needs no evaluation: that it was asked for is all of it.
    is_act: bool = False
    #: Allocations that wait, and what most of them lack.
    waiting: int = 0
    lacking: str = ""
    jobs: int = 0
    began: int = 0
    #: When the last thing happened that is known; 0 while it is not over.
    ended: int = 0
    rollout: RolloutFacts | None = None
    crash: CrashFacts | None = None
    #: Nodes that still drain, of so many.
    draining: int = 0
    nodes: int = 0
    collected: int = 0
    is_drain: bool = False
    is_crash_loop: bool = False
    #: The record says that something of it is still to come.
    is_running: bool = False

    @property
    def is_open(self) -> bool:
        """Something of it still moves or waits."""
        moves = self.rollout is not None and self.rollout.status in (
            "running",
            "paused",
            "pending",
        )
        return bool(self.running or self.blocked or moves or self.draining or self.is_running)


def standing_of(facts: StoryFacts) -> str:
    """How it stands, in one word of `labels`."""
    rollout = facts.rollout
    if rollout is not None and rollout.status == "failed":
        return WENT_BACK if rollout.went_back else FAILED
    if rollout is not None and rollout.is_return and not facts.is_open:
        return WENT_BACK
    if rollout is not None and rollout.status == "paused":
        return PAUSED
    if facts.blocked:
        return HELD_UP
    if rollout is not None and rollout.canaries_waiting and rollout.status == "running":
        return WAITS
    if facts.is_open:
        return RUNNING
    if rollout is not None and rollout.status == "cancelled":
        return CANCELED
    if facts.failed or _gave_up(facts):
        return FAILED
    return DONE if facts.evaluations or facts.is_act else QUIET


def _gave_up(facts: StoryFacts) -> bool:
    """Of a crash loop that has ended, whether its last try failed too."""
    if facts.crash is not None:
        return facts.crash.has_given_up
    lives = any(facts.placed.get(status) for status in _LIVES)
    return facts.is_crash_loop and bool(facts.placed.get("failed")) and not lives


_LIVES = ("running", "pending", "unknown")


def outcome_of(facts: StoryFacts) -> OutcomeSentence:
    """The sentence of its page."""
    if facts.rollout is not None:
        return _rolled_out(facts, facts.rollout)
    if facts.crash is not None and facts.crash.failed:
        return _crashed(facts.crash)
    if not facts.evaluations:
        return OutcomeSentence(strong=_without_evaluations(facts))
    return OutcomeSentence(strong=f"{_strong(facts)}.", rest=_rest(facts))


def _without_evaluations(facts: StoryFacts) -> str:
    if not facts.is_open:
        return gettext("No evaluation was needed.")
    if facts.left:
        left = count_of(facts.left, "{count} is still to move", "{count} are still to move")
        return f"{_capital(left)}."
    return gettext("No evaluation has been needed yet.")


def short_outcome(facts: StoryFacts) -> OutcomeSentence:
    """The same in a row of a list, which has a column for how long it took."""
    told = outcome_of(msgspec.structs.replace(facts, ended=0))
    return OutcomeSentence(strong=told.strong.rstrip(".:"), rest=told.rest.rstrip("."))


def _crashed(crash: CrashFacts) -> OutcomeSentence:
    strong = count_of(crash.failed, "Failed {count} time", "Failed {count} times")
    if crash.last:
        strong = gettext("{failed}, last with {code}").format(failed=strong, code=crash.last)
    if crash.next_at:
        rest = gettext("It is tried again at {time}.").format(time=clock_time(crash.next_at))
    elif crash.runs:
        rest = gettext("The newest one runs.")
    elif crash.starts:
        rest = gettext("A new one is to be started.")
    else:
        rest = gettext("No further try is under way.")
    return OutcomeSentence(strong=f"{strong}.", rest=rest)


def _strong(facts: StoryFacts) -> str:
    if parts := _parts_told(facts):
        return _capital(one_of(parts, "and"))
    if facts.running:
        return count_of(
            facts.running, "{count} evaluation is on the way", "{count} evaluations are on the way"
        )
    if facts.failed:
        return ngettext(
            "{failed} of {count} evaluation failed",
            "{failed} of {count} evaluations failed",
            facts.evaluations,
        ).format(failed=number(facts.failed), count=number(facts.evaluations))
    if facts.collected:
        return _collected(facts)
    if facts.is_read:
        return gettext("Nothing had to change")
    if facts.evaluations == 1:
        return gettext("Its evaluation has ended")
    return gettext("All {count} evaluations have ended").format(count=number(facts.evaluations))


def _parts_told(facts: StoryFacts) -> list[str]:
    """What was done and what waits, as far as evaluations that are kept say it."""
    waits = _waits(facts)
    return [*(done_parts(facts.done) or _placed(facts)), *([waits] if waits else [])]


def _placed(facts: StoryFacts) -> list[str]:
    """How what it placed fares, and what a drain has still to move."""
    told = [
        gettext(words).format(count=number(facts.placed[status]))
        for status, words in _FARE
        if facts.placed.get(status)
    ]
    if facts.left:
        told.append(count_of(facts.left, "{count} is still to move", "{count} are still to move"))
    return told


#: By client status.
_FARE = (
    ("running", gettext_noop("{count} placed and running")),
    ("pending", gettext_noop("{count} placed and about to start")),
    ("complete", gettext_noop("{count} placed and finished")),
    ("failed", gettext_noop("{count} placed and failed")),
    ("lost", gettext_noop("{count} placed and lost")),
    ("unknown", gettext_noop("{count} placed and out of reach")),
)


def _collected(facts: StoryFacts) -> str:
    """What is left of it are stubs, in whole or in part."""
    if facts.collected < facts.evaluations:
        return gettext("{collected} of {count} evaluations were collected").format(
            collected=number(facts.collected), count=number(facts.evaluations)
        )
    if facts.evaluations == 1:
        return gettext("Its evaluation was collected")
    return gettext("All {count} evaluations were collected").format(
        count=number(facts.evaluations)
    )


def _rest(facts: StoryFacts) -> str:
    parts = []
    if facts.jobs > 1:
        parts.append(
            gettext("{jobs} in {evaluations}.").format(
                jobs=count_of(facts.jobs, "{count} job", "{count} jobs"),
                evaluations=count_of(
                    facts.evaluations, "{count} evaluation", "{count} evaluations"
                ),
            )
        )
    if facts.is_drain and facts.draining:
        told = ngettext(
            "{draining} of {count} node still drain.",
            "{draining} of {count} nodes still drain.",
            facts.nodes,
        )
        parts.append(told.format(draining=number(facts.draining), count=number(facts.nodes)))
    if facts.running and (facts.done or facts.waiting or facts.blocked):
        parts.append(
            count_of(
                facts.running,
                "{count} evaluation is on the way.",
                "{count} evaluations are on the way.",
            )
        )
    if facts.failed and (facts.done or facts.waiting or facts.blocked or facts.running):
        parts.append(
            count_of(facts.failed, "{count} evaluation failed.", "{count} evaluations failed.")
        )
    if facts.collected and _parts_told(facts):
        parts.append(
            ngettext(
                "What {collected} of {count} evaluation did is not counted: it was collected.",
                "What {collected} of {count} evaluations did is not counted: they were collected.",
                facts.evaluations,
            ).format(collected=number(facts.collected), count=number(facts.evaluations))
        )
    if facts.ended and facts.ended > facts.began and not facts.is_open:
        told = gettext("It was over after {time}.")
        parts.append(told.format(time=span(facts.ended - facts.began)))
    return " ".join(parts)


def _waits(facts: StoryFacts) -> str:
    if facts.waiting:
        told = ngettext("{count} waits for {what}", "{count} wait for {what}", facts.waiting)
        what = facts.lacking or gettext("room")
        return told.format(count=number(facts.waiting), what=what)
    if facts.blocked:
        return count_of(
            facts.blocked,
            "{count} evaluation waits for room",
            "{count} evaluations wait for room",
        )
    return ""


def _rolled_out(facts: StoryFacts, rollout: RolloutFacts) -> OutcomeSentence:
    healthy = gettext("{count} of {wanted}").format(
        count=number(rollout.healthy), wanted=number(rollout.wanted)
    )
    if rollout.status in ("failed", "successful", "cancelled"):
        return _over(facts, rollout, healthy)
    if rollout.status == "paused":
        strong = (
            gettext("Paused by {who}: {healthy} run v{version}.")
            if rollout.paused_by
            else gettext("Paused: {healthy} run v{version}.")
        ).format(who=rollout.paused_by, healthy=healthy, version=rollout.version)
        return OutcomeSentence(strong=strong, rest=gettext("A person goes on with it."))
    waits = _waits(facts)
    if rollout.canaries_waiting and not waits:
        strong = count_of(
            rollout.canaries_waiting,
            "{count} healthy canary waits to be promoted.",
            "{count} healthy canaries wait to be promoted.",
        )
        return OutcomeSentence(strong=_capital(strong))
    if not waits and rollout.unhealthy:
        strong = gettext("{healthy} run v{version} and {unhealthy} did not become healthy.")
    elif not waits:
        strong = gettext("{healthy} run v{version}.")
    elif rollout.batches > 1:
        strong = gettext(
            "Held up at batch {batch} of {batches}: {healthy} run v{version} and {waits}."
        )
    else:
        strong = gettext("Held up: {healthy} run v{version} and {waits}.")
    strong = strong.format(
        healthy=healthy, version=rollout.version, waits=waits, batch=rollout.batch,
        batches=rollout.batches, unhealthy=number(rollout.unhealthy),
    )  # fmt: skip
    if not rollout.deadline:
        return OutcomeSentence(strong=strong)
    due = (
        gettext("Without progress by {time} it goes back.")
        if rollout.reverts
        else gettext("Without progress by {time} it fails.")
    )
    return OutcomeSentence(strong=strong, rest=due.format(time=clock_time(rollout.deadline)))


def _over(facts: StoryFacts, rollout: RolloutFacts, healthy: str) -> OutcomeSentence:
    if rollout.status == "failed":
        strong = (
            gettext("Failed and went back: {healthy} became healthy.")
            if rollout.went_back
            else gettext("Failed: {healthy} became healthy.")
        )
        reason = rollout.description.partition(" - ")[0]
        rest = f"{reason}." if reason else ""
        return OutcomeSentence(strong=strong.format(healthy=healthy), rest=rest)
    if rollout.status == "cancelled":
        return OutcomeSentence(
            strong=gettext("Canceled: {healthy} became healthy.").format(healthy=healthy),
            rest=_sentence(rollout.description),
        )
    if rollout.is_return:
        strong = gettext("Failed and went back: {healthy} run v{version}.")
    elif facts.ended:
        strong = gettext("Done: {healthy} run v{version} after {time}.")
    else:
        strong = gettext("Done: {healthy} run v{version}.")
    took = span(facts.ended - facts.began)
    return OutcomeSentence(
        strong=strong.format(healthy=healthy, version=rollout.version, time=took)
    )


def _sentence(text: str) -> str:
    return f"{_capital(text).rstrip('.')}." if text else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
