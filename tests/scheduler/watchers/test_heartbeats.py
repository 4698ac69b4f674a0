"""Silent nodes; numbers are rows of control-plane.md 16.6."""

import pytest
from msgspec.structs import replace

from scheduler.commands import MarkNodeUnresponsive
from scheduler.state.events import EventFrame, StateEvent, Topic, WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.moment import Moment
from scheduler.structs.node import Node, NodeEligibility, NodeStatus
from scheduler.watchers.heartbeats import Heartbeats
from tests.builders import SECOND, SOME_MOMENT, make_node

A, B = make_node(1), make_node(2)


class Clinic:
    """A watcher with its store and clock."""

    def __init__(self, *nodes: Node) -> None:
        self.store = MemoryStateStore()
        self.store.write(
            WriteKind.NODE_REGISTRATION,
            lambda change: [put_found(change, node) for node in nodes],
            now=SOME_MOMENT,
        )
        self.watcher = Heartbeats()
        self.watcher.restore(self.store, Moment(SOME_MOMENT, 0.0))
        self.watcher.hear({}, monotonic=0.0)

    def at(self, monotonic: float, now: int = SOME_MOMENT) -> list[str]:
        """The nodes reported at a moment, having looked each second until then."""
        return [
            command.node_id
            for command in self.watcher.tick(self.store, Moment(now, monotonic))
            if isinstance(command, MarkNodeUnresponsive)
        ]

    def until(self, start: int, end: int) -> list[tuple[int, str]]:
        return [(second, node) for second in range(start, end) for node in self.at(second)]

    def live_through(self, *, end: int, silence: range = range(0)) -> list[tuple[int, str]]:
        """A listener gives a sign each second but in the silence, in which no node is heard.

        B beats each 8 seconds, A never.
        """
        reported, signs = [], 0
        for second in range(1, end):
            beats = {}
            if second not in silence:
                signs += 1
                beats = {A.id: (SOME_MOMENT, 10 * SECOND)}
                beats[B.id] = (SOME_MOMENT + second // 8, 12 * SECOND)
            self.watcher.hear(beats, {"web": signs}, monotonic=float(second))
            reported += [(second, node) for node in self.at(second)]
        return reported

    def see(self, node: Node, monotonic: float, kind: str = WriteKind.NODE_REGISTRATION) -> None:
        event = StateEvent(topic=Topic.NODE, key=node.id, value=node)
        frame = EventFrame(index=9, kind=kind, at=SOME_MOMENT, events=(event,))
        self.watcher.observe(frame, Moment(SOME_MOMENT, monotonic))


def test_n02_after_a_failover_every_node_that_is_not_down_gets_long() -> None:
    clinic = Clinic(A, make_node(2, status=NodeStatus.DOWN))
    assert clinic.until(1, 301) == [(300, A.id)]


def test_a_silent_node_is_reported_after_ttl_and_grace() -> None:
    clinic = Clinic(A)
    clinic.watcher.hear({A.id: (SOME_MOMENT, 12 * SECOND)}, monotonic=100.0)
    assert clinic.until(100, 123) == [(122, A.id)]


def test_between_two_looks_it_neither_looks_nor_puts_the_next_one_off() -> None:
    clinic = Clinic(A)
    clinic.watcher.hear({A.id: (SOME_MOMENT, 12 * SECOND)}, monotonic=1.0)
    due = []
    for tenth in range(10, 31):
        moment = Moment(SOME_MOMENT, tenth / 10)
        due += [tenth] if clinic.watcher.is_due(moment) else []
        clinic.watcher.tick(clinic.store, moment)
    assert due == [10, 20, 30]


def test_a_beat_starts_the_time_anew_and_the_same_beat_does_not() -> None:
    clinic = Clinic(A)
    for second, beat in ((0, 1), (10, 2), (20, 2)):
        clinic.watcher.hear({A.id: (SOME_MOMENT + beat, 10 * SECOND)}, monotonic=float(second))
    assert clinic.until(1, 31) == [(30, A.id)]


def test_a_jump_of_the_wall_clock_expires_nothing() -> None:
    clinic = Clinic(A)
    clinic.watcher.hear({A.id: (SOME_MOMENT, 10 * SECOND)}, monotonic=1.0)
    assert clinic.at(2, now=SOME_MOMENT + 10**18) == []
    clinic.watcher.hear({A.id: (SOME_MOMENT - 10**18, 10 * SECOND)}, monotonic=15.0)
    assert clinic.until(3, 35) == []
    assert clinic.until(35, 36) == [(35, A.id)]


def test_beats_from_before_the_failover_are_no_sign_of_life() -> None:
    clinic = Clinic(A)
    clinic.watcher.restore(clinic.store, Moment(SOME_MOMENT, 0.0))
    clinic.watcher.hear({A.id: (SOME_MOMENT, 10 * SECOND)}, monotonic=0.0)
    assert clinic.until(1, 301) == [(300, A.id)]


def test_a_node_that_could_not_be_marked_is_reported_again() -> None:
    clinic = Clinic(A)
    assert clinic.until(296, 311) == [(300, A.id), (305, A.id), (310, A.id)]


def test_a_node_that_went_down_is_left_alone_until_it_returns() -> None:
    clinic = Clinic(A, B)
    clinic.see(make_node(1, status=NodeStatus.DOWN), 10.0)
    assert clinic.until(296, 301) == [(300, B.id)]
    clinic.see(make_node(1, status=NodeStatus.INITIALIZING), 301.0)
    assert clinic.until(301, 332)[-1] == (331, A.id)


@pytest.mark.parametrize(
    ("node", "kind", "is_armed_anew"),
    [
        pytest.param(A, WriteKind.NODE_REGISTRATION, True, id="registration"),
        pytest.param(
            make_node(1, status=NodeStatus.DISCONNECTED),
            WriteKind.NODE_STREAM_EVENT,
            True,
            id="written-status",
        ),
        pytest.param(
            make_node(1, scheduling_eligibility=NodeEligibility.INELIGIBLE),
            WriteKind.PLAN_RESULT,
            False,
            id="other-writes",
        ),
    ],
)
def test_what_starts_the_timer(node: Node, kind: str, *, is_armed_anew: bool) -> None:
    clinic = Clinic(A)
    clinic.see(node, 10.0, kind)
    assert bool(clinic.until(10, 41)) is is_armed_anew


def test_a_leader_that_slept_blames_no_node() -> None:
    clinic = Clinic(A)
    clinic.at(1)
    assert clinic.at(1000) == []
    clinic.watcher.hear({A.id: (SOME_MOMENT, 10 * SECOND)}, monotonic=1001.0)
    assert clinic.until(1001, 1021) == []
    assert clinic.at(1021) == [A.id]


def test_while_somebody_listens_a_dead_node_is_reported_in_time() -> None:
    assert Clinic(A, B).live_through(end=25) == [(21, A.id)]


@pytest.mark.parametrize(
    ("silence", "reported"),
    [
        pytest.param(range(4, 6), [(21, A.id)], id="shorter-than-counts"),
        pytest.param(range(4, 9), [(29, A.id)], id="of-seconds"),
        pytest.param(range(15, 90), [(110, A.id)], id="longer-than-ttl-and-grace"),
        pytest.param(range(18, 618), [(638, A.id)], id="of-ten-minutes"),
    ],
)
def test_a_silence_of_all_listeners_gives_each_node_its_whole_time_again(
    silence: range, reported: list[tuple[int, str]]
) -> None:
    end = reported[0][0] + 5
    assert Clinic(A, B).live_through(end=end, silence=silence) == reported


def test_a_silence_does_not_shorten_the_time_of_a_failover() -> None:
    clinic = Clinic(A)
    signs = [1] * 20 + [2] * 290
    reported = []
    for second, count in enumerate(signs):
        clinic.watcher.hear({}, {"web": count}, monotonic=float(second))
        reported += [second for _ in clinic.at(second) if second < 300]
    assert reported == []


def test_n01_in_a_large_fleet_the_unknown_ttl_grows() -> None:
    clinic = Clinic(*(make_node(number) for number in range(1, 1002)))
    clinic.watcher.hear({A.id: (SOME_MOMENT, 0)}, monotonic=0.0)
    assert clinic.until(1, 52) == [(51, A.id)]


def test_looks_that_follow_each_other_are_one_and_a_return_keeps_it_open() -> None:
    clinic = Clinic(A, B)

    def names(*seconds: float) -> list[str]:
        return [
            command.look
            for second in seconds
            for command in clinic.watcher.tick(
                clinic.store, Moment(SOME_MOMENT + int(second * SECOND), second)
            )
            if isinstance(command, MarkNodeUnresponsive)
        ]

    quiet = [float(second) for second in range(1, 300)]
    assert names(*quiet) == []
    # Both in one look; each is told again until it is written down, for an hour at most.
    told = names(*map(float, range(301, 4_000)))
    assert len(set(told[:1_200])) == 1
    assert len(set(told)) == 2
    for node in (A, B):
        clinic.see(replace(node, status=NodeStatus.DOWN, status_updated_at=1), 4_000.0)
    assert names(*map(float, range(4_001, 4_050))) == []
    # One comes back within the minute, and falls silent again: it flaps.
    clinic.see(replace(A, status=NodeStatus.READY, status_updated_at=2), 4_050.0)
    assert set(names(*map(float, range(4_051, 4_110)))) == {told[-1]}
    clinic.see(replace(A, status=NodeStatus.DOWN, status_updated_at=3), 4_110.0)
    assert names(*map(float, range(4_111, 4_300))) == []
    clinic.see(replace(A, status=NodeStatus.READY, status_updated_at=4), 4_300.0)
    clinic.see(replace(A, status=NodeStatus.READY, status_updated_at=4), 4_400.0)
    later = set(names(*map(float, range(4_401, 4_500))))
    assert len(later) == 1
    assert later.isdisjoint(told)


def test_without_nodes_nothing_is_looked_at() -> None:
    assert Clinic().watcher.next_deadline(Moment(SOME_MOMENT, 5.0)) is None
    clinic = Clinic(A)
    assert clinic.watcher.next_deadline(Moment(SOME_MOMENT, 0.5)) == 1.0


def test_the_leader_looks_at_the_moment_a_node_is_due_but_not_again_and_again() -> None:
    clinic = Clinic(A)
    clinic.watcher.hear({A.id: (SOME_MOMENT, SECOND // 2)}, {"web": 1}, monotonic=0.0)
    clinic.at(10.0)
    assert clinic.watcher.next_deadline(Moment(SOME_MOMENT, 10.2)) == 10.5
    assert clinic.at(10.5) == []
    assert clinic.watcher.next_deadline(Moment(SOME_MOMENT, 10.6)) == 11.5
