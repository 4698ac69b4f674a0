import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.graphs import machine
from dashboard.graphs.lifecycle import (
    STATE_OF,
    TERMINAL,
    Bar,
    EvaluationLife,
    LifeRow,
    MadeEvaluation,
    current_state,
    life_bars,
    life_rows,
    lifecycle_graph,
)
from dashboard.graphs.lifecycle_map import lifecycle_map
from dashboard.graphs.svg import node_svg
from scheduler.structs.evaluation import LifecycleStep, Step

MS = 1_000_000
EVAL_ID = "3f2a91c4-7d0e-4b52-a6f1-08c2e9b7d314"
CHILD_ID = "b81d07e3-0000-4b52-a6f1-08c2e9b7d314"


def steps(*named):
    return tuple(
        LifecycleStep(eval_id=EVAL_ID, number=number, step=step, at=at * MS, **fields)
        for number, (step, at, fields) in enumerate(named, 1)
    )


def partial_placement():
    return EvaluationLife(
        eval_id=EVAL_ID,
        trigger="job-scaling",
        event=("Scale", "api 3 → 8"),
        steps=steps(
            (Step.CREATED, 1000, {"actor": "kim"}),
            (Step.ENQUEUED, 1000, {"reason": "3 ahead"}),
            (Step.DEQUEUED, 1012, {"actor": "worker-2"}),
            (Step.PLAN_SUBMITTED, 1057, {"actor": "applier"}),
            (Step.PLAN_ANSWERED, 1075, {"nodes": ("n2",), "reason": "1 node rejected"}),
            (Step.COMPLETE, 1173, {"reason": "4 of 5 placed"}),
        ),
        made=(MadeEvaluation(id=CHILD_ID, trigger="queued-allocs", at=1167 * MS),),
    )


def test_rows_number_the_states_and_what_was_made_in_order_of_time():
    assert life_rows(partial_placement()) == (
        LifeRow(
            number=1, state="pending", at=1000 * MS, duration_ns=12 * MS, actor="kim",
            reason="3 ahead",
        ),
        LifeRow(number=2, state="scheduling", at=1012 * MS, duration_ns=45 * MS, actor="worker-2"),
        LifeRow(number=3, state="applying", at=1057 * MS, duration_ns=18 * MS, actor="applier"),
        LifeRow(
            number=4, state="scheduling", at=1075 * MS, duration_ns=98 * MS, nodes=("n2",),
            reason="1 node rejected",
        ),
        LifeRow(
            number=5, state="blocked", at=1167 * MS, duration_ns=0, reason="made", made=CHILD_ID,
            trigger="queued-allocs",
        ),
        LifeRow(number=6, state="complete", at=1173 * MS, duration_ns=0, reason="4 of 5 placed"),
    )  # fmt: skip


def test_what_a_step_does_not_say_itself_is_told_of_the_newest_of_its_kind():
    life = EvaluationLife(
        eval_id=EVAL_ID,
        trigger="x",
        steps=steps(
            (Step.CREATED, 0, {}), (Step.DEQUEUED, 1, {}), (Step.PLAN_SUBMITTED, 2, {}),
            (Step.PLAN_ANSWERED, 3, {"nodes": ("n1", "n2")}), (Step.PLAN_SUBMITTED, 4, {}),
            (Step.PLAN_ANSWERED, 5, {}), (Step.COMPLETE, 6, {}),
        ),
        told={Step.DEQUEUED: "saw", Step.PLAN_SUBMITTED: "asked", Step.COMPLETE: "did"},
    )  # fmt: skip
    assert [row.reason for row in life_rows(life)] == [
        "", "saw", "", "2 nodes rejected", "asked", "committed", "did",
    ]  # fmt: skip


def test_taken_arrows_carry_the_row_numbers():
    graph = lifecycle_graph(partial_placement())
    assert {edge.key for edge in graph.edges if edge.path == "taken"} == {
        "event-pending", "pending-scheduling", "scheduling-applying", "applying-scheduling",
        "scheduling-complete", "scheduling-blocked-queued-allocs",
    }  # fmt: skip
    assert {disc.key.rpartition(":")[0]: disc.text for disc in graph.discs} == {
        "event-pending": "1",
        "pending-scheduling": "2",
        "scheduling-applying": "3",
        "applying-scheduling": "4",
        "scheduling-complete": "6",
        "scheduling-blocked-queued-allocs": "5",
    }
    assert [node.key for node in graph.nodes if node.state == "possible"] == [
        "delayed", "canceled", "failed", "deleted",
    ]  # fmt: skip


def test_only_an_open_state_pulses():
    ended = lifecycle_graph(partial_placement())
    assert [node.key for node in ended.nodes if node.is_current] == []
    running = EvaluationLife(
        eval_id=EVAL_ID,
        trigger="job-register",
        steps=steps((Step.CREATED, 0, {}), (Step.DEQUEUED, 5, {})),
    )
    assert [node.key for node in lifecycle_graph(running).nodes if node.is_current] == [
        "scheduling"
    ]
    assert current_state(running) == "scheduling"


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        pytest.param(
            ((Step.CREATED, 0, {}), (Step.DEQUEUED, 1, {}), (Step.NACKED, 2, {}),
             (Step.DELAYED, 2, {}), (Step.ENQUEUED, 8, {}), (Step.DEQUEUED, 9, {})),
            {"event-pending", "pending-scheduling", "scheduling-delayed", "delayed-pending"},
            id="handed-back-waits-and-runs-again",
        ),
        pytest.param(
            ((Step.CREATED, 0, {}), (Step.DEQUEUED, 1, {}), (Step.NACKED, 2, {}),
             (Step.ENQUEUED, 2, {}), (Step.DEQUEUED, 3, {})),
            {"event-pending", "pending-scheduling", "scheduling-pending"},
            id="handed-back-and-ready-at-once",
        ),
        pytest.param(
            ((Step.CREATED, 0, {}), (Step.DELAYED, 1, {}), (Step.CANCELED, 2, {})),
            {"event-pending", "pending-delayed", "delayed-pending", "pending-canceled"},
            id="a-step-that-nobody-wrote-is-passed",
        ),
        pytest.param(
            ((Step.BLOCKED, 0, {}), (Step.UNBLOCKED, 5, {}), (Step.DEQUEUED, 6, {}),
             (Step.BLOCKED, 7, {}), (Step.CANCELED, 9, {})),
            {"event-blocked", "blocked-scheduling", "scheduling-blocked", "blocked-canceled"},
            id="made-blocked-finds-no-room-again",
        ),
        pytest.param(
            ((Step.CREATED, 0, {}), (Step.CANCELED, 3, {}), (Step.DELETED, 9, {})),
            {"event-pending", "pending-canceled", "canceled-deleted"},
            id="superseded-while-queued-then-collected",
        ),
        pytest.param(
            ((Step.CREATED, 0, {}), (Step.COMPLETE, 3, {})),
            {"event-pending", "pending-complete"},
            id="its-job-was-purged",
        ),
    ],
)  # fmt: skip
def test_path_follows_the_real_machine(named, expected):
    graph = lifecycle_graph(EvaluationLife(eval_id=EVAL_ID, trigger="x", steps=steps(*named)))
    assert {edge.key for edge in graph.edges if edge.path == "taken"} == expected


def test_an_evaluation_that_waits_for_its_time_keeps_every_number():
    graph = lifecycle_graph(
        EvaluationLife(
            eval_id=EVAL_ID,
            trigger="alloc-reschedule",
            steps=steps(
                (Step.CREATED, 0, {}), (Step.DELAYED, 0, {}), (Step.ENQUEUED, 30, {}),
                (Step.DEQUEUED, 31, {}), (Step.PLAN_SUBMITTED, 32, {}),
                (Step.PLAN_ANSWERED, 33, {}), (Step.COMPLETE, 34, {}),
            ),
        )
    )  # fmt: skip
    numbers = {disc.text: disc.key.rpartition(":")[0] for disc in graph.discs}
    assert sorted(numbers) == list("1234567")
    assert numbers["3"] == "delayed-pending"
    (label,) = next(edge.labels for edge in graph.edges if edge.key == "delayed-pending")
    assert label.text == "time is up"


#: None but the last of these ends a life.
STEP_NAMES = st.sampled_from(
    [step for step in Step if STATE_OF.get(step, "") not in TERMINAL and step is not Step.CREATED]
)
ENDS = st.sampled_from([Step.COMPLETE, Step.FAILED, Step.CANCELED])


@given(st.lists(STEP_NAMES, max_size=12), ENDS)
def test_every_row_of_any_life_has_its_number_in_the_drawing(names, end):
    names = [Step.CREATED, *names, end, Step.DELETED]
    life = EvaluationLife(
        eval_id=EVAL_ID,
        trigger="job-register",
        steps=steps(*((name, at, {}) for at, name in enumerate(names))),
    )
    graph = lifecycle_graph(life)
    drawn = {int(disc.text) for disc in graph.discs}
    left_out = {row.number for row in life_rows(life)} - drawn
    # Of an arrow that was taken often the first two numbers and the last are drawn.
    often = [disc for disc in graph.discs if disc.key.endswith(":2")]
    assert not left_out or often
    assert min(drawn) == 1


def test_a_long_trigger_is_told_in_two_lines_and_what_is_cut_in_a_title():
    def event_of(trigger):
        life = EvaluationLife(eval_id=EVAL_ID, trigger=trigger, steps=())
        return lifecycle_graph(life).nodes[0]

    told = [line.text for line in event_of("alloc-reschedule").lines if line.role == "sub"]
    assert told == ["alloc-", "reschedule"]
    assert "<title>" not in node_svg(event_of("alloc-reschedule"))
    cut = event_of("somebody-elses-very-own-trigger")
    assert "<title>Cluster event, somebody-elses-very-own-trigger</title>" in node_svg(cut)


def test_many_passes_show_the_first_two_numbers_and_the_last():
    passes = [(Step.CREATED, 0, {}), (Step.DEQUEUED, 1, {})]
    for place in range(6):
        passes += [
            (Step.PLAN_SUBMITTED, 2 + 2 * place, {}),
            (Step.PLAN_ANSWERED, 3 + 2 * place, {}),
        ]
    graph = lifecycle_graph(EvaluationLife(eval_id=EVAL_ID, trigger="x", steps=steps(*passes)))
    shown = [disc.text for disc in graph.discs if disc.key.startswith("scheduling-applying")]
    assert shown == ["3", "5", "13"]


def test_a_life_without_steps_shows_the_stored_status():
    graph = lifecycle_graph(
        EvaluationLife(eval_id=EVAL_ID, trigger="x", steps=(), status="blocked")
    )
    assert [node.key for node in graph.nodes if node.is_current] == ["blocked"]


def test_bars_share_one_axis_and_the_last_grows_with_the_clock():
    life = EvaluationLife(
        eval_id=EVAL_ID, trigger="x", steps=steps((Step.CREATED, 0, {}), (Step.DEQUEUED, 25, {}))
    )
    assert life_bars(life_rows(life), 100 * MS) == (
        Bar(1, "pending", 0.0, 25.0),
        Bar(2, "scheduling", 25.0, 75.0),
    )
    assert life_bars((), 5) == ()


def test_every_state_and_arrow_of_the_machine_is_drawn_once():
    keys = [arrow.key for arrow in machine.ARROWS]
    assert len(keys) == len(set(keys))
    ends = {end for arrow in machine.ARROWS for end in (arrow.source, arrow.target)}
    assert ends == {*machine.PLACES, machine.EVENT}
    assert set(machine.NEW_BY_TRIGGER.values()) <= set(keys)
    # What the record's rules forbid (evaluations.md 3.1).
    assert not {"failed-scheduling", "scheduling-canceled", "failed-complete"} & set(keys)


def test_the_map_counts_states_and_marks_busy_arrows():
    graph = lifecycle_map({"complete": 1208, "scheduling": 1}, {"scheduling-complete": 41})
    by_key = {node.key: node for node in graph.nodes}
    assert by_key["complete"].lines[-1].text == "1\u202f208"
    assert by_key["complete"].name == "complete: 1\u202f208 evaluations"
    assert [key for key, node in by_key.items() if node.is_current] == ["scheduling"]
    assert [(edge.key, edge.labels[-1].flow) for edge in graph.edges if edge.path == "hot"] == [
        ("scheduling-complete", "41")
    ]
