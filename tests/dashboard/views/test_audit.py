"""The page of the audit: who did what, narrowed by what people know, for those who may read it."""

import json

import pytest

from cluster.store.audit_entries import FAILED, REFUSED, Act, Actor, entry_of

SECOND = 1_000_000_000
KIM = Actor("person", "7", "kim", "10.1.7.22", "page")
BOT = Actor("token", "91d0e2aa-1111-2222-3333-444444444444", "deploy-bot", "10.4.0.9", "api")
STRANGER = Actor(address="203.0.113.40")


@pytest.fixture
def now(browser):
    """The instant at which pages are asked for."""
    return browser.get("/audit/").context["now"]


@pytest.fixture
def filled(store, browser, now):
    """Within the last minutes: done, refused 32 times, not done."""

    def note(who, act, seconds_ago, **more):
        store.audit.note(entry_of(who, act, at=now - seconds_ago * SECOND, **more))

    note(KIM, Act("stop job", "job", "web/v 1", "default"), 300, made_index=1234)
    note(BOT, Act("register job", "job", "mailer", "team", "version 8"), 200)
    for _ in range(32):
        reason = {"reason": "not allowed", "missing_right": "submit-job in namespace default"}
        note(STRANGER, Act("stop job", "job", "web", "default"), 100, result=REFUSED, **reason)
    note(BOT, Act("drain node", "node", "0123456789"), 50, result=FAILED, reason="disk full")
    store.audit.flush()
    return browser


def test_an_act_is_told_with_who_what_why_not_and_from_where(filled):
    text = filled.get("/audit/").text
    assert "32 of 35 acts in the last hour were refused" in text
    assert "32 of them came from 203.0.113.40." in text
    assert "1 act could not be done." in text
    for part in (
        "not allowed; needs submit-job in namespace default; 31 more within a minute",
        'href="/jobs/default/web/v%201/"',
        "index 1\N{NARROW NO-BREAK SPACE}234",
        "version 8",
        'href="/nodes/0123456789/"',
        "10.4.0.9",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["drain node", "stop job", "register job", "stop job"]),
        ({"who": "kim"}, ["stop job"]),
        ({"who": "token"}, ["drain node", "register job"]),
        ({"act": "stop job"}, ["stop job", "stop job"]),
        ({"result": "refused"}, ["stop job"]),
        ({"door": "page"}, ["stop job"]),
        ({"q": "MAIL"}, ["register job"]),
        ({"when": "hour", "result": "failed"}, ["drain node"]),
        ({"when": "between", "since": "2001-01-01T00:00", "until": "2001-01-02T00:00"}, []),
        (
            {"result": "nonsense", "when": "'", "below": "x"},
            ["drain node", "stop job", "register job", "stop job"],
        ),
    ],
)
def test_filters_leave_what_they_say(filled, query, expected):
    assert [row["entry"].act for row in filled.get("/audit/", **query).context["rows"]] == expected


def test_a_filter_that_nothing_fits_says_so(filled):
    assert "No entry fits these filters." in filled.get("/audit/", who="nobody-of-that-name").text


def test_an_empty_audit_says_what_will_stand_there(browser):
    text = browser.get("/audit/").text
    assert "Nothing was asked for in the last hour." in text
    assert "Whatever people, programs and joining nodes ask for stands here" in text


def test_pages_follow_each_other(store, browser, now, monkeypatch):
    monkeypatch.setattr("dashboard.views.audit.PAGE_SIZE", 2)
    for number in range(5):
        store.audit.note(entry_of(KIM, Act("stop job", "job", f"job-{number}"), at=now + number))
    store.audit.flush()
    url, seen = "/audit/?who=kim", []
    while url:
        page = browser.get(url)
        seen += [row["target"] for row in page.context["rows"]]
        url = page.context["next_url"]
    assert seen == [f"job-{number}" for number in (4, 3, 2, 1, 0)]


def test_the_page_hears_that_there_is_more(filled, store, now):
    address = filled.get("/audit/").context["newer_url"]
    assert json.loads(filled.get(address).text) == {"newer": 0, "is_all": True}
    store.audit.note(entry_of(KIM, Act("sign out"), at=now))
    store.audit.flush()
    assert json.loads(filled.get(address).text) == {"newer": 1, "is_all": True}


def test_the_rows_that_fit_are_downloaded_as_lines_of_json(filled):
    lines = filled.get("/audit.json", who="token").text.splitlines()
    assert [json.loads(line)["act"] for line in lines] == ["drain node", "register job"]


def test_who_may_not_read_it_is_told_which_right_is_missing(filled, guest, stranger):
    refused = guest.get("/audit/")
    assert (refused.status, guest.get("/audit.json").status) == (403, 403)
    assert guest.get("/audit/newer").status == 403
    assert "operator:read" in refused.text
    assert "deploy-bot" not in refused.text
    assert stranger.get("/audit/").status == 302


def test_hostile_names_are_text(store, browser, now):
    name = '<script>alert(1)</script>"\N{RIGHT-TO-LEFT OVERRIDE}'
    who = Actor("token", name, name, name)
    store.audit.note(entry_of(who, Act("stop job", "job", name, name), at=now))
    store.audit.flush()
    text = browser.get("/audit/").text
    assert "<script>alert" not in text
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in text
    assert browser.get("/audit/", q=name, who=name).status == 200


def test_the_way_to_it_is_shown_to_those_who_may_read_it(browser, guest):
    assert 'href="/audit/"' in browser.get("/nodes/").text
    assert 'href="/audit/"' not in guest.get("/nodes/").text


def test_an_agent_is_shown_by_the_first_digits_and_a_rehearsal_by_its_page(store, browser, now):
    node = "0123456789-node"
    agent = Actor("agent", node, node, "10.0.0.1", "agent")
    store.audit.note(entry_of(agent, Act("join", "node", node), at=now))
    store.audit.note(entry_of(KIM, Act("rehearse", "rehearsal", "abcdef0123"), at=now))
    store.audit.flush()
    rows = {row["entry"].act: row for row in browser.get("/audit/").context["rows"]}
    assert (rows["join"]["who"], rows["join"]["entry"].who_id) == ("01234567", node)
    assert rows["rehearse"]["target_url"] == "/what-if/abcdef0123/"
    assert rows["rehearse"]["target"] == "abcdef01"
