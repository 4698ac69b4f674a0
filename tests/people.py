"""Accounts of every kind, as the groups and policies that come with the product make them."""

from django.contrib.auth.models import Group, User
from msgspec.structs import replace

from cluster.operations.built_in_policies import put_built_in_policies
from dashboard.models import GroupPolicy
from scheduler.access.caller import CLUSTER
from scheduler.state.nouns import ACL_POLICIES
from scheduler.structs.acl_policy import AclPolicy
from tests.builders import SOME_MOMENT

#: Every kind of account, least first; `sleeping` is an inactive superuser.
KINDS = ("groupless", "sleeping", "viewer", "submitter", "operator", "administrator")


def account(store, kind, name=""):
    """An account of a kind; the built-in policies are in the record from then on."""
    put_built_in_policies(store, by=CLUSTER, now=SOME_MOMENT)
    if kind == "sleeping":
        return User.objects.create_superuser(name or kind, is_active=False)
    user = User.objects.create_user(name or kind)
    if kind != "groupless":
        user.groups.add(Group.objects.get(name=kind))
    return user


def account_with(store, rules, name="guest"):
    """An account whose one group has one policy of these rules."""
    policy = AclPolicy(name=f"of-{name}", rules=rules)

    def work(change):
        change.put(ACL_POLICIES, replace(policy, modify_index=change.index))

    store.write(ACL_POLICIES.upserted, work, now=SOME_MOMENT)
    user = User.objects.create_user(name)
    group = Group.objects.create(name=f"group-of-{name}")
    GroupPolicy.objects.create(group=group, policy=policy.name)
    user.groups.add(group)
    return user
