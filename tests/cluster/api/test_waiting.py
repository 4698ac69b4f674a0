"""Blocking reads and the event stream."""

import asyncio

import pytest

from cluster.store import blocking
from cluster.store.retention import trim_events
from tests.cluster.api.clients import Client, document, first_lines


async def index_of(api, path):
    return int((await api.get(path)).headers["X-Nomad-Index"])


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


async def until_it_waits():
    while not blocking._the_waiters()._waiters:
        await asyncio.sleep(0.005)


async def look(api, *namespaces):
    """The policy `look`, written anew, reads these namespaces."""
    rules = "".join(f'namespace "{name}" {{ policy = "read" }}\n' for name in namespaces)
    policy = {"Name": "look", "Rules": rules or 'node { policy = "read" }'}
    assert (await api.put("/v1/acl/policy/look", policy)).status == 200


async def looker(api, *namespaces):
    """Somebody with this policy, and the accessor of their token."""
    await look(api, *namespaces)
    token = (await api.put("/v1/acl/token", {"Type": "client", "Policies": ["look"]})).json
    return Client(token["SecretID"]), token["AccessorID"]


async def waiting_read(client, **query):
    """A read of the jobs that waits for the next change of them."""
    seen = await client.get("/v1/jobs", **query)
    index = seen.headers["X-Nomad-Index"]
    waiting = asyncio.ensure_future(client.get("/v1/jobs", index=index, wait="60s", **query))
    await until_it_waits()
    return waiting


async def test_a_read_that_waits_shows_nothing_once_its_right_is_taken(api):
    await api.put("/v1/jobs", {"Job": document()})
    client, _ = await looker(api, "default")
    waiting = await waiting_read(client)
    await look(api)
    await api.put("/v1/jobs", {"Job": document(ID="hidden")})
    answer = await waiting
    assert (answer.status, answer.text) == (403, "Permission denied")


async def test_a_read_that_waits_answers_with_the_rights_of_then(api):
    await api.put("/v1/namespace/team", {"Name": "team"})
    await api.put("/v1/jobs", {"Job": document(ID="theirs", Namespace="team")})
    client, _ = await looker(api, "default", "team")
    waiting = await waiting_read(client, namespace="*")
    await look(api, "default")
    await api.put("/v1/jobs", {"Job": document(ID="web")})
    assert [job["ID"] for job in (await waiting).json] == ["web"]


async def test_a_read_that_waits_ends_with_its_token(api):
    await api.put("/v1/jobs", {"Job": document()})
    client, accessor = await looker(api, "default")
    waiting = await waiting_read(client)
    assert (await api.delete(f"/v1/acl/token/{accessor}")).status == 200
    await api.put("/v1/jobs", {"Job": document(ID="hidden")})
    assert (await waiting).status == 403
