"""An address that nothing has: the frame of every page, for the signed-out the door."""

import re

import pytest
from django.test import Client

from cluster.store.access import the_store
from cluster.store.faults import RecordAway
from tests.dashboard.views.conftest import Browser
from tests.people import account

UNKNOWN = "/nowhere/web-1/"


@pytest.mark.parametrize("path", [UNKNOWN, "/jobs/default/web-1/", "/admin/nowhere/web-1/"])
def test_what_was_asked_for_is_told_with_the_navigation_and_a_search(browser, path):
    answer = browser.get(path)
    assert answer.status == 404
    assert f"Nothing that you may see has the address {path}." in answer.text
    assert '<nav class="nav"' in answer.text
    assert 'href="/jobs/"' in answer.text
    assert 'name="q" value="web-1"' in answer.text


def test_who_is_signed_out_is_told_no_more_than_to_sign_in(store):
    answer = Browser().get(UNKNOWN)
    assert answer.status == 404
    assert f"No page has the address {UNKNOWN}." in answer.text
    assert 'href="/login/?next=/"' in answer.text
    assert "<nav" not in answer.text


def test_an_address_is_text_and_not_markup(browser):
    answer = browser.get("/<b>bold</b>/")
    assert "&lt;b&gt;bold&lt;/b&gt;" in answer.text
    assert "<b>bold" not in answer.text


def test_a_very_long_address_is_cut(browser):
    answer = browser.get(f"/{'a' * 3_000}/")
    assert answer.status == 404
    assert max(map(len, re.findall("a+", answer.text))) < 200


def test_who_is_in_no_group_has_no_search(store):
    answer = Browser(account(store, "groupless")).get(UNKNOWN)
    assert answer.status == 404
    assert 'name="q"' not in answer.text


def test_programs_are_told_in_their_own_way(store):
    answer = Client().get(UNKNOWN, headers={"Accept": "application/json"})
    assert answer.status_code == 404
    assert answer.json() == {"error": "Nothing has this address."}


def test_a_record_that_is_away_is_told_instead(browser, monkeypatch):
    async def away(*_):
        raise RecordAway("the disk is full")

    monkeypatch.setattr(the_store(), "aread_call", away)
    answer = browser.get(UNKNOWN)
    assert answer.status == 503
    assert "The record cannot be used" in answer.text


def test_what_nobody_changes_by_hand_is_told_in_the_same_frame(browser):
    answer = browser.get("/admin/cluster/noderow/add/")
    assert answer.status == 403
    assert "Nobody changes this here" in answer.text
    assert '<nav class="nav"' in answer.text
