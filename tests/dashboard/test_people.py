"""What accounts keep when the record of an earlier version is brought here."""

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User

from cluster.operations.built_in_policies import put_built_in_policies
from dashboard.models import GroupPolicy
from dashboard.people import person_of
from scheduler.access.caller import CLUSTER
from tests.builders import SOME_MOMENT
from tests.process_store import store

__all__ = ["store"]


@pytest.fixture
def upgraded(store):
    """Accounts as they were before groups had policies, then brought here."""
    Group.objects.all().delete()

    def upgrade(*taken):
        for name in taken:
            Group.objects.create(name=name)
        module = __import__("dashboard.migrations.0002_built_in_groups", fromlist=["make"])
        module.make(apps, _Editor())
        put_built_in_policies(store, by=CLUSTER, now=SOME_MOMENT)

    return upgrade


class _Editor:
    class connection:  # noqa: N801 - as Django's is called
        alias = "default"


@pytest.mark.parametrize(
    ("fields", "may", "may_not"),
    [
        pytest.param(
            {"is_superuser": True},
            ("default:submit-privileged-job", "management"),
            (),
            id="superuser",
        ),
        pytest.param(
            {"is_staff": True},
            (
                "default:submit-job",
                "team:submit-job",
                "default:submit-privileged-job",
                "node:write",
            ),
            ("management",),
            id="staff",
        ),
        pytest.param(
            {},
            ("default:submit-job", "default:read-logs", "node:read"),
            ("team:read-job", "default:submit-privileged-job", "node:write"),
            id="plain",
        ),
    ],
)
def test_accounts_keep_what_they_could_do(upgraded, fields, may, may_not):
    user = User.objects.create_user("kim", **fields)
    upgraded()
    access = person_of(User.objects.get(pk=user.pk)).access
    held = {
        "management": access.is_management,
        "node:read": access.reads("node"),
        "node:write": access.writes("node"),
    }
    for asked in (*may, *may_not):
        place, _, capability = asked.partition(":")
        told = held.get(asked, access.allows(place, capability))
        assert told is (asked in may), asked


def test_groups_that_open_a_namespace_go_on_opening_it(upgraded):
    user = User.objects.create_user("kim")
    user.groups.add(Group.objects.create(name="namespace:team"))
    upgraded()
    access = person_of(user).access
    assert access.allows("team", "read-job")
    assert access.allows("team", "read-logs")
    assert not access.allows("team", "submit-job")
    assert access.allows("default", "submit-job")


def test_a_group_that_had_the_name_of_a_built_in_one_gives_its_people_nothing_new(upgraded):
    upgraded("operator")
    assert not GroupPolicy.objects.filter(group__name="operator").exists()
    assert GroupPolicy.objects.get(group__name="operator (built in)").policy == "operator"


def test_the_groups_that_come_along_have_the_policies_of_their_names(upgraded):
    upgraded()
    held = dict(GroupPolicy.objects.values_list("group__name", "policy"))
    assert held == {
        "viewer": "viewer", "submitter": "submitter", "operator": "operator",
        "administrator": "*",
    }  # fmt: skip
