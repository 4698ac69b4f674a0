"""Notifications in the own browser: the choice is kept, and nobody is told what is not theirs."""

import json

import pytest
from django.contrib.auth.models import User
from msgspec.structs import replace

from cluster.notifications.detect import Condition
from dashboard import notices as module
from dashboard.notices import NoticeWish, SharedLook, choice_of, notices_for, read_choice
from dashboard.viewer import Viewer
from scheduler.access.access import Access
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.structs.node import NodeStatus
from scheduler.structs.webhook import NoticeKind
from tests.builders import SOME_MOMENT, make_node
from tests.callers import MANAGER
from tests.dashboard.views.conftest import Browser
from tests.people import account

SECOND = 1_000_000_000
EVERY = NoticeWish(kinds=frozenset(NoticeKind), blocked_after=60)
LOST = Condition(kind=NoticeKind.NODE_LOST, key="n", text="Node n1 is down.", path="/nodes/n/")
LOOP = Condition(
    kind=NoticeKind.CRASH_LOOP, key="c", text="Job web fails.", path="/jobs/", namespace="team"
)


@pytest.fixture
def lost_node(store):
    def lose(change):
        put_found(change, replace(make_node(7), name="n7", status=NodeStatus.DOWN))

    store.write(WriteKind.NODE_REGISTRATION, lose, now=SOME_MOMENT)


@pytest.fixture(autouse=True)
def fresh_look(monkeypatch):
    monkeypatch.setattr("dashboard.views.notices._LOOK", SharedLook())


def asked(browser):
    return json.loads(browser.get("/notices").text)


def test_nobody_is_told_anything_before_asking_for_it(browser, lost_node):
    assert asked(browser) == {"wants": False, "notices": []}
    assert "checked" not in browser.get("/account/").text.partition("Tell me when")[2][:2000]


def test_what_was_chosen_is_kept_and_told(browser, lost_node):
    answer = browser.post("/account/notices/", kind=["node-lost", "blocked"], minutes="7")
    assert answer.status == 302
    assert choice_of(User.objects.get(username="kim").pk) == NoticeWish(
        kinds=frozenset({NoticeKind.NODE_LOST, NoticeKind.BLOCKED}), blocked_after=420
    )
    told = asked(browser)
    assert told["wants"]
    assert [each["title"] for each in told["notices"]] == ["Node lost"]
    assert "n7" in told["notices"][0]["text"]
    assert told["notices"][0]["path"].startswith("/nodes/")
    browser.post("/account/notices/", minutes="5")
    assert asked(browser) == {"wants": False, "notices": []}


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"kind": "node-lost", "minutes": "0"}, "Write 1 to 43200 minutes."),
        ({"kind": "node-lost", "minutes": "-1"}, "Write 1 to 43200 minutes."),
        ({"kind": "node-lost", "minutes": "9999999"}, "Write 1 to 43200 minutes."),
        ({"kind": "everything", "minutes": "5"}, "There is no such kind."),
        ({"kind": "node-lost"}, "Write 1 to 43200 minutes."),
    ],
)
def test_a_choice_that_makes_no_sense_changes_nothing(browser, fields, told):
    browser.post("/account/notices/", kind="node-lost", minutes="5")
    browser.post("/account/notices/", **fields)
    assert told in browser.get("/account/").text
    assert choice_of(User.objects.get(username="kim").pk).kinds == {NoticeKind.NODE_LOST}


def test_the_choice_is_of_one_account_alone(store, browser, lost_node):
    browser.post("/account/notices/", kind="node-lost", minutes="5")
    assert not asked(Browser(account(store, "operator")))["wants"]


def test_who_may_not_look_at_nodes_is_not_told_of_them(store, lost_node):
    groupless = Browser(account(store, "groupless"))
    groupless.post("/account/notices/", kind="node-lost", minutes="5")
    assert asked(groupless) == {"wants": True, "notices": []}


def test_a_program_that_is_signed_out_is_told_so(store):
    assert Browser().get("/notices").status == 401


def viewer(access, namespaces):
    caller = replace(MANAGER, access=access)
    return Viewer(name="kim", now=0, caller=caller, namespaces=namespaces)


def test_only_what_the_person_may_read_is_told():
    nothing = viewer(Access(), frozenset({"default"}))
    assert notices_for([LOST, LOOP], EVERY, nothing, 0) == []
    team = viewer(Access(), frozenset({"team"}))
    assert [each.key for each in notices_for([LOST, LOOP], EVERY, team, 0)] == ["c"]
    everything = viewer(MANAGER.access, None)
    assert {each.key for each in notices_for([LOST, LOOP], EVERY, everything, 0)} == {"n", "c"}


def test_what_waits_is_told_after_the_time_that_was_chosen():
    waits = Condition(
        kind=NoticeKind.BLOCKED, key="b", text="t", path="/", namespace="team", since=10 * SECOND
    )
    team = viewer(Access(), frozenset({"team"}))
    assert notices_for([waits], EVERY, team, 69 * SECOND) == []
    assert len(notices_for([waits], EVERY, team, 70 * SECOND)) == 1


def test_one_look_serves_all_and_a_dear_one_longer(monkeypatch):
    looks = []
    monkeypatch.setattr(module, "conditions", lambda reader, now: looks.append(now) or [LOST])

    class Store:
        def read(self, question):
            clock.at += 1.0
            return question(None)

    class Clock:
        at = 100.0

        def monotonic(self):
            return self.at

        def now(self):
            return 5

    clock, store, look = Clock(), Store(), SharedLook()
    assert look.conditions(store, clock) == [LOST]
    clock.at += 19
    look.conditions(store, clock)
    assert len(looks) == 1
    clock.at += 2
    look.conditions(store, clock)
    assert len(looks) == 2


def test_every_kind_has_words_and_is_read():
    assert set(module.WORDS) == set(NoticeKind)
    assert read_choice([kind.value for kind in NoticeKind], "1") == (EVERY, "")
