"""The sentence about an evaluation."""

import pytest

from dashboard.outcomes import TRIGGER_WORDS, outcome_of, why_waiting
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.evaluation import EvalStatus, EvalTrigger
from scheduler.structs.plan_annotations import DesiredUpdates, PlanAnnotations
from tests.builders import SOME_MOMENT, make_allocation, make_evaluation

MEMORY = {"web": AllocMetric(nodes_evaluated=4, dimension_exhausted={"memory": 4})}


def annotated(**updates):
    return PlanAnnotations(desired_updates={"web": DesiredUpdates(**updates)})


@pytest.mark.parametrize(
    ("fields", "placed", "strong", "rest", "badge"),
    [
        pytest.param(
            {"status": EvalStatus.COMPLETE, "queued_allocations": {"web": 1},
             "failed_task_groups": MEMORY},
            2, "Complete: 2 of 3 placed.", "1 waits: memory is exhausted on 4 nodes.",
            "2 of 3 placed", id="part-of-it-placed",
        ),
        pytest.param(
            {"status": EvalStatus.COMPLETE}, 0, "Complete: nothing had to change.", "", "no-op",
            id="no-op",
        ),
        pytest.param(
            {"status": EvalStatus.COMPLETE, "plan_annotations": annotated(stop=2)}, 0,
            "Complete: 2 stopped.", "", "complete", id="only-stops",
        ),
        pytest.param(
            {"status": EvalStatus.BLOCKED, "failed_task_groups": MEMORY}, 0,
            "Waits for room for 1 allocation.",
            "Memory is exhausted on 4 nodes. It runs again by itself when there is more.",
            "blocked", id="blocked",
        ),
        pytest.param(
            {"wait_until": SOME_MOMENT, "triggered_by": "failed-follow-up"}, 0,
            "Waits until 15:06:40.", "An evaluation failed; this one tries again later",
            "delayed", id="delayed",
        ),
        pytest.param(
            {"status": EvalStatus.FAILED, "status_description": "maximum attempts reached (5)"}, 0,
            "Failed.", "Maximum attempts reached (5).", "failed", id="failed",
        ),
        pytest.param(
            {"status": EvalStatus.FAILED, "triggered_by": "alloc-failure",
             "status_description": "maximum attempts reached (5)", "blocked_eval": "b1b2b3b4-5"},
            0, "Failed.", "Maximum attempts reached (5). Evaluation b1b2b3b4 tries again.",
            "failed", id="failed-and-followed",
        ),
        pytest.param(
            {"status": EvalStatus.FAILED, "triggered_by": "reconnect",
             "blocked_eval": "b1b2b3b4-5"}, 0,
            "Failed as expected: its follow-up repairs it.",
            "The node was back and not yet ready, so its plans were refused. Evaluation b1b2b3b4, "
            "or the node's own, takes the allocation back.", "failed",
            id="failed-before-its-node-was-ready",
        ),
        pytest.param(
            {"status": EvalStatus.CANCELED}, 0, "Canceled: a newer evaluation does its work.", "",
            "canceled", id="canceled",
        ),
    ],
)  # fmt: skip
def test_an_evaluation_says_what_came_of_it(fields, placed, strong, rest, badge):
    allocs = [make_allocation(number=number) for number in range(placed)]
    told = outcome_of(make_evaluation(**fields), allocs)
    assert (told.strong, told.rest, told.label.word) == (strong, rest, badge)


@pytest.mark.parametrize(
    ("job_type", "place", "ignore", "placed"),
    [
        pytest.param("service", 5, 2, 5, id="service"),
        pytest.param("system", 5, 4, 1, id="system-counts-what-is-in-place"),
    ],
)
def test_without_its_allocations_the_plan_says_how_many(job_type, place, ignore, placed):
    evaluation = make_evaluation(
        type=job_type,
        status=EvalStatus.COMPLETE,
        plan_annotations=annotated(place=place, ignore=ignore),
    )
    assert outcome_of(evaluation).placed == placed


@pytest.mark.parametrize(
    ("metric", "told"),
    [
        pytest.param(AllocMetric(), "no node is ready for it", id="no-node"),
        pytest.param(
            AllocMetric(nodes_evaluated=3, constraint_filtered={"missing drivers": 3}),
            "3 nodes filtered by missing drivers",
            id="filtered",
        ),
        pytest.param(AllocMetric(nodes_evaluated=3), "", id="not-recorded"),
    ],
)
def test_the_reason_names_what_kept_most_nodes_out(metric, told):
    assert why_waiting([metric]) == told


def test_every_trigger_has_words():
    assert set(TRIGGER_WORDS) == set(EvalTrigger)
