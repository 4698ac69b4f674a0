"""Blocking reads and the event stream."""

import asyncio

import msgspec
import pytest

from cluster.store.retention import trim_events
from tests.cluster.api.clients import document


async def index_of(api, path):
    return int((await api.get(path)).headers["X-Nomad-Index"])


async def first_lines(answer, count):
    lines = []
    async for line in answer.streaming_content:
        lines.append(msgspec.json.decode(line))
        if len(lines) == count:
            break
    return lines


async def test_a_read_answers_at_once_when_its_index_has_passed(api):
    await api.put("/v1/jobs", {"Job": document()})

    answer = await api.get("/v1/jobs", index="1", wait="60s")

    assert [job["ID"] for job in answer.json] == ["web"]


@pytest.mark.parametrize("beyond", [0, 1000], ids=["current", "above-the-current"])
async def test_a_read_that_waited_in_vain_answers_with_what_there_is(api, beyond):
    await api.put("/v1/jobs", {"Job": document()})
    index = await index_of(api, "/v1/jobs")

    answer = await api.get("/v1/jobs", index=str(index + beyond), wait="10ms")

    assert answer.status == 200
    assert int(answer.headers["X-Nomad-Index"]) == index


async def test_a_waiting_list_wakes_when_it_grows(api):
    await api.put("/v1/jobs", {"Job": document()})
    index = await index_of(api, "/v1/jobs")

    waiting = asyncio.ensure_future(api.get("/v1/jobs", index=str(index), wait="60s"))
    await asyncio.sleep(0)
    await api.put("/v1/jobs", {"Job": document(ID="other")})
    answer = await waiting

    assert [job["ID"] for job in answer.json] == ["other", "web"]
    assert int(answer.headers["X-Nomad-Index"]) > index


async def test_a_waiting_lookup_wakes_when_its_object_goes(api):
    await api.put("/v1/jobs", {"Job": document()})
    index = await index_of(api, "/v1/job/web")

    waiting = asyncio.ensure_future(api.get("/v1/job/web", index=str(index), wait="60s"))
    await asyncio.sleep(0)
    await api.delete("/v1/job/web", purge="true")
    answer = await waiting

    assert (answer.status, answer.text) == (404, "job not found")
    assert int(answer.headers["X-Nomad-Index"]) > index


async def test_a_lookup_can_wait_for_an_object_to_appear(api):
    missing = await api.get("/v1/job/web")
    index = missing.headers["X-Nomad-Index"]

    waiting = asyncio.ensure_future(api.get("/v1/job/web", index=index, wait="60s"))
    await asyncio.sleep(0)
    await api.put("/v1/jobs", {"Job": document()})

    assert (await waiting).json["ID"] == "web"


async def test_the_stream_begins_at_once_and_then_follows(api):
    await api.put("/v1/jobs", {"Job": document()})
    answer = await api.get("/v1/event/stream", topic="Job:web")

    lines = await first_lines(answer, 2)

    assert lines[0] == {}
    assert [event["Topic"] for event in lines[1]["Events"]] == ["Job"]
    assert lines[1]["Events"][0]["Type"] == "JobRegistered"
    assert lines[1]["Events"][0]["Payload"]["Job"]["ID"] == "web"
    assert lines[1]["Events"][0]["FilterKeys"] is None


async def test_evaluations_are_found_by_their_job_too(api):
    written = (await api.put("/v1/jobs", {"Job": document()})).json
    answer = await api.get("/v1/event/stream", topic="Evaluation:web")

    _, frame = await first_lines(answer, 2)

    assert frame["Index"] == written["Index"]
    assert [event["Key"] for event in frame["Events"]] == [written["EvalID"]]
    assert frame["Events"][0]["FilterKeys"] == ["web", ""]


async def test_the_stream_starts_where_it_is_told(api):
    await api.put("/v1/jobs", {"Job": document()})
    second = (await api.put("/v1/jobs", {"Job": document(ID="other")})).json["Index"]
    answer = await api.get("/v1/event/stream", topic="Job", index=str(second))

    _, frame = await first_lines(answer, 2)

    assert (frame["Index"], frame["Events"][0]["Key"]) == (second, "other")


async def test_the_stream_begins_with_what_is_kept_of_a_trimmed_log(api, store):
    await api.put("/v1/jobs", {"Job": document()})
    last = (await api.put("/v1/jobs", {"Job": document(ID="other")})).json["Index"]
    await store.awrite_call(trim_events, now=2**62, keep_for=0, keep_bytes=2**40)

    answer = await api.get("/v1/event/stream", topic="Job", index="1")
    _, frame = await first_lines(answer, 2)

    assert (frame["Index"], frame["Events"][0]["Key"]) == (last, "other")


async def test_a_purge_says_that_the_job_is_gone(api):
    await api.put("/v1/jobs", {"Job": document()})
    purged = (await api.delete("/v1/job/web", purge="true")).json["Index"]
    answer = await api.get("/v1/event/stream", topic="Job", index=str(purged))

    _, frame = await first_lines(answer, 2)

    event = frame["Events"][0]
    assert (event["Type"], event["Payload"]["Deleted"]) == ("JobDeregistered", True)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (
            {"topic": "A:b:c"},
            (
                "Invalid topic query: error parsing topics:"
                " Invalid key value pair for topic, topic: A:b:c"
            ),
        ),
        (
            {"index": "x"},
            'Unable to parse index: strconv.Atoi: parsing "x": invalid syntax',
        ),
    ],
)
async def test_what_the_stream_refuses(api, query, text):
    answer = await api.get("/v1/event/stream", **query)

    assert (answer.status, answer.text) == (400, text)
