"""What programs see of collection: a demand, its events, and never a core evaluation."""

import asyncio

import msgspec
import pytest

from scheduler.state.found_rows import put_found
from scheduler.structs.evaluation import EvalStatus
from tests.builders import make_evaluation
from tests.cluster.api.clients import NOW, document, put
from tests.patience import PATIENCE_S
from tests.scheduler.collection.rounds import core_evaluation, run_core

OVER = make_evaluation(status=EvalStatus.COMPLETE, modify_time=NOW - 10**12, job_id="gone")


async def next_line(lines):
    async with asyncio.timeout(PATIENCE_S):
        return msgspec.json.decode(await anext(lines))


async def next_events(lines):
    while not (line := await next_line(lines)):
        pass
    return line["Events"]


async def test_a_collection_is_told_to_who_asks_for_it_by_name_and_to_nobody_else(store, api):
    await store.acall(lambda: put(store, lambda change: put_found(change, OVER)))
    asked, everything = [
        aiter((await api.get("/v1/event/stream", topic=topic)).streaming_content)
        for topic in ("Collection", "*")
    ]
    assert (await api.put("/v1/system/gc")).status == 200
    await store.acall(lambda: run_core(store, "force-gc", now=NOW))
    await api.put("/v1/jobs", {"Job": document()})

    told = [event for _ in range(3) for event in await next_events(asked)]
    assert {(event["Topic"], event["Key"], event["Namespace"]) for event in told} == {
        ("Collection", "force-gc", "")
    }
    assert [event["Type"] for event in told] == ["CollectionDemanded", "Collected", "Collected"]
    demanded, deleted, ended = [event["Payload"]["Collection"] for event in told]
    assert (demanded["DemandedAt"] > 0, demanded["EndedAt"]) == (True, 0)
    assert (deleted["Evaluations"], deleted["EndedAt"]) == (1, 0)
    assert (ended["Evaluations"], ended["EndedAt"]) == (1, NOW)

    topics = {event["Topic"] for event in await next_events(everything)}
    while "Job" not in topics:
        topics |= {event["Topic"] for event in await next_events(everything)}
    assert "Collection" not in topics


async def test_a_core_evaluation_cannot_become_a_row(store, api):
    with pytest.raises(AssertionError, match="in the broker only"):
        await store.acall(
            lambda: put(store, lambda change: change.put_evaluation(core_evaluation("eval-gc")))
        )
    assert (await api.get("/v1/evaluations", namespace="*")).json == []
