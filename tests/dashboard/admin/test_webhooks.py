"""Webhooks in the admin: shown without what opens them, tried by those who may."""

import html

import pytest
from django.contrib.auth.models import User
from django.test import Client

from cluster.operations.webhooks import put_webhook
from cluster.seals import opened_secret
from scheduler.access.caller import CLUSTER
from scheduler.state.webhook_nouns import WEBHOOK_DELIVERIES, WEBHOOKS
from scheduler.structs.webhook import Webhook
from tests.builders import SOME_MOMENT
from tests.people import account_with

HOOKS, DELIVERIES = "/admin/cluster/webhookrow/", "/admin/cluster/webhookdeliveryrow/"
URL = "https://chat.example/T0/very-secret"


@pytest.fixture
def operator(store):
    """The administrator's browser, and a webhook."""
    put_webhook(
        store, Webhook(name="chat"), url=URL, secret="shh-shh", by=CLUSTER, now=SOME_MOMENT
    )
    client = Client()
    client.force_login(User.objects.create_superuser("kim"))
    return client


def try_it(client):
    asked = {"action": "test_selected", "_selected_action": "chat"}
    return client.post(HOOKS, asked, follow=True)


def deliveries(store):
    return store.read(lambda reader: reader.list_all(WEBHOOK_DELIVERIES))


def test_a_webhook_is_shown_by_its_host(operator):
    for page in (HOOKS, f"{HOOKS}chat/change/"):
        text = operator.get(page).content.decode()
        assert "https://chat.example" in text
        assert "very-secret" not in text
        assert "shh-shh" not in text


def test_a_test_is_sent_by_a_button_and_its_fate_is_shown(operator, store):
    assert "A test of chat is on its way." in try_it(operator).content.decode()
    (delivery,) = deliveries(store)
    assert (delivery.webhook, delivery.state) == ("chat", "waiting")
    text = operator.get(DELIVERIES).content.decode()
    assert "A test of the webhook chat: nothing is the matter." in text
    assert "not sent yet" in text


def test_who_may_only_look_tries_none(operator, store):
    looker = Client()
    rules = 'operator { policy = "read" } node { policy = "write" }'
    looker.force_login(account_with(store, rules))
    assert "Send a test" not in looker.get(HOOKS).content.decode()
    try_it(looker)
    assert deliveries(store) == []


EDIT = f"{HOOKS}edit/"
FORM = {
    "name": "pager", "url": "https://pager.example/T1/other-secret", "secret": "s3cret",
    "kinds": ["node-lost", "drain-held"], "blocked_after": "10m", "description": "on call",
}  # fmt: skip


def stored(store, name="pager"):
    return store.read(lambda reader: reader.get(WEBHOOKS, name))


def edit(client, store, name="chat", **fields):
    seen = stored(store, name).modify_index
    return client.post(f"{EDIT}?name={name}", {"seen": seen, "blocked_after": "5m", **fields})


def test_one_is_made_by_a_form_and_its_secrets_are_shown_nowhere(operator, store):
    assert f'href="{EDIT}"' in operator.get(HOOKS).content.decode()
    answer = operator.post(EDIT, FORM)
    assert answer.headers["Location"] == f"{EDIT}?name=pager"
    kept = stored(store)
    assert (kept.kinds, kept.blocked_after) == (("node-lost", "drain-held"), 600 * 10**9)
    assert opened_secret(kept.sealed_url) == FORM["url"]
    assert opened_secret(kept.sealed_secret) == "s3cret"
    page = operator.get(answer.headers["Location"]).content.decode()
    assert "https://pager.example" in page
    assert "other-secret" not in page
    assert "s3cret" not in page


def test_a_change_keeps_address_and_secret_where_nothing_is_typed(operator, store):
    before = stored(store, "chat")
    assert edit(operator, store, is_paused="on", description="quiet").status_code == 302
    after = stored(store, "chat")
    assert (after.is_paused, after.description) == (True, "quiet")
    assert (after.sealed_url, after.sealed_secret) == (before.sealed_url, before.sealed_secret)


def test_a_span_with_parts_of_a_second_stays_as_it_was(operator, store):
    odd = Webhook(name="chat", blocked_after=1500 * 10**6)
    put_webhook(store, odd, url="", secret="", by=CLUSTER, now=SOME_MOMENT)
    edit(operator, store, blocked_after="1s")
    assert stored(store, "chat").blocked_after == 1500 * 10**6


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"url": ""}, "This field is required"),
        ({"url": "ftp://x"}, "URL must begin with http"),
        ({"kinds": ["weather"]}, "Select a valid choice"),
        ({"blocked_after": "soon"}, "Write a duration such as 10m."),
        ({"blocked_after": "999d"}, "BlockedAfter must be between"),
        ({"secret": "s" * 257}, "secret longer than 256"),
        ({"name": "<b>"}, "name"),
        ({"name": "chat"}, "There is a webhook chat already."),
    ],
)
def test_rubbish_is_refused_by_name_as_by_the_api(operator, store, fields, words):
    before = store.read(lambda reader: reader.index)
    answer = operator.post(EDIT, FORM | fields)
    assert (answer.status_code, words in html.unescape(answer.content.decode())) == (200, True)
    assert store.read(lambda reader: reader.index) == before


def test_it_is_tried_from_its_form_which_shows_what_came_of_it(operator, store):
    assert "None yet." in operator.get(f"{EDIT}?name=chat").content.decode()
    answer = operator.post(f"{EDIT}?name=chat", {"_test": "Send a test"})
    page = operator.get(answer.headers["Location"]).content.decode()
    assert "A test of chat is on its way." in page
    assert "A test of the webhook chat: nothing is the matter." in page
    assert len(deliveries(store)) == 1


def test_it_is_deleted_once_and_a_change_of_an_old_page_is_refused(operator, store):
    seen = stored(store, "chat").modify_index
    edit(operator, store, description="new")
    late = operator.post(f"{EDIT}?name=chat", {"seen": seen, "blocked_after": "5m"})
    assert "It was changed since you opened it" in late.content.decode()
    assert operator.post(f"{EDIT}?name=chat", {"_delete": "1"}).status_code == 302
    assert stored(store, "chat") is None
    assert operator.post(f"{EDIT}?name=chat", {"_delete": "1"}).status_code == 404


def test_who_may_only_look_has_no_form(operator, store):
    looker = Client()
    rules = 'operator { policy = "read" } node { policy = "write" }'
    looker.force_login(account_with(store, rules))
    assert EDIT not in looker.get(HOOKS).content.decode()
    for fields in (FORM, {"_test": "1"}, {"_delete": "1"}):
        assert looker.post(f"{EDIT}?name=chat", fields).status_code == 403
    assert (stored(store, "chat") is not None, deliveries(store)) == (True, [])
