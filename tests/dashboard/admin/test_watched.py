"""Accounts and groups in the admin: what the audit tells of changes, and who is left in charge."""

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from cluster.store.audit import AuditFilter, read_audit
from dashboard.models import GroupPolicy
from tests.people import account

LEFT = "nobody would be left who may do everything"


@pytest.fixture
def ada(store):
    """The only administrator there is."""
    return account(store, "administrator", "ada")


@pytest.fixture
def operator(ada):
    client = Client()
    client.force_login(ada)
    return client


def form_of(user, **changes):
    return {
        "username": user.username,
        "first_name": "",
        "last_name": "",
        "email": user.email,
        "is_active": "on" if user.is_active else "",
        "is_superuser": "on" if user.is_superuser else "",
        "groups": [group.pk for group in user.groups.all()],
        **changes,
    }


def change(operator, user, **changes):
    sent = {name: value for name, value in form_of(user, **changes).items() if value != ""}
    return operator.post(f"/admin/auth/user/{user.pk}/change/", sent)


def entries(store, act=""):
    store.audit.flush()
    rows = read_audit(store, AuditFilter(act=act, door="admin"), limit=50).rows
    return [(row.act, row.target_id, row.result, row.reason) for row in rows]


def test_the_last_administrator_stays(operator, ada, store):
    group = Group.objects.get(name="administrator")
    user_page, group_page = f"/admin/auth/user/{ada.pk}", f"/admin/auth/group/{group.pk}"
    chosen = {"action": "delete_selected", "_selected_action": [ada.pk], "post": "yes"}
    for send in (
        lambda: change(operator, ada, groups=[]),
        lambda: change(operator, ada, is_active=""),
        lambda: operator.post(f"{user_page}/delete/", {"post": "yes"}),
        lambda: operator.post(f"{group_page}/delete/", {"post": "yes"}),
        lambda: operator.post(f"{group_page}/change/", {"name": "administrator"}),
        lambda: operator.post("/admin/auth/user/", chosen),
    ):
        answer = send()
        assert answer.status_code == 302
        page = operator.get(answer["Location"]).content.decode()
        assert LEFT in page, answer["Location"]
        assert "successfully" not in page
        ada.refresh_from_db()
        assert ada.is_active
        assert [each.name for each in ada.groups.all()] == ["administrator"]
        assert GroupPolicy.objects.filter(group=group, policy="*").exists()
    told = ("change accounts and groups", "", "refused", LEFT)
    assert set(entries(store)) == {told}


def test_one_of_two_administrators_may_go(operator, ada, store):
    account(store, "administrator", "kim")
    assert change(operator, ada, groups=[]).status_code == 302
    assert not ada.groups.exists()
    (entry,) = entries(store)
    assert entry == ("change account", "ada", "done", "-group administrator")


def test_an_account_that_is_closed_leaves_nobody_in_charge(operator, ada, store):
    User.objects.create_superuser("away", is_active=False)
    answer = change(operator, ada, groups=[])
    assert LEFT in operator.get(answer["Location"]).content.decode()


def test_the_audit_tells_what_was_changed_of_accounts(operator, store):
    made = operator.post(
        "/admin/auth/user/add/",
        {"username": "kim", "password1": "staple of a kind", "password2": "staple of a kind"},
    )
    assert made.status_code == 302
    kim = User.objects.get(username="kim")
    viewer = Group.objects.get(name="viewer")
    change(operator, kim, groups=[viewer.pk], email="kim@example.org")
    change(operator, kim, username="kimmy", is_superuser="on", is_active="")
    operator.post(
        f"/admin/auth/user/{kim.pk}/password/",
        {"password1": "another of a kind", "password2": "another of a kind"},
    )
    operator.post(f"/admin/auth/user/{kim.pk}/delete/", {"post": "yes"})
    assert entries(store)[::-1] == [
        ("create account", "kim", "done", ""),
        ("change account", "kim", "done", "+group viewer, new details"),
        (
            "change account", "kimmy", "done",
            "renamed from kim, +closed, +superuser, new details",
        ),
        ("change account", "kimmy", "done", "new password"),
        ("delete account", "kimmy", "done", "-closed, -group viewer, -superuser"),
    ]  # fmt: skip
    assert "of a kind" not in str(entries(store))


def test_the_audit_tells_what_was_changed_of_groups(operator, store):
    operator.post("/admin/auth/group/add/", {"name": "team", "policies": ["viewer", "submitter"]})
    team = Group.objects.get(name="team")
    page = f"/admin/auth/group/{team.pk}"
    operator.post(f"{page}/change/", {"name": "team", "policies": ["viewer", "*"]})
    operator.post(f"{page}/change/", {"name": "team", "policies": ["viewer", "*"]})
    operator.post(f"{page}/delete/", {"post": "yes"})
    assert entries(store)[::-1] == [
        ("create group", "team", "done", "+policy submitter, +policy viewer"),
        ("change group", "team", "done", "+policy *, -policy submitter"),
        ("delete group", "team", "done", "-policy *, -policy viewer"),
    ]


def test_an_account_is_given_to_a_provider(operator, store, ada):
    row = {"user": ada.pk, "issuer": "https://sso.example", "subject": "a-1"}
    assert operator.post("/admin/dashboard/provideraccount/add/", row).status_code == 302
    assert entries(store) == [("change account", "ada", "done", "+provider's a-1")]
