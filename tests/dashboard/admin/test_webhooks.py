"""Webhooks in the admin: shown without what opens them, tried by those who may."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from cluster.operations.webhooks import put_webhook
from scheduler.access.caller import CLUSTER
from scheduler.state.webhook_nouns import WEBHOOK_DELIVERIES
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
