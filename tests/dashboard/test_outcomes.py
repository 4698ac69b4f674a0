"""The sentence about an evaluation."""

import pytest

from dashboard.outcomes import outcome_of, short_outcome, told_of
from dashboard.why_waiting import why_it_waits, why_waiting
from dashboard.work_words import TRIGGER_WORDS
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.evaluation import EvalStatus, EvalTrigger, Step
from scheduler.structs.explanation import AskedAmounts, NearestNode
from scheduler.structs.plan_annotations import DesiredUpdates, PlanAnnotations
from tests.builders import SOME_MOMENT, make_allocation, make_evaluation

MEMORY = {"web": AllocMetric(nodes_evaluated=4, dimension_exhausted={"memory": 4})}


def annotated(**updates):
    return PlanAnnotations(desired_updates={"web": DesiredUpdates(**updates)})


@pytest.mark.parametrize(
    ("fields", "placed", "strong", "rest", "short"),
    [
        pytest.param(
            {"status": EvalStatus.COMPLETE, "queued_allocations": {"web": 1},
             "failed_task_groups": MEMORY},
            0, "Complete: 0 of 1 placed.", "1 waits: memory is exhausted on 4 nodes.",
            "0 of 1 placed, 1 waits: memory is exhausted on 4 nodes", id="nothing-placed",
        ),
        pytest.param(
            {"status": EvalStatus.COMPLETE, "queued_allocations": {"web": 1},
             "failed_task_groups": MEMORY, "plan_annotations": annotated(place=3)},
            2, "Complete: 2 of 3 placed.", "1 waits: memory is exhausted on 4 nodes.",
            "2 of 3 placed, 1 waits: memory is exhausted on 4 nodes", id="part-of-it-placed",
        ),
        pytest.param(
            {"status": EvalStatus.COMPLETE, "queued_allocations": {"web": 1},
             "failed_task_groups": MEMORY, "plan_annotations": annotated(migrate=2)},
            1, "Complete: 1 of 2 moved.", "1 waits: memory is exhausted on 4 nodes.",
            "1 of 2 moved, 1 waits: memory is exhausted on 4 nodes", id="part-of-it-moved",
        ),
        pytest.param(
            {"status": EvalStatus.COMPLETE,
             "plan_annotations": annotated(place=1, canary=1, destructive_update=2, migrate=1,
                                           in_place_update=3, stop=4)},
            5, "Complete: 2 placed, 2 replaced, 1 moved, 3 updated in place and 4 stopped.", "",
            "2 placed, 2 replaced, 1 moved, 3 updated in place, 4 stopped", id="all-of-it",
        ),
        pytest.param(
            {"status": EvalStatus.COMPLETE, "plan_annotations": annotated(place=6)}, 0,
            "Complete: 6 placed.", "", "6 placed", id="its-allocations-are-collected",
        ),
        pytest.param(
            {"status": EvalStatus.COMPLETE, "type": "system",
             "plan_annotations": annotated(place=5, ignore=4)}, 1,
            "Complete: 1 placed.", "", "1 placed", id="system-counts-what-is-in-place",
        ),
        pytest.param(
            {"status": EvalStatus.COMPLETE}, 0, "Complete: nothing had to change.", "",
            "nothing had to change", id="no-op",
        ),
        pytest.param(
            {"status": EvalStatus.COMPLETE, "plan_annotations": annotated(stop=2)}, 0,
            "Complete: 2 stopped.", "", "2 stopped", id="only-stops",
        ),
        pytest.param(
            {"status": EvalStatus.COMPLETE,
             "plan_annotations": annotated(preemptions=1, reschedule_later=2, disconnect=3,
                                           reconnect=4)}, 0,
            "Complete: 1 of other jobs preempted, 2 to be replaced later, "
            "3 left on a disconnected node and 4 reconnected.", "",
            "1 of other jobs preempted, 2 to be replaced later, 3 left on a disconnected node, "
            "4 reconnected", id="whatever-else-a-plan-does",
        ),
        pytest.param(
            {"status": EvalStatus.COMPLETE, "type": "system",
             "plan_annotations": annotated(place=5, ignore=2, in_place_update=3)}, 0,
            "Complete: 3 updated in place.", "", "3 updated in place",
            id="system-updates-are-not-placements",
        ),
        pytest.param(
            {"status": EvalStatus.COMPLETE, "type": "system", "queued_allocations": {"web": 1},
             "failed_task_groups": MEMORY, "plan_annotations": annotated(place=2)}, 2,
            "Complete: 2 of 3 placed.", "1 waits: memory is exhausted on 4 nodes.",
            "2 of 3 placed, 1 waits: memory is exhausted on 4 nodes",
            id="system-on-all-nodes-but-one",
        ),
        pytest.param(
            {"status": EvalStatus.COMPLETE, "type": "system",
             "plan_annotations": annotated(place=2, migrate=1, stop=1)}, 2,
            "Complete: 2 placed and 2 stopped.", "", "2 placed, 2 stopped",
            id="system-moves-nothing",
        ),
        pytest.param(
            {"status": EvalStatus.COMPLETE, "type": "sysbatch",
             "plan_annotations": annotated(place=3, ignore=2)}, 3,
            "Complete: 3 placed.", "", "3 placed", id="sysbatch-counts-only-what-it-places",
        ),
        pytest.param(
            {"status": EvalStatus.COMPLETE, "type": "system", "next_eval": "e1",
             "plan_annotations": annotated(place=9, destructive_update=9)}, 1,
            "Complete: 9 to replace step by step.", "", "9 to replace step by step",
            id="system-staggered",
        ),
        pytest.param(
            {"status": EvalStatus.BLOCKED, "failed_task_groups": MEMORY}, 0,
            "Waits for room for 1 allocation.",
            "Memory is exhausted on 4 nodes. It runs again by itself when there is more.",
            "1 waits: memory is exhausted on 4 nodes", id="blocked",
        ),
        pytest.param(
            {"status": EvalStatus.BLOCKED, "triggered_by": "max-plan-attempts"}, 0,
            "Waits for room.", "It runs again by itself when there is more.", "waits for room",
            id="blocked-after-refused-plans",
        ),
        pytest.param(
            {}, 0, "On its way: a worker takes it as soon as one is free.", "", "on its way",
            id="pending",
        ),
        pytest.param(
            {"wait_until": SOME_MOMENT, "triggered_by": "failed-follow-up"}, 0,
            "Waits until 15:06:40.", "An evaluation failed; this one tries again later",
            "waits until 15:06:40", id="delayed",
        ),
        pytest.param(
            {"status": EvalStatus.FAILED, "status_description": "maximum attempts reached (5)"}, 0,
            "Failed.", "Maximum attempts reached (5).", "maximum attempts reached (5)",
            id="failed",
        ),
        pytest.param(
            {"status": EvalStatus.FAILED, "triggered_by": "alloc-failure",
             "status_description": "maximum attempts reached (5)", "blocked_eval": "b1b2b3b4-5"},
            0, "Failed.", "Maximum attempts reached (5). Evaluation b1b2b3b4 tries again.",
            "maximum attempts reached (5)", id="failed-and-followed",
        ),
        pytest.param(
            {"status": EvalStatus.FAILED, "triggered_by": "reconnect",
             "blocked_eval": "b1b2b3b4-5"}, 0,
            "Failed as expected: its follow-up repairs it.",
            "The node was back and not yet ready, so its plans were refused. Evaluation b1b2b3b4, "
            "or the node's own, takes the allocation back.", "its follow-up repairs it",
            id="failed-before-its-node-was-ready",
        ),
        pytest.param(
            {"status": EvalStatus.CANCELED}, 0, "Canceled: a newer evaluation does its work.", "",
            "a newer evaluation does its work", id="canceled",
        ),
        pytest.param(
            {"status": EvalStatus.CANCELED,
             "status_description": 'evaluation "b1b2b3b4-5" successful'}, 0,
            "Canceled: nothing of its job waits any more.",
            "Evaluation b1b2b3b4 completed with nothing left to place.",
            "nothing waits since evaluation b1b2b3b4", id="canceled-by-success",
        ),
    ],
)  # fmt: skip
def test_an_evaluation_says_what_came_of_it_the_same_at_length_and_in_short(
    fields, placed, strong, rest, short
):
    evaluation = make_evaluation(**fields)
    told = outcome_of(evaluation, [make_allocation(number=number) for number in range(placed)])
    assert (told.strong, told.rest, short_outcome(evaluation)) == (strong, rest, short)


def test_what_earlier_plans_placed_counts_where_the_allocations_are_known():
    evaluation = make_evaluation(
        status=EvalStatus.COMPLETE, plan_annotations=annotated(place=2, migrate=1)
    )
    allocs = [make_allocation(number=number) for number in range(6)]
    assert outcome_of(evaluation, allocs).strong == "Complete: 5 placed and 1 moved."


def test_the_steps_of_a_run_say_what_it_saw_asked_for_and_came_to():
    ended = make_evaluation(
        status=EvalStatus.COMPLETE,
        snapshot_index=1200,
        queued_allocations={"web": 1},
        plan_annotations=annotated(place=3, stop=1),
    )
    assert told_of(ended) == {
        Step.DEQUEUED: "saw the cluster at index 1\u202f200",
        Step.PLAN_SUBMITTED: "a plan of 2 placements and 1 stop",
        Step.COMPLETE: "2 of 3 placed, 1 stopped, 1 waits",
    }
    assert told_of(make_evaluation()) == {}


@pytest.mark.parametrize(
    ("metric", "told"),
    [
        pytest.param(AllocMetric(), "no node is ready for it", id="no-node"),
        pytest.param(
            AllocMetric(nodes_evaluated=3, constraint_filtered={"missing drivers": 3}),
            "3 nodes are filtered by missing drivers",
            id="filtered",
        ),
        pytest.param(
            AllocMetric(
                nodes_evaluated=9,
                constraint_filtered={
                    "${meta.rack} = r3": 6,
                    "distinct_hosts": 2,
                    "distinct_property: ${meta.row}=4 used by 1 allocs": 1,
                },
            ),
            "3 nodes already run one of it and 6 nodes are filtered, for it asks for"
            " meta.rack = r3",
            id="others-there",
        ),
        pytest.param(
            AllocMetric(quota_exhausted=("cpu exhausted (1000 needed > 900 limit)",)),
            "the quota is reached: cpu exhausted (1000 needed > 900 limit)",
            id="quota",
        ),
        pytest.param(AllocMetric(nodes_evaluated=3), "", id="not-recorded"),
    ],
)
def test_the_reason_names_what_kept_most_nodes_out(metric, told):
    assert why_waiting([metric]) == told


def test_every_trigger_has_words():
    assert set(TRIGGER_WORDS) == set(EvalTrigger)


NEAREST = {
    "big": NearestNode(lacks=AskedAmounts(cpu=100, memory_mb=312), count=9),
    "small": NearestNode(lacks=AskedAmounts(memory_mb=64), count=1),
}


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        (["big"], ("the nearest of 9 nodes lacks 312\N{NO-BREAK SPACE}MiB of memory and"
                   " 100\N{NO-BREAK SPACE}MHz of CPU")),
        # Of several groups the one that lacks the fewest amounts.
        (["big", "small"], "the nearest node lacks 64\N{NO-BREAK SPACE}MiB of memory"),
        ([], "memory is exhausted on 4 nodes"),
    ],
)  # fmt: skip
def test_who_waits_is_told_what_the_nearest_node_lacks(groups, told):
    metric = AllocMetric(nodes_exhausted=4, dimension_exhausted={"memory": 4})
    nearest = {name: NEAREST[name] for name in groups}
    row = make_evaluation(1, failed_task_groups={"big": metric}, nearest=nearest)
    assert why_it_waits(row) == told


def test_a_limit_is_told_before_what_nodes_lack():
    metric = AllocMetric(quota_exhausted=("memory",))
    row = make_evaluation(1, failed_task_groups={"big": metric}, nearest=NEAREST)
    assert why_it_waits(row) == why_waiting([metric])
