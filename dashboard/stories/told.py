"""What is said of a story first: how it stands, what it achieved, what it waits for.

In: StoryFacts, numbers only. Out: a standing and a sentence; each clause is one of the facts.
"""

import msgspec

from dashboard.outcomes import OutcomeSentence
from dashboard.wording import clock_time, count_of, number, span

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
    #: Of batches that have begun the last, and how many there are; 0 where they are not counted.
    batch: int = 0
    batches: int = 0
    deadline: int = 0
    #: Who holds it while it is paused.
    paused_by: str = ""
    reverts: bool = False
    went_back: bool = False
    description: str = ""


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
    #: Allocations that wait, and what most of them lack.
    waiting: int = 0
    lacking: str = ""
    jobs: int = 0
    began: int = 0
    #: When the last thing happened that is known; 0 while it is not over.
    ended: int = 0
    rollout: RolloutFacts | None = None
    #: Nodes that still drain, of so many.
    draining: int = 0
    nodes: int = 0
    collected: int = 0
    is_drain: bool = False
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
    if facts.failed:
        return FAILED
    return DONE if facts.evaluations else QUIET


def outcome_of(facts: StoryFacts) -> OutcomeSentence:
    """The sentence of its page."""
    if facts.rollout is not None:
        return _rolled_out(facts, facts.rollout)
    if not facts.evaluations:
        return OutcomeSentence(strong="No evaluation was needed.")
    return OutcomeSentence(strong=f"{_strong(facts)}.", rest=_rest(facts))


def short_outcome(facts: StoryFacts) -> OutcomeSentence:
    """The same in a row of a list, which has a column for how long it took."""
    told = outcome_of(msgspec.structs.replace(facts, ended=0))
    return OutcomeSentence(strong=told.strong.rstrip(".:"), rest=told.rest.rstrip("."))


def _strong(facts: StoryFacts) -> str:
    done = ", ".join(f"{number(count)} {word}" for word, count in facts.done.items())
    waits = _waits(facts)
    parts = [part for part in (done, waits) if part]
    if parts:
        return _capital(", ".join(parts))
    if facts.running:
        return f"{count_of(facts.running, 'evaluation is', 'evaluations are')} on the way"
    if facts.failed:
        return f"{number(facts.failed)} of {count_of(facts.evaluations, 'evaluation')} failed"
    if facts.collected:
        return f"{count_of(facts.evaluations, 'evaluation')}, {number(facts.collected)} collected"
    if facts.is_read:
        return "Nothing had to change"
    if facts.evaluations == 1:
        return "1 evaluation, which has ended"
    return f"{count_of(facts.evaluations, 'evaluation')}, all ended"


def _rest(facts: StoryFacts) -> str:
    parts = []
    if facts.jobs > 1:
        parts.append(
            f"{count_of(facts.jobs, 'job')} in {count_of(facts.evaluations, 'evaluation')}."
        )
    if facts.is_drain and facts.draining:
        parts.append(f"{number(facts.draining)} of {count_of(facts.nodes, 'node')} still drain.")
    if facts.running and (facts.done or facts.waiting or facts.blocked):
        parts.append(f"{count_of(facts.running, 'evaluation is', 'evaluations are')} on the way.")
    if facts.failed and (facts.done or facts.waiting or facts.blocked or facts.running):
        parts.append(f"{count_of(facts.failed, 'evaluation')} failed.")
    if facts.ended and facts.ended > facts.began and not facts.is_open:
        parts.append(f"It was over after {span(facts.ended - facts.began)}.")
    return " ".join(parts)


def _waits(facts: StoryFacts) -> str:
    if facts.waiting:
        told = count_of(facts.waiting, "waits", "wait")
        return f"{told} for {facts.lacking or 'room'}"
    if facts.blocked:
        return f"{count_of(facts.blocked, 'evaluation waits', 'evaluations wait')} for room"
    return ""


def _rolled_out(facts: StoryFacts, rollout: RolloutFacts) -> OutcomeSentence:
    version = f"v{rollout.version}"
    healthy = f"{number(rollout.healthy)} of {number(rollout.wanted)}"
    waits = _waits(facts)
    match rollout.status:
        case "failed":
            strong = "Failed and went back" if rollout.went_back else "Failed"
            reason = rollout.description.partition(" - ")[0]
            return OutcomeSentence(
                strong=f"{strong}: {healthy} became healthy.",
                rest=f"{reason}." if reason else "",
            )
        case "successful":
            after = f" after {span(facts.ended - facts.began)}" if facts.ended else ""
            return OutcomeSentence(strong=f"Done: {healthy} run {version}{after}.")
        case "cancelled":
            return OutcomeSentence(
                strong=f"Canceled: {healthy} became healthy.",
                rest=_sentence(rollout.description),
            )
        case "paused":
            by = f" by {rollout.paused_by}" if rollout.paused_by else ""
            return OutcomeSentence(
                strong=f"Paused{by}: {healthy} run {version}.", rest="A person goes on with it."
            )
    if rollout.canaries_waiting and not waits:
        healthy_ones = count_of(
            rollout.canaries_waiting, "healthy canary waits", "healthy canaries wait"
        )
        return OutcomeSentence(strong=f"{_capital(healthy_ones)} to be promoted.")
    at = f" at batch {rollout.batch} of {rollout.batches}" if rollout.batches > 1 else ""
    strong = f"{healthy} run {version}"
    if waits:
        strong = f"Held up{at}: {strong}, {waits}"
    due = ""
    if rollout.deadline:
        what = "goes back" if rollout.reverts else "fails"
        due = f"Without progress by {clock_time(rollout.deadline)} it {what}."
    return OutcomeSentence(strong=f"{strong}.", rest=due)


def _sentence(text: str) -> str:
    return f"{_capital(text).rstrip('.')}." if text else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
