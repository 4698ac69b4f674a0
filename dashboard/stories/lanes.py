"""The lanes of a story's drawing: phases of a rollout, or degrees of harm, worst hurt first.

In: a gathered story and, of a rollout, its phases. Out: lanes for `graphs.story`, and what the
table of phases says of each.
"""

from collections.abc import Mapping, Sequence
from operator import attrgetter

import msgspec
from django.utils.translation import gettext, gettext_noop

from dashboard.graphs.chain_places import ChainMember
from dashboard.graphs.story_lanes import LaneEvent, StoryLane
from dashboard.stories.phase import RolloutPhase
from dashboard.wording import clock_time, count_of, number, span
from dashboard.work_words import done_sentence
from dashboard.work_words import done_told as words_of
from scheduler.structs.allocation import Allocation

_MOVES = ("applying", "scheduling", "pending", "delayed")
_AGE = attrgetter("created_at", "id")
#: How badly a job is off, worst first: the word of a lane, by what a story is about.
HARM: Mapping[str, Mapping[str, str]] = {
    "drain": {
        "failed": gettext_noop("Failed"),
        "blocked": gettext_noop("Held up"),
        "moving": gettext_noop("On the way"),
        "over": gettext_noop("Taken over"),
        "done": gettext_noop("Settled"),
    },
    "": {
        "failed": gettext_noop("Failed"),
        "blocked": gettext_noop("Wait for room"),
        "moving": gettext_noop("On the way"),
        "over": gettext_noop("Taken over"),
        "done": gettext_noop("Settled"),
    },
}
_TONES = {"failed": "failed", "blocked": "blocked"}


class LaneRow(msgspec.Struct, frozen=True, kw_only=True):
    """A lane as a row of the table under the drawing."""

    title: str
    state: str
    evaluations: int
    #: That of its lane.
    key: str = ""
    jobs: int = 0
    wanted: int = 0
    healthy: int = 0
    began: int = 0
    took: int = 0
    is_running: bool = False
    #: In sentences.
    told: str = ""
    #: The newest allocation of each name that took several, and how many.
    again: tuple[tuple[Allocation, int], ...] = ()


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """Lanes with their rows, in one order."""

    lanes: tuple[StoryLane, ...]
    rows: tuple[LaneRow, ...]


def rollout_lanes(
    phases: Sequence[RolloutPhase], members: Sequence[ChainMember], event: LaneEvent, now: int
) -> Told:
    """A lane for each phase; an evaluation is in the last one that had begun when it was made."""
    begun = _in_turn([phase for phase in phases if not phase.is_to_come])
    of_phase: dict[str, list[ChainMember]] = {phase.key: [] for phase in phases}
    for member in members:
        earlier = [phase for phase in begun if phase.since <= member.created_at] or begun[:1]
        of_phase[(earlier[-1] if earlier else phases[0]).key].append(member)
    lanes, rows = [], []
    for place, phase in enumerate(phases):
        inside = tuple(of_phase[phase.key])
        following = next((each.began for each in phases[place + 1 :] if each.began), 0)
        row = _phase_row(phase, inside, following, now)
        rows.append(row)
        is_first = place == 0
        lanes.append(
            StoryLane(
                key=phase.key,
                title=phase.title,
                subs=_phase_subs(phase, row),
                tone=phase.tone or _tone(inside),
                members=inside,
                event=event if is_first else _event(phase),
                expects=phase.expects,
            )
        )
    return Told(lanes=tuple(lanes), rows=tuple(rows))


def _in_turn(begun: Sequence[RolloutPhase]) -> list[RolloutPhase]:
    """Each begins after the one before: what promotes also places the first batch."""
    turned: list[RolloutPhase] = []
    for phase in begun:
        floor = turned[-1].since + 1 if turned else 0
        turned.append(msgspec.structs.replace(phase, since=max(phase.since, floor)))
    return turned


def _event(phase: RolloutPhase) -> LaneEvent | None:
    if not phase.event:
        return None
    return LaneEvent(
        lines=phase.event, name=gettext("Event: {event}").format(event=" ".join(phase.event))
    )


def _phase_row(
    phase: RolloutPhase, inside: Sequence[ChainMember], following: int, now: int
) -> LaneRow:
    blocked = sum(member.state == "blocked" for member in inside)
    moves = any(member.state in _MOVES for member in inside)
    is_whole = phase.wanted == 0 or phase.healthy >= phase.wanted
    if phase.is_to_come and not inside:
        state = "to-come"
    elif phase.tone == "failed":
        state = "failed"
    elif blocked:
        state = "held-up"
    else:
        state = "done" if is_whole and not moves else "running"
    ended = phase.whole_at if phase.wanted else following
    is_running = state in ("running", "held-up")
    took = max((now if is_running else ended) - phase.began, 0) if phase.began else 0
    return LaneRow(
        key=phase.key, title=phase.title, state=state, evaluations=len(inside),
        wanted=phase.wanted, healthy=phase.healthy, began=phase.began, took=took,
        is_running=is_running, told=_phase_told(phase, inside, blocked), again=phase.again,
    )  # fmt: skip


def _phase_told(phase: RolloutPhase, inside: Sequence[ChainMember], blocked: int) -> str:
    """What happened in it, in sentences."""
    waits = count_of(blocked, "{count} evaluation waits.", "{count} evaluations wait.")
    if phase.is_to_come:
        return f"{waits} {phase.begins}" if blocked else phase.begins
    is_whole = phase.wanted and phase.healthy >= phase.wanted
    is_first_try = phase.is_known and is_whole and not phase.again
    return " ".join(
        part
        for part in (
            _opened_told(phase),
            waits if blocked else "",
            done_sentence(work_of(inside)),
            "" if inside or not phase.is_known else gettext("Placed with the phase before."),
            gettext("Each became healthy at the first try.") if is_first_try else "",
            ""
            if phase.is_known
            else gettext("What it placed is a later version's, or collected."),
            *phase.notes,
        )
        if part
    )


def _opened_told(phase: RolloutPhase) -> str:
    if not phase.event:
        return ""
    if phase.by:
        told = gettext("Failed by {by}.") if phase.tone else gettext("Promoted by {by}.")
        return told.format(by=phase.by)
    return gettext("The rollout failed.") if phase.tone else gettext("Promoted.")


def _phase_subs(phase: RolloutPhase, row: LaneRow) -> tuple[str, ...]:
    if phase.is_to_come and row.state == "to-come":
        return (
            (gettext("{wanted} to come").format(wanted=number(phase.wanted)),)
            if phase.wanted
            else (gettext("to come"),)
        )
    subs = [gettext("by {by}").format(by=phase.by)] if phase.by else []
    if phase.wanted:
        subs.append(
            gettext("{healthy} of {wanted} healthy").format(
                healthy=number(phase.healthy), wanted=number(phase.wanted)
            )
        )
    elif phase.began:
        subs.append(clock_time(phase.began))
    if row.state == "held-up":
        subs.append(gettext("held up"))
    elif row.took and not row.is_running and phase.wanted:
        subs.append(span(row.took))
    return tuple(subs)


def harm_lanes(kind: str, members: Sequence[ChainMember]) -> Told:
    """A lane for each degree of harm, and in it a row for each job."""
    words = {degree: gettext(word) for degree, word in HARM.get(kind, HARM[""]).items()}
    by_job: dict[str, list[ChainMember]] = {}
    for member in members:
        by_job.setdefault(member.job, []).append(member)
    lanes: dict[str, list[ChainMember]] = {key: [] for key in words}
    jobs: dict[str, int] = dict.fromkeys(words, 0)
    for own in by_job.values():
        degree = degree_of(own)
        lanes[degree] += own
        jobs[degree] += 1
    drawn, rows = [], []
    for degree, inside in lanes.items():
        if not inside:
            continue
        subs = [count_of(jobs[degree], "{count} job", "{count} jobs"), done_told(inside)]
        drawn.append(
            StoryLane(
                key=degree, title=words[degree], subs=tuple(sub for sub in subs if sub),
                tone=_TONES.get(degree, ""), members=tuple(inside), is_by_job=True,
            )
        )  # fmt: skip
        rows.append(
            LaneRow(
                key=degree,
                title=words[degree],
                state=_STATES[degree],
                evaluations=len(inside),
                jobs=jobs[degree],
                is_running=degree in ("blocked", "moving"),
                told=" ".join(
                    filter(
                        None,
                        (
                            done_sentence(work_of(inside)),
                            gettext(_TOLD[degree]) if degree in _TOLD else "",
                        ),
                    )
                ),
            )
        )
    return Told(lanes=tuple(drawn), rows=tuple(rows))


_STATES = {
    "failed": "failed", "blocked": "held-up", "moving": "running", "over": "canceled",
    "done": "done",
}  # fmt: skip
#: What is said of a lane beside what was done in it.
_TOLD = {"over": gettext_noop("Newer evaluations of other stories do what was left.")}


def degree_of(members: Sequence[ChainMember]) -> str:
    """How badly one job is off: what waits for room, else what moves, else how the last ended.

    What was canceled last is not settled: a newer evaluation does its work, and may wait with it.
    """
    states = {member.state for member in members}
    if "blocked" in states:
        return "blocked"
    if not states.isdisjoint(_MOVES):
        return "moving"
    last = max(members, key=_AGE)
    return {"failed": "failed", "canceled": "over"}.get(last.state, "done")


def done_told(members: Sequence[ChainMember]) -> str:
    """What plans of these did, summed up in the few words of a drawing."""
    return words_of(work_of(members))


def work_of(members: Sequence[ChainMember]) -> dict[str, int]:
    """What plans of these did, by its word."""
    done: dict[str, int] = {}
    for member in members:
        for word, count in member.work.items():
            done[word] = done.get(word, 0) + count
    return done


def _tone(members: Sequence[ChainMember]) -> str:
    states = {member.state for member in members}
    return "blocked" if "blocked" in states else ""
