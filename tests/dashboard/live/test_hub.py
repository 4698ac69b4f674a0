import asyncio
from contextlib import asynccontextmanager
from itertools import count

import pytest

from cluster.runtime.clock import SystemClock
from dashboard.feeds.evaluation import EvaluationFeed
from dashboard.feeds.feed import Feed, Panel, Parts, RowList
from dashboard.live.hub import Hub
from dashboard.subscription import Subscription
from scheduler.state.events import Topic, WriteKind
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.structs.evaluation import EvalStatus, LifecycleStep, Step
from tests.builders import SOME_MOMENT, FixedClock, make_evaluation
from tests.dashboard.drawn_page import elements, parts
from tests.dashboard.live.world import MemoryFrames, Page, bare_feed
from tests.patience import PATIENCE_S

EVALUATION = make_evaluation(1)
TOPIC = f"evaluation:{EVALUATION.id}"
ONE = Subscription("evaluation", EVALUATION.id, frozenset({"default"}))


@asynccontextmanager
async def hub_with(source, feed_for=bare_feed, clock=None):
    hub = Hub(feed_for)
    hub.wire(source, clock or FixedClock())
    try:
        yield hub
    finally:
        for viewer in {viewer for group in hub.groups.values() for viewer in group.viewers}:
            await hub.leave(viewer)


def record(source, evaluation=EVALUATION, *steps):
    def work(change):
        change.put_evaluation(evaluation.changed(modify_index=change.index))
        for step in steps:
            change.put(LIFECYCLE_STEPS, step)

    source.write(WriteKind.EVALUATION_UPDATED, work, now=SOME_MOMENT)


def step(number, kind):
    return LifecycleStep(eval_id=EVALUATION.id, number=number, step=kind, at=SOME_MOMENT + number)


def current(message):
    """The state that pulses in what the message draws."""
    (drawing,) = [piece for piece in message["pieces"] if piece["kind"] in ("graph", "patch")]
    nodes = elements(drawing[drawing["kind"]].get("layers", {}), "nodes")
    return [key for key, node in nodes.items() if parts(node, "graph-pulse")]


async def test_a_change_reaches_the_page_with_the_index_it_brings_it_to():
    source = MemoryFrames()
    record(source)
    page = Page()
    async with hub_with(source) as hub:
        await hub.join(page, ONE, source.store.index)
        record(source, EVALUATION, step(1, Step.CREATED), step(2, Step.DEQUEUED))
        joined, changed = await page.told("frame", 2)
    assert (joined["since"], joined["index"], current(joined)) == (2, 2, ["pending"])
    assert (changed["topic"], changed["since"], changed["index"]) == (TOPIC, 2, 3)
    assert changed["at"] == SOME_MOMENT // 1_000_000
    assert current(changed) == ["scheduling"]


async def test_a_page_that_was_away_gets_the_newest_state_at_once():
    source = MemoryFrames()
    record(source)
    left_at = source.store.index
    for number, kind in enumerate((Step.CREATED, Step.ENQUEUED, Step.DEQUEUED), 1):
        record(source, EVALUATION, step(number, kind))
    page = Page()
    async with hub_with(source) as hub:
        await hub.join(page, ONE, left_at)
    (message,) = page.messages
    assert (message["since"], message["index"]) == (left_at, source.store.index)
    assert current(message) == ["scheduling"]


async def test_pages_that_come_back_together_are_told_the_same_and_read_once():
    source = MemoryFrames()
    record(source)
    left_at = source.store.index
    for number, kind in enumerate((Step.CREATED, Step.ENQUEUED, Step.DEQUEUED), 1):
        record(source, EVALUATION, step(number, kind))
    pages = [Page() for _ in range(50)]
    async with hub_with(source) as hub:
        await hub.join(pages[0], ONE, left_at)
        reads = source.reads
        for page in pages[1:]:
            await hub.join(page, ONE, left_at)
        assert source.reads == reads
        assert {str(page.messages) for page in pages} == {str(pages[0].messages)}
        record(source, EVALUATION, step(4, Step.PLAN_SUBMITTED))
        for page in pages:
            _, changed = await page.told("frame", 2)
            assert current(changed) == ["applying"]


async def test_a_page_that_comes_back_later_is_told_what_happened_since():
    source = MemoryFrames()
    record(source)
    left_at = source.store.index
    record(source, EVALUATION, step(1, Step.CREATED))
    first, second, third = Page(), Page(), Page()
    async with hub_with(source) as hub:
        await hub.join(first, ONE, left_at)
        hub.publish([step(2, Step.DEQUEUED)])
        await first.told("hint")
        await hub.join(second, ONE, left_at)
        record(source, EVALUATION, step(2, Step.DEQUEUED), step(3, Step.PLAN_SUBMITTED))
        await first.told("frame", 2)
        await hub.join(third, ONE, left_at)
    assert current(second.messages[0]) == ["scheduling"]
    assert current(third.messages[0]) == ["applying"]


async def test_frames_of_a_topic_continue_each_other_without_a_hole():
    source = MemoryFrames()
    record(source)
    other = make_evaluation(2, job_id="other")
    page = Page()
    async with hub_with(source) as hub:
        await hub.join(page, ONE, source.store.index)
        for number in range(1, 5):
            record(source, EVALUATION, step(number, Step.ENQUEUED))
            record(source, other)
            await page.told("frame", number + 1)
    frames = [message for message in page.messages if message["type"] == "frame"]
    have = frames[0]["index"]
    for frame in frames[1:]:
        assert frame["since"] <= have < frame["index"]
        have = frame["index"]


async def test_many_changes_in_one_moment_make_one_frame():
    source = MemoryFrames()
    record(source)
    page = Page()
    async with hub_with(source) as hub:
        await hub.join(page, ONE, source.store.index)
        for number in range(1, 101):
            record(source, EVALUATION, step(number, Step.ENQUEUED))
        _, message = await page.told("frame", 2)
    assert message["index"] == source.store.index
    assert len([piece for piece in message["pieces"] if piece["kind"] == "patch"]) == 1


async def test_viewers_of_one_thing_share_one_text_and_cost_no_query():
    source = MemoryFrames()
    record(source)
    pages = [Page() for _ in range(50)]
    async with hub_with(source) as hub:
        for page in pages:
            await hub.join(page, ONE, source.store.index)
        reads = source.reads
        record(source, EVALUATION.changed(status=EvalStatus.COMPLETE), step(1, Step.COMPLETE))
        messages = [(await page.told("frame", 2))[1] for page in pages]
        assert source.reads == reads
        assert len(hub.groups) == 1
    assert all(message == messages[0] for message in messages)


async def test_a_hint_shows_at_once_and_the_record_repeats_it_without_harm():
    source = MemoryFrames()
    record(source, EVALUATION, step(1, Step.CREATED))
    page = Page()
    async with hub_with(source) as hub:
        await hub.join(page, ONE, source.store.index)
        hub.publish([step(2, Step.DEQUEUED)])
        (hint,) = await page.told("hint")
        record(source, EVALUATION, step(2, Step.DEQUEUED))
        _, frame = await page.told("frame", 2)
    assert "index" not in hint
    assert (current(hint), current(frame)) == (["scheduling"], [])


async def test_hints_without_viewers_are_forgotten():
    hub = Hub()
    hub.publish([step(1, Step.DEQUEUED)])
    assert hub._hints == []


async def test_an_index_before_the_log_asks_for_a_reload():
    source = MemoryFrames()
    record(source)
    record(source)
    source.trimmed_before = 2
    page = Page()
    async with hub_with(source) as hub:
        await hub.join(page, ONE, 1)
    assert page.messages == [
        {"type": "reload", "reason": "too far behind", "index": source.store.index}
    ]


async def test_what_stands_whole_is_told_without_frames_or_a_read():
    counts = Subscription("navigation", "*", None, frozenset({"node:read"}))
    source = MemoryFrames()
    for _ in range(3):
        record(source)
    source.trimmed_before = 3
    first, later = Page(), Page()
    async with hub_with(source) as hub:
        await hub.join(first, counts, source.store.index)
        reads = source.reads
        await hub.join(later, counts, 1)
        assert source.reads == reads
    (told,) = later.messages
    assert (told["type"], told["since"], told["index"]) == ("frame", 1, source.store.index)
    assert [piece["kind"] for piece in told["pieces"]] == ["facts"]


async def test_a_follower_that_lost_frames_makes_every_page_reload():
    source = MemoryFrames()
    record(source)
    page = Page()
    async with hub_with(source) as hub:
        await hub.join(page, ONE, source.store.index)
        for listener in source.listeners:
            listener(None)
        (message,) = await page.told("reload")
    assert message["index"] == source.store.index


async def test_feeds_whose_frames_were_lost_are_read_anew():
    source = MemoryFrames()
    record(source, EVALUATION, step(1, Step.CREATED))
    page, later = Page(), Page()
    async with hub_with(source) as hub:
        await hub.join(page, ONE, source.store.index)
        listeners, source.listeners = source.listeners, []
        record(source, EVALUATION, step(2, Step.DEQUEUED))
        source.listeners = listeners
        for listener in listeners:
            listener(None)
        (message,) = await page.told("reload")
        # Somebody who does not load again, beside one who stays.
        await hub.join(later, ONE, message["index"])
        record(source, EVALUATION, step(3, Step.PLAN_SUBMITTED))
        (standing, _), (_, changed) = await later.told("frame", 2), await page.told("frame", 2)
    assert (current(standing), current(changed)) == (["scheduling"], ["applying"])


class Stumbling(EvaluationFeed):
    """A feed with a fault in it: it cannot take note of a plan."""

    def observe(self, frame):
        if any(getattr(event.value, "step", "") == Step.PLAN_SUBMITTED for event in frame.events):
            raise ValueError("a change that it does not know")
        super().observe(frame)


async def test_a_feed_that_cannot_take_note_of_a_change_is_read_anew_and_no_other():
    """It stays while anybody looks: without this it would show old states for ever."""
    source, other = MemoryFrames(), Subscription("evaluation", EVALUATION.id, None)
    record(source, EVALUATION, step(1, Step.CREATED))
    page, later, beside = Page(), Page(), Page()

    def feed_for(subscription):
        return (Stumbling if subscription is ONE else EvaluationFeed)(subscription)

    async with hub_with(source, feed_for) as hub:
        # The one that stumbles is the first to hear of each change.
        await hub.join(page, ONE, source.store.index)
        await hub.join(beside, other, source.store.index)
        record(source, EVALUATION, step(2, Step.PLAN_SUBMITTED))
        (_, drawn), (message,) = await beside.told("frame", 2), await page.told("reload")
        await hub.join(later, ONE, message["index"])
        (standing,) = await later.told("frame")
    assert current(drawn) == current(standing) == ["applying"]
    assert not [message for message in beside.messages if message["type"] == "reload"]


def feed_with_head(subscription):
    """With a panel, which asks the reader."""
    panel = Panel(
        "head", "dashboard/partials/_facts.html", lambda *_: {}, frozenset({Topic.EVALUATION})
    )
    return EvaluationFeed(subscription, Parts((panel,)))


def targets(message):
    return {piece.get("target", piece["kind"]) for piece in message["pieces"]}


async def test_what_needs_no_reader_is_shown_before_the_rest_is_read():
    source = MemoryFrames()
    record(source)
    page = Page()
    async with hub_with(source, feed_with_head) as hub:
        await hub.join(page, ONE, source.store.index)
        record(source)
        _, frame = await page.told("frame", 2)
        (hint,) = await page.told("hint")
    assert page.messages.index(hint) < page.messages.index(frame)
    assert targets(hint) == {"patch", "steps", "path"}
    assert (targets(frame), frame["since"], frame["index"]) == ({"head"}, 2, 3)


class Ageing(Feed):
    """Something that only time changes."""

    def __init__(self, subscription, parts):
        super().__init__(subscription, parts)
        self.is_over = False

    def is_due(self, now):
        is_due, self.is_over = not self.is_over, True
        self._stale |= {panel.target for panel in self.panels if is_due}
        return is_due


async def test_what_time_alone_has_changed_is_as_old_as_its_reading():
    source = MemoryFrames()
    record(source)
    page = Page()
    head = Panel("head", "dashboard/partials/_empty.html", lambda *_: {}, frozenset())
    async with hub_with(source, lambda one: Ageing(one, Parts((head,)))) as hub:
        await hub.join(page, ONE, source.store.index)
        _, aged = await page.told("frame", 2)
    assert aged["at"] == FixedClock().now() // 1_000_000


class HoldingBack(Feed):
    """Tells what changed, but not so soon after it told something."""

    asks_at = None
    told_at = 0

    def _note(self, event, index):
        super()._note(event, index)
        self.asks_at, self._stale = self.told_at + 50_000_000, set()

    def is_due(self, now):
        if self.asks_at is None or now < self.asks_at:
            return False
        self.asks_at, self.told_at = None, now
        self._stale |= {panel.target for panel in self.panels}
        return True


async def test_the_last_change_of_a_burst_is_told_when_its_feed_asks_not_with_a_beat(monkeypatch):
    monkeypatch.setattr("dashboard.live.hub.BEAT_INTERVAL", 10 * PATIENCE_S)
    source, page, numbers = MemoryFrames(), Page(), count()
    record(source)
    head = Panel(
        "head", "dashboard/partials/_facts.html",
        lambda *_: {"facts": [{"word": "Number", "value": next(numbers)}]},
        frozenset({Topic.EVALUATION}),
    )  # fmt: skip
    async with hub_with(
        source, lambda one: HoldingBack(one, Parts((head,))), SystemClock()
    ) as hub:
        await hub.join(page, ONE, source.store.index)
        record(source)
        await page.told("frame", 2)
        record(source)
        *_, held_back = await page.told("frame", 3)
    # It is as old as its commit, not as its reading.
    assert (held_back["index"], held_back["at"]) == (source.store.index, SOME_MOMENT // 1_000_000)


async def test_no_beat_says_that_all_was_told_while_a_feed_holds_something_back(monkeypatch):
    monkeypatch.setattr("dashboard.live.hub.BEAT_INTERVAL", 0.001)
    monkeypatch.setattr("dashboard.live.hub.BEAT_GRACE", 10 * PATIENCE_S)
    source, page, numbers = MemoryFrames(), Page(), count()
    record(source)
    head = Panel(
        "head", "dashboard/partials/_facts.html",
        lambda *_: {"facts": [{"word": "Number", "value": next(numbers)}]},
        frozenset({Topic.EVALUATION}),
    )  # fmt: skip
    async with hub_with(
        source, lambda one: HoldingBack(one, Parts((head,))), SystemClock()
    ) as hub:
        await hub.join(page, ONE, source.store.index)
        for frames in (2, 3, 4):
            record(source)
            await page.told("frame", frames)
        await page.told("beat")
    told_to = 0
    for message in page.messages:
        if message["type"] == "frame":
            told_to = message["index"]
        elif message["type"] == "beat":
            assert message["index"] <= told_to


async def test_a_frame_says_the_index_although_all_was_told_ahead():
    source = MemoryFrames()
    record(source)
    page = Page()
    async with hub_with(source, feed_with_head) as hub:
        await hub.join(page, ONE, source.store.index)
        for count in (2, 3):
            record(source)
            await page.told("frame", count)
    last = (await page.told("frame", 3))[-1]
    assert (last["pieces"], last["index"]) == ([], 4)


async def test_who_was_ahead_is_told_what_is_old_to_the_others():
    source = MemoryFrames()
    record(source)
    page = Page()
    async with hub_with(source, feed_with_head) as hub:
        await hub.join(page, ONE, source.store.index)
        for count in (2, 3):
            record(source)
            await page.told("frame", count)
        await hub.join(Page(), ONE, source.store.index + 1)
        record(source)
        frames = await page.told("frame", 4)
    assert ["head" in targets(frame) for frame in frames] == [False, True, False, True]


async def test_a_quiet_page_is_told_the_index_by_a_beat():
    source = MemoryFrames()
    record(source)
    page = Page()
    async with hub_with(source) as hub:
        await hub.join(page, ONE, source.store.index)
        (beat,) = await page.told("beat")
    assert beat == {"type": "beat", "index": source.store.index, "at": SOME_MOMENT // 1_000_000}


async def test_the_last_viewer_to_leave_ends_the_following():
    source = MemoryFrames()
    record(source)
    first, second = Page(), Page()
    hub = Hub()
    hub.wire(source, FixedClock())
    await hub.join(first, ONE, 0)
    await hub.join(second, ONE, 0)
    await hub.leave(first)
    assert len(source.listeners) == 1
    await hub.leave(second)
    assert (source.listeners, hub.groups) == ([], {})
    assert [task for task in asyncio.all_tasks() if task.get_name() == "live hub"] == []


@pytest.mark.parametrize("turns", range(6))
async def test_leaving_ends_the_following_although_news_come_in_that_moment(turns):
    source = MemoryFrames()
    record(source)
    page = Page()
    async with hub_with(source) as hub:
        await hub.join(page, ONE, source.store.index)
        await page.told("beat")
        hub.publish([step(1, Step.DEQUEUED)])
        for _ in range(turns):
            await asyncio.sleep(0)
        async with asyncio.timeout(PATIENCE_S):
            await hub.leave(page)
    assert source.listeners == []


@pytest.mark.parametrize("namespace", ["default", "secret"])
async def test_rows_of_other_namespaces_never_reach_a_list(namespace):
    source = MemoryFrames()
    page = Page()
    subscription = Subscription("allocations", "*", frozenset({"default"}))
    rows = RowList(
        Topic.EVALUATION, "rows", "dashboard/partials/_state.html",
        lambda value, *_: {"label": ("x", "x", "x"), "word": value.id},
    )  # fmt: skip
    async with hub_with(source, lambda followed: Feed(followed, Parts(lists=(rows,)))) as hub:
        await hub.join(page, subscription, source.store.index)
        record(source, make_evaluation(3, namespace=namespace))
        record(source, make_evaluation(4))
        _, message = await page.told("frame", 2)
    ids = {piece["target"] for piece in message["pieces"]}
    hidden = f"rows-{make_evaluation(3).id}"
    assert (hidden in ids) == (namespace == "default")
    assert f"rows-{make_evaluation(4).id}" in ids
