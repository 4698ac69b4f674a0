import asyncio
import json

import pytest
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser, User

from cluster.store.health import HEALTH
from dashboard.live import consumers
from dashboard.live.consumers import BAD_REQUEST, NOT_READY, SIGNED_OUT, TOO_SLOW, ClusterConsumer
from dashboard.live.hub import Hub
from scheduler.state.events import WriteKind
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.structs.evaluation import LifecycleStep, Step
from scheduler.structs.moment import Moment
from tests.builders import SOME_MOMENT, FixedClock, make_evaluation
from tests.dashboard.live.world import MemoryFrames, bare_feed

EVALUATION = make_evaluation(1)
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def source():
    source = MemoryFrames()
    record(source)
    return source


@pytest.fixture
def hub(source, monkeypatch):
    hub = Hub(bare_feed)
    hub.wire(source, FixedClock())
    monkeypatch.setattr(consumers, "HUB", hub)
    return hub


@pytest.fixture
def kim():
    return User.objects.create_superuser("kim")


def record(source, *steps):
    def work(change):
        change.put_evaluation(EVALUATION.changed(modify_index=change.index))
        for step in steps:
            change.put(LIFECYCLE_STEPS, step)

    source.write(WriteKind.EVALUATION_UPDATED, work, now=SOME_MOMENT)


def page_of(user, query):
    page = WebsocketCommunicator(ClusterConsumer.as_asgi(), f"/live?{query}")
    page.scope["user"] = user
    return page


async def closing_code(page):
    while (message := await page.receive_output())["type"] != "websocket.close":
        pass
    return message["code"]


async def test_a_page_replays_since_its_index_and_then_follows(source, hub, kim):
    step = LifecycleStep(eval_id=EVALUATION.id, number=1, step=Step.DEQUEUED, at=SOME_MOMENT)
    record(source, step)
    page = page_of(kim, f"index=2&topics=evaluation:{EVALUATION.id}")
    assert (await page.connect())[0]
    replayed = json.loads(await page.receive_from(5))
    assert (replayed["type"], replayed["since"], replayed["index"]) == ("frame", 2, 3)
    assert {piece["kind"] for piece in replayed["pieces"]} == {"graph", "html"}
    record(source, step)
    followed = json.loads(await page.receive_from(5))
    while followed["type"] == "beat":
        followed = json.loads(await page.receive_from(5))
    assert (followed["type"], followed["index"]) == ("frame", 4)
    await page.disconnect()
    assert hub.groups == {}


@pytest.mark.parametrize(
    ("query", "code"),
    [
        pytest.param("topics=nodes&index=x", BAD_REQUEST, id="no-index"),
        pytest.param("index=1", BAD_REQUEST, id="no-topic"),
        pytest.param("index=1&topics=everything", BAD_REQUEST, id="unknown-topic"),
    ],
)
@pytest.mark.usefixtures("hub")
async def test_a_bad_request_is_told_so(query, code, kim):
    page = page_of(kim, query)
    await page.connect()
    assert await closing_code(page) == code


@pytest.mark.usefixtures("hub")
async def test_nobody_follows_without_signing_in():
    page = page_of(AnonymousUser(), "index=1&topics=overview")
    await page.connect()
    assert await closing_code(page) == SIGNED_OUT


async def test_a_process_without_a_record_says_that_it_is_not_ready(monkeypatch, kim):
    monkeypatch.setattr(consumers, "HUB", Hub())
    page = page_of(kim, "index=1&topics=overview")
    await page.connect()
    assert await closing_code(page) == NOT_READY


@pytest.mark.usefixtures("hub")
async def test_a_topic_one_may_not_follow_is_refused_and_others_go_on(kim):
    page = page_of(kim, "index=2&topics=evaluation:unknown,drains")
    await page.connect()
    assert json.loads(await page.receive_from(5)) == {
        "type": "refused", "topic": "evaluation:unknown",
        "reason": "evaluation unknown is unknown here",
    }  # fmt: skip
    assert json.loads(await page.receive_from(5))["topic"] == "drains"
    await page.disconnect()


@pytest.mark.usefixtures("hub")
async def test_the_counts_of_a_namespace_one_may_not_see_are_refused():
    ada = await User.objects.acreate_user("ada")
    page = page_of(ada, "index=2&topics=navigation:sealed,navigation:*")
    await page.connect()
    assert json.loads(await page.receive_from(5)) == {
        "type": "refused", "topic": "navigation:sealed",
        "reason": "namespace sealed is unknown here",
    }  # fmt: skip
    assert json.loads(await page.receive_from(5))["topic"] == "navigation:*"
    await page.disconnect()


async def test_a_page_that_reads_too_slowly_is_dropped_to_resync(source, hub, kim, monkeypatch):
    monkeypatch.setattr(consumers, "MAX_UNSEEN", 3)
    page = page_of(kim, f"index=2&topics=evaluation:{EVALUATION.id}")
    await page.connect()
    for group in hub.groups.values():
        for viewer in tuple(group.viewers):
            for place in range(10):
                viewer.deliver(str(place))
    assert await closing_code(page) == TOO_SLOW
    await page.disconnect()


async def test_a_page_that_reports_what_it_saw_is_not_dropped(hub, kim, monkeypatch):
    monkeypatch.setattr(consumers, "MAX_UNSEEN", 6)
    page = page_of(kim, f"index=2&topics=evaluation:{EVALUATION.id}")
    await page.connect()
    await page.receive_from(5)
    (viewer,) = next(iter(hub.groups.values())).viewers
    for seen in range(1, 30):
        await page.send_to(text_data=str(seen))
        while viewer._seen < min(seen, viewer._sent):
            await asyncio.sleep(0)
        viewer.deliver("{}")
        assert json.loads(await page.receive_from(5)).get("type") in (None, "beat")
    await page.disconnect()


async def test_an_open_page_is_told_what_does_not_work_and_that_it_is_over(hub, kim):
    page = page_of(kim, f"index=0&topics=evaluation:{EVALUATION.id}")
    await page.connect()

    def note(fault):
        HEALTH.note("redis", fault, Moment(SOME_MOMENT, 1.0))

    try:
        note("does not answer")
        begun = await trouble_told(page)
        note("")
        over = await trouble_told(page)
    finally:
        HEALTH.forget()
        await page.disconnect()
    assert begun["strong"] == "Nothing is decided since 15:06:40: Redis does not answer."
    assert "is kept" in begun["text"]
    assert not begun["stops"]
    assert (over["strong"], over["text"]) == ("", "")


async def trouble_told(page):
    while (message := json.loads(await page.receive_from(5)))["type"] != "trouble":
        pass
    return message
