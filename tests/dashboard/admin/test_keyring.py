"""Root keys in the admin: looked at, rotated once it was confirmed, by those who may."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from cluster.operations.keyring import root_keys
from tests.people import account_with
from tests.root_keys import put_keys, root_key

TABLE = "/admin/cluster/rootkeyrow/"


@pytest.fixture
def operator(store):
    """The administrator's browser."""
    put_keys(store, root_key("first"))
    client = Client()
    client.force_login(User.objects.create_superuser("kim"))
    return client


def states(store):
    return {key.key_id: key.state for key in store.read(root_keys)}


def test_rotation_asks_first_and_then_signs_with_another_key(operator, store):
    assert f'href="{TABLE}rotate/"' in operator.get(TABLE).content.decode()
    assert "first" in operator.get(f"{TABLE}rotate/").content.decode()
    assert states(store) == {"first": "active"}

    answer = operator.post(f"{TABLE}rotate/", follow=True).content.decode()

    new = next(key for key in states(store) if key != "first")
    assert states(store) == {"first": "inactive", new: "active"}
    assert f"The root key {new} signs from now on." in answer


def test_a_full_rotation_is_a_choice(operator, store):
    operator.post(f"{TABLE}rotate/", {"full": "on"})
    assert states(store)["first"] == "rekeying"


def test_who_may_look_may_not_rotate(store, operator):
    looker = Client()
    rules = 'operator { policy = "read" } node { policy = "write" }'
    looker.force_login(account_with(store, rules))
    assert "Rotate" not in looker.get(TABLE).content.decode()
    answer = looker.post(f"{TABLE}rotate/")
    assert answer.status_code == 403
    assert "To rotate the root key you need keyring-rotate." in answer.content.decode()
    assert "css/components/panel.css" in answer.content.decode()
    assert states(store) == {"first": "active"}
