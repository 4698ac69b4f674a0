"""`GET /v1/agent/health`: open, honest, and answered whatever is away."""

import pytest

from cluster.store.health import HEALTH, PARTS
from scheduler.structs.moment import Moment
from tests.cluster.api.clients import NOW

SECONDS = 5.0


@pytest.fixture
def watched():
    """A watch has begun in this process, and has seen nothing yet."""
    HEALTH.expect(now=NOW)
    yield HEALTH
    HEALTH.forget()


def see(health, **faults):
    for name in PARTS:
        health.note(name, faults.get(name, ""), Moment(NOW, SECONDS))


async def test_nobody_needs_a_token_to_ask_how_the_cluster_stands(stranger, watched):
    see(watched)

    plain = (await stranger.get("/v1/agent/health")).json
    assert plain == {"server": {"ok": True, "message": "ok"}}
    answer = await stranger.get("/v1/agent/health", additions="")

    assert answer.status == 200
    assert (answer.json["server"]["ok"], answer.json["server"]["message"]) == (True, "ok")
    assert list(answer.json["server"]["parts"]) == [
        "record",
        "leader",
        "applier",
        "workers",
        "redis",
    ]
    assert all(part["age_s"] >= 0 for part in answer.json["server"]["parts"].values())


async def test_a_cluster_of_which_nothing_was_seen_is_not_called_healthy(stranger, watched):
    answer = await stranger.get("/v1/agent/health")

    assert answer.status == 503
    assert answer.json["server"]["parts"]["leader"] == {
        "ok": False, "message": "not seen yet", "age_s": None,
    }  # fmt: skip


async def test_what_does_not_work_is_named_with_the_age_of_the_last_good_look(stranger, watched):
    see(watched)
    see(watched, record="no space is left on the disk of the record", redis="does not answer")

    answer = await stranger.get("/v1/agent/health", type="server")

    assert answer.status == 503
    assert 1 <= int(answer.headers["Retry-After"]) <= 5
    assert answer.json["server"]["message"] == (
        "record: no space is left on the disk of the record; redis: does not answer"
    )
    assert answer.json["server"]["parts"]["redis"]["ok"] is False
    assert answer.json["server"]["parts"]["redis"]["age_s"] is not None
    assert answer.json["server"]["parts"]["leader"]["ok"] is True


async def test_a_client_is_not_enabled_here(stranger, watched):
    answer = await stranger.get("/v1/agent/health", type="client")

    assert answer.status == 500
    assert answer.json == {"client": {"ok": False, "message": "client not enabled"}}
    assert (await stranger.get("/v1/agent/health", type="x")).json == {}
