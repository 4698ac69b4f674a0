"""`manage.py audit`: who did what, as lines for people and as JSON for programs."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from cluster.management.commands import audit as command
from cluster.store.audit_entries import Act, Actor, entry_of
from tests.builders import SOME_MOMENT
from tests.process_store import store

__all__ = ["store"]

KIM = Actor(kind="person", name="kim", door="page", address="10.0.0.1")
CI = Actor(kind="token", name="ci", door="api")
HOUR = 3600 * 10**9


def said(*words):
    out = StringIO()
    call_command("audit", *words, stdout=out)
    return out.getvalue()


def acts_told(*words):
    return [json.loads(line)["act"] for line in said("--json", *words).splitlines()]


@pytest.fixture(autouse=True)
def acts(store, monkeypatch):
    """Three acts, an hour apart; it is a minute after the last."""
    for hour, (who, act, result) in enumerate(
        [
            (KIM, Act("stop job", target_kind="job", target_id="w", namespace="t"), "done"),
            (CI, Act("drain node", target_kind="node", target_id="n1"), "refused"),
            (KIM, Act("sign in"), "done"),
        ]
    ):
        entry = entry_of(who, act, at=SOME_MOMENT + hour * HOUR, result=result)
        store.audit.note(entry)
    store.audit.flush()
    last = SOME_MOMENT + 2 * HOUR + 60 * 10**9
    monkeypatch.setattr(command.SystemClock, "now", lambda _self: last)


def test_the_newest_comes_first_in_a_line_of_its_own():
    assert said().splitlines() == [
        "2025-06-15T17:06:40.000Z  done     kim (person)  sign in  by page from 10.0.0.1",
        "2025-06-15T16:06:40.000Z  refused  ci (token)  drain node n1  by api",
        "2025-06-15T15:06:40.000Z  done     kim (person)  stop job w in t  by page from 10.0.0.1",
    ]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        pytest.param(["--since", "90m"], ["sign in", "drain node"], id="age"),
        pytest.param(["--until", "2025-06-15T15:30"], ["stop job"], id="instant"),
        pytest.param(["--until", "2025-06-15T17:30+02:00"], ["stop job"], id="with-zone"),
        pytest.param(["--since", "999999999d"], ["sign in", "drain node", "stop job"], id="old"),
        pytest.param(["--since", "9999-12-31"], [], id="far-ahead"),
        pytest.param(["--until", "1900-01-01"], [], id="before-all"),
        pytest.param(["--who", "kim", "--act", "stop"], ["stop job"], id="who-and-act"),
        pytest.param(["--result", "refused"], ["drain node"], id="result"),
        pytest.param(["--door", "page", "--limit", "1"], ["sign in"], id="door-and-limit"),
        pytest.param(["--text", "n1"], ["drain node"], id="text"),
    ],
)
def test_acts_are_chosen(words, found):
    assert acts_told(*words) == found


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["--since", "soon"], "--since 'soon' is neither an age such as", id="since"),
        pytest.param(["--until", "7 d"], "--until '7 d' is neither an age such as", id="until"),
        pytest.param(["--limit", "-1"], "argument --limit: at least 0", id="limit"),
        pytest.param(["--result", "maybe"], "argument --result: invalid choice", id="result"),
    ],
)
def test_what_cannot_be_read_is_named(words, told):
    with pytest.raises(CommandError) as refusal:
        said(*words)
    assert told in str(refusal.value)


def test_following_tells_what_comes_oldest_first(store, monkeypatch):
    looks = iter([[Act("stop job", target_id="a"), Act("stop job", target_id="b")], None])

    def pause(_seconds):
        fresh = next(looks)
        if fresh is None:
            raise KeyboardInterrupt
        for number, act in enumerate(fresh):
            store.audit.note(entry_of(KIM, act, at=SOME_MOMENT + 3 * HOUR + number))
        store.audit.flush()

    monkeypatch.setattr(command.time, "sleep", pause)
    told = [json.loads(line)["target_id"] for line in said("--follow", "--json").splitlines()]
    assert told == ["a", "b"]
