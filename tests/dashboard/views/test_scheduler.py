"""The page of the scheduler, its buttons, and what it says without a leader."""

import pytest

from cluster.store.leader_news import LeaderNews
from dashboard.panels import feed_for
from dashboard.queries.scheduler import scheduler_parts
from dashboard.subscription import Subscription
from scheduler.broker.places import BrokerStats
from scheduler.broker.worker_told import HeldFor, WorkerTold
from scheduler.leader_stats import LeaderStats
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.structs.evaluation import EvalStatus
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
    assert parts["flow"]["hand"].count == "2"


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


def test_who_may_only_look_sees_greyed_buttons(store, browser):
    rules = 'operator { policy = "read" } namespace "default" { policy = "read" }'
    text = Browser(account_with(store, rules)).get("/scheduler/").text
    assert "needs operator:write" in text
    settings = text.partition('id="scheduler-settings"')[2].partition("</section>")[0]
    assert "data-confirm=" not in settings
    assert settings.count('aria-disabled="true"') == 5
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
