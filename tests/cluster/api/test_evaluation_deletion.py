"""DELETE /v1/evaluations: by ids, by filter, and every refusal."""

import pytest

from scheduler.state.found_rows import put_found
from scheduler.state.nouns import SCHEDULER_SETTINGS
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.scheduler_settings import SchedulerSettings
from tests.builders import make_evaluation
from tests.cluster.api.clients import put

ROWS = [
    make_evaluation(1, status=EvalStatus.COMPLETE),
    make_evaluation(2, status=EvalStatus.FAILED),
    make_evaluation(3, status=EvalStatus.COMPLETE, namespace="team"),
    make_evaluation(4, status=EvalStatus.COMPLETE),
]
COMPLETE = 'Status == "complete"'


@pytest.fixture
def paused(store, api):
    """Four evaluations of jobs that are gone, and a broker that is paused."""

    def fill(change):
        for row in ROWS:
            put_found(change, row)
        change.put(SCHEDULER_SETTINGS, SchedulerSettings(pause_eval_broker=True))

    put(store, fill)
    return api


async def left(api):
    answer = await api.get("/v1/evaluations", namespace="*")
    return [row["ID"] for row in answer.json]


def ids(*numbers):
    return [make_evaluation(number).id for number in numbers]


@pytest.mark.parametrize(
    ("body", "query", "count", "kept"),
    [
        pytest.param({"EvalIDs": ids(1, 2)}, {}, 2, ids(3, 4), id="named"),
        pytest.param({"Filter": COMPLETE}, {}, 2, ids(2, 3), id="found-in-one-namespace"),
        pytest.param({"Filter": COMPLETE}, {"namespace": "*"}, 3, ids(2), id="found-everywhere"),
        pytest.param({"Filter": COMPLETE}, {"per_page": "1"}, 1, ids(2, 3, 4), id="a-page"),
        pytest.param({"Filter": 'Status == "none"'}, {}, 0, ids(1, 2, 3, 4), id="found-nothing"),
    ],
)
async def test_what_was_asked_for_is_gone_and_counted(paused, body, query, count, kept):
    answer = await paused.send("DELETE", "/v1/evaluations", body, **query)

    index = int(answer.headers.get("X-Nomad-Index", 0))
    assert (answer.status, answer.json) == (200, {"Count": count, "Index": index})
    assert bool(index) is bool(count)
    assert await left(paused) == kept


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "evals must be deleted by either ID or filter"),
        (
            {"EvalIDs": ids(1), "Filter": COMPLETE},
            "evals cannot be deleted by both ID and filter",
        ),
        ({"EvalIDs": ["short"]}, "eval lookup failed: index error: UUID must be 36 characters"),
        ({"EvalIDs": ids(9)}, "eval not found"),
        ({"EvalIDs": "all"}, "json: cannot unmarshal string"),
        ({"Filter": "Status =="}, "filter"),
    ],
)
async def test_refusals_say_what_is_wrong(paused, body, text):
    answer = await paused.send("DELETE", "/v1/evaluations", body)

    assert answer.status == 400
    assert text in answer.text
    assert await left(paused) == ids(1, 2, 3, 4)


@pytest.mark.parametrize("body", [{"EvalIDs": ids(1)}, {"Filter": COMPLETE}])
async def test_a_broker_that_delivers_must_be_paused_first(paused, body):
    await paused.put("/v1/operator/scheduler/configuration", {"PauseEvalBroker": False})
    answer = await paused.send("DELETE", "/v1/evaluations", body)

    text = "eval broker is enabled; eval broker must be paused to delete evals"
    assert (answer.status, answer.text) == (400, text)


async def test_only_managers_delete(paused, reader):
    answer = await reader.send("DELETE", "/v1/evaluations", {"EvalIDs": ids(1)})

    assert (answer.status, answer.text) == (403, "Permission denied")
    assert await left(paused) == ids(1, 2, 3, 4)
