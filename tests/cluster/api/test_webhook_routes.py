"""Webhooks through the API: written, tried, deleted, and never told in full."""

import pytest

from cluster.seals import opened_secret
from scheduler.state.webhook_nouns import WEBHOOKS

HOOK = "/v1/webhook/chat"
URL = "https://chat.example/T0/very-secret"
FORM = {"Name": "chat", "URL": URL, "Secret": "shh", "Kinds": ["blocked"], "BlockedAfter": "10m"}


async def stored(store):
    return await store.aread(lambda reader: reader.get(WEBHOOKS, "chat"))


async def test_of_a_webhook_everything_is_told_but_its_secrets(api, store):
    assert (await api.put(HOOK, FORM)).status == 200
    told = await api.get(HOOK)
    assert told.json == {
        "Name": "chat",
        "Description": "",
        "Host": "https://chat.example",
        "Kinds": ["blocked"],
        "BlockedAfter": 600 * 10**9,
        "IsPaused": False,
        "IsSigned": True,
        "CreateIndex": told.json["CreateIndex"],
        "ModifyIndex": told.json["CreateIndex"],
    }
    assert (await api.get("/v1/webhooks")).json == [told.json]
    kept = await stored(store)
    assert "very-secret" not in kept.sealed_url
    assert (opened_secret(kept.sealed_url), opened_secret(kept.sealed_secret)) == (URL, "shh")


async def test_a_change_keeps_address_and_secret_where_none_is_given(api, store):
    await api.put(HOOK, FORM)
    await api.put(HOOK, {"Name": "chat", "IsPaused": True})
    kept = await stored(store)
    assert (kept.is_paused, kept.kinds, opened_secret(kept.sealed_url)) == (True, (), URL)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"URL": ""}, "URL must have"),
        ({"URL": "ftp://x"}, "URL must begin with http"),
        ({"Kinds": ["weather"]}, 'unknown kind "weather"'),
        ({"BlockedAfter": "-1s"}, "BlockedAfter must be between"),
        ({"BlockedAfter": "1x"}, 'unknown unit "x"'),
        ({"Secret": "s" * 257}, "secret longer than 256"),
        ({"Description": "d" * 257}, "description longer than 256"),
        ({"Name": "other"}, "Webhook name does not match request path"),
    ],
)
async def test_a_bad_webhook_is_refused_by_name(api, store, changes, words):
    refused = await api.put(HOOK, FORM | changes)
    assert refused.status == 400
    assert words in refused.text
    assert await stored(store) is None


async def test_every_problem_is_named_at_once(api):
    refused = await api.put(HOOK, {"Name": "chat", "URL": "x", "Kinds": ["a", "b"]})
    wanted = ("URL must", 'kind "a"', 'kind "b"')
    assert [word for word in wanted if word not in refused.text] == []


async def test_a_test_waits_to_be_sent_and_stands_among_the_deliveries(api):
    await api.put(HOOK, FORM)
    tried = await api.put(f"{HOOK}/test")
    (delivery,) = (await api.get(f"{HOOK}/deliveries")).json
    assert (delivery["ID"], delivery["State"], delivery["Attempts"]) == (
        tried.json["DeliveryID"], "waiting", 0,
    )  # fmt: skip
    assert delivery["Lines"] == ["A test of the webhook chat: nothing is the matter."]


async def test_what_is_not_there(api):
    assert (await api.put(f"{HOOK}/test")).status == 404
    assert (await api.get(f"{HOOK}/deliveries")).status == 404
    assert (await api.delete(HOOK)).status == 404


async def test_a_deleted_webhook_takes_its_deliveries_along(api):
    await api.put(HOOK, FORM)
    await api.put(f"{HOOK}/test")
    assert (await api.delete(HOOK)).status == 200
    await api.put(HOOK, FORM)
    assert (await api.get(f"{HOOK}/deliveries")).json == []
