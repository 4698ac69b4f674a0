"""The page of the scheduler, its buttons, and what it says without a leader."""

import pytest
from msgspec.structs import replace

from cluster.store.leader_news import LeaderNews
from dashboard.panels import feed_for
from dashboard.queries.scheduler import scheduler_parts
from dashboard.subscription import Subscription
from scheduler.broker.places import BrokerStats
from scheduler.broker.worker_told import HeldFor, WorkerTold
from scheduler.leader_stats import LeaderStats
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.story_nouns import STORIES
from scheduler.structs.counted import CountedTime
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.scheduler_settings import NodeRejection
from scheduler.structs.story import StoryKind
from tests.builders import SOME_MOMENT, make_evaluation
from tests.dashboard.views.conftest import Browser
from tests.people import account_with

S = 1_000_000_000


def settings_of(store):
    return store.read(lambda reader: reader.scheduler_settings())


def change(browser, store, act, **fields):
    seen = str(settings_of(store).modify_index)
    browser.post("/scheduler/change/", act=act, **{"seen": seen, **fields})
    return settings_of(store)


def waits(store, *evaluations):
    def work(change):
        for each in evaluations:
            put_found(change, each)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)


def test_without_a_leader_the_page_says_so_and_tells_what_the_record_knows(browser, store):
    waits(store, make_evaluation(1, triggered_by="node-update", status=EvalStatus.PENDING))
    text = browser.get("/scheduler/").text
    assert "<strong>No leader answers.</strong>" in text
    assert "1 evaluation, priority 50" in text
    assert "no leader says how many now" in text


def test_the_settings_say_who_changed_them_last_and_when(browser, store):
    def told():
        text = browser.get("/scheduler/").text
        return text.partition('id="scheduler-settings"')[2].partition("</section>")[0]

    assert "changed last" not in told()
    stored = change(browser, store, "memory", value="yes")
    (story,) = store.read(
        lambda reader: [
            each for each in reader.list_all(STORIES) if each.kind is StoryKind.CONFIGURATION
        ]
    )
    head = told().partition("</p>")[0]
    assert story.actor
    assert f"by {story.actor}, at index" in " ".join(head.split()).replace(" ,", ",")
    assert f'href="/stories/{story.id}/">changed last</a>' in head
    assert f"{stored.modify_index}" in head
    assert browser.get(f"/stories/{story.id}/").status == 200
    assert (
        "change scheduler settings" in browser.get("/audit/", act="change scheduler settings").text
    )
    # Of a change whose story is gone, the index is left.
    store.write("Test", lambda opened: opened.delete(STORIES, story.id), now=SOME_MOMENT)
    assert "changed last at index" in " ".join(told().split())


def test_what_the_leader_told_stands_beside_the_record(store):
    first = make_evaluation(1, status=EvalStatus.PENDING)
    hidden = make_evaluation(2, status=EvalStatus.PENDING, namespace="secret")
    waits(store, first, hidden)
    workers = (
        WorkerTold(process="h/1/a", held=(HeldFor(first.id, begun=True, seconds=0.1),)),
        WorkerTold(process="h/1/b", held=(HeldFor(hidden.id, begun=True, seconds=3.0),)),
    )
    stats = LeaderStats(
        broker=BrokerStats(total_unacked=2), worker_processes=2, busy_worker_processes=2,
        workers=workers,
    )  # fmt: skip
    told = LeaderNews(at=SOME_MOMENT, epoch=4, stats=stats)
    seen = frozenset({"default"})
    parts = store.read(lambda reader: scheduler_parts(reader, told, seen, SOME_MOMENT))
    assert [(line.word, line.evaluation) for line in parts["workers"]] == [
        ("thinks", first), ("thinks for long", None),
    ]  # fmt: skip
    assert parts["waiting"] == ()
    assert parts["places"]["hand"] == 2


def test_it_is_paused_by_the_typed_word_only_and_goes_on(browser, store):
    assert not change(browser, store, "pause", typed="yes").pause_eval_broker
    assert "type pause to confirm" in browser.get("/scheduler/").text
    assert change(browser, store, "pause", typed="pause").pause_eval_broker
    assert "Paused: no evaluation is taken." in browser.get("/scheduler/").text
    assert not change(browser, store, "resume").pause_eval_broker


@pytest.mark.parametrize(
    ("act", "fields", "read", "value"),
    [
        pytest.param("algorithm", {"algorithm": "spread"}, "scheduler_algorithm", "spread",
                     id="algorithm"),
        pytest.param("registration", {"reject": "yes"}, "reject_job_registration", True,
                     id="registration"),
        pytest.param("memory", {"allow": "yes"}, "memory_oversubscription_enabled", True,
                     id="memory"),
    ],
)  # fmt: skip
def test_a_setting_is_changed_alone(browser, store, act, fields, read, value):
    before = settings_of(store)
    after = change(browser, store, act, **fields)
    differ = {
        name for name in before.__struct_fields__ if getattr(before, name) != getattr(after, name)
    }
    assert getattr(after, read) == value
    assert differ <= {read, "create_index", "modify_index"}


def test_preemption_is_what_is_ticked(browser, store):
    config = change(browser, store, "preemption", service="on").preemption_config
    assert (config.service_scheduler_enabled, config.system_scheduler_enabled) == (True, False)


@pytest.mark.parametrize(
    ("act", "fields"),
    [
        pytest.param("algorithm", {"algorithm": "wrong"}, id="unknown-algorithm"),
        pytest.param("nothing", {}, id="unknown-setting"),
        pytest.param("memory", {"allow": "yes", "seen": "999"}, id="moved-on"),
        pytest.param("memory", {"allow": "yes", "seen": "x"}, id="no-index"),
    ],
)
def test_what_is_wrong_or_late_changes_nothing_and_says_so(browser, store, act, fields):
    before = settings_of(store)
    assert change(browser, store, act, **fields) == before
    assert "Nothing was changed:" in browser.get("/scheduler/").text


def test_when_a_disputed_node_is_closed_is_set_on_the_page_and_taken_back(browser, store):
    assert "after <strong>100</strong>" in browser.get("/scheduler/").text
    fields = {"enabled": "yes", "refusals": "15", "window": "90s"}
    stored = change(browser, store, "rejection", **fields).node_rejection
    assert stored == NodeRejection(refusals=15, window=90 * S)
    text = browser.get("/scheduler/").text
    assert "A node that refuses 15 plans in 1 min 30 s is closed." in text
    assert 'data-fill-refusals="15" data-fill-window="1m30s"' in " ".join(text.split())
    off = change(browser, store, "rejection", **fields | {"enabled": "no"}).node_rejection
    assert off == replace(stored, enabled=False)
    assert change(browser, store, "rejection", started="yes").node_rejection is None


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        pytest.param({"refusals": "x", "window": "y"},
                     "refusals must be a whole number; within must be a time such as 90s or 5m",
                     id="unreadable"),
        pytest.param({"refusals": "1", "window": "2s"}, "refusals must be from 2 to 1000",
                     id="out-of-bounds"),
        pytest.param({"refusals": "5", "window": "2s", "seen": "77"}, "somebody changed",
                     id="moved-on"),
    ],
)  # fmt: skip
def test_a_wrong_threshold_changes_nothing_and_says_why(browser, store, fields, told):
    assert change(browser, store, "rejection", enabled="yes", **fields).node_rejection is None
    assert told in browser.get("/scheduler/").text


def test_flows_are_told_over_the_time_that_was_asked_for_and_no_longer_than_anybody_leads(store):
    counted = tuple(
        CountedTime(stretch=stretch, seconds=min(stretch, 200.0), counts={"plans-whole": stretch})
        for stretch in (60, 300, 3600)
    )
    told = LeaderNews(at=SOME_MOMENT, epoch=1, stats=LeaderStats(flows=counted))

    def read(window):
        return store.read(lambda reader: scheduler_parts(reader, told, None, SOME_MOMENT, window))

    assert (read("")["places"]["applied"], read("")["stretch_told"]) == (60, "last minute")
    hour = read("1h")
    assert hour["places"]["applied"] == 3600
    assert hour["stretch_told"] == "last 3 min 20 s"
    assert "this leader began 3 min 20 s ago" in hour["also"]


def test_who_may_only_look_sees_greyed_buttons(store, browser):
    rules = 'operator { policy = "read" } namespace "default" { policy = "read" }'
    text = Browser(account_with(store, rules)).get("/scheduler/").text
    assert "needs operator:write" in text
    settings = text.partition('id="scheduler-settings"')[2].partition("</section>")[0]
    assert "data-confirm=" not in settings
    assert settings.count('aria-disabled="true"') == 6
    assert 'data-confirm="pause-scheduler"' in browser.get("/scheduler/").text


def test_the_page_is_read_again_each_second(store):
    feed = feed_for(Subscription("scheduler", "*", None))
    assert feed.is_due(SOME_MOMENT)
    pieces = store.read(lambda reader: feed.flush(reader, SOME_MOMENT))
    assert {piece.target for piece in pieces} == {
        f"scheduler-{part}"
        for part in (
            "told",
            "actions",
            "flow",
            "workers",
            "waits",
            "disputed",
            "times",
            "settings",
        )
    }
    assert not feed.is_due(SOME_MOMENT + S // 2)
    assert feed.is_due(SOME_MOMENT + S)
    assert store.read(lambda reader: feed.flush(reader, SOME_MOMENT)) == ()
