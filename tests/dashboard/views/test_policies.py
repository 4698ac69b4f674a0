"""Policies for those who write them: read, changed, refused with every problem at its line."""

import json

import pytest
from django.contrib.auth.models import Group

from cluster.operations.built_in_policies import put_built_in_policies
from cluster.policies.built_in import BUILT_IN
from dashboard.people import person_of
from scheduler.access.caller import CLUSTER
from scheduler.state.nouns import ACL_POLICIES, ACL_ROLES
from tests.builders import SOME_MOMENT
from tests.dashboard.views.conftest import Browser
from tests.people import account

RULES = 'namespace "shop" {\n  policy = "write"\n}\n'


@pytest.fixture
def manager(store):
    return Browser(account(store, "administrator"))


def stored(store, name):
    return store.read(lambda reader: reader.get(ACL_POLICIES, name))


def save(manager, store, name, **fields):
    there = stored(store, name)
    seen = there.modify_index if there is not None else ""
    form = {"text": RULES, "description": "", "seen": seen}
    return manager.post(f"/access/policies/{name}/", **{**form, **fields})


def test_the_list_says_what_each_policy_grants_and_who_has_it(manager):
    text = manager.get("/access/").text
    for name in ("viewer", "submitter", "operator"):
        assert f'href="/access/policies/{name}/"' in text
    assert "every namespace" in text
    assert "node:write" in text


def test_a_new_policy_is_stored_and_can_be_read_again(manager, store):
    answer = manager.post(
        "/access/new-policy/", name="shop-all", description="All of shop", text=RULES
    )
    assert answer.headers["Location"] == "/access/policies/shop-all/"
    policy = stored(store, "shop-all")
    assert (policy.rules, policy.description) == (RULES, "All of shop")
    page = manager.get("/access/policies/shop-all/")
    assert "All of shop" in page.text
    assert [place.where for place in page.context["places"]] == ["shop"]


def test_a_changed_policy_counts_from_the_next_action_of_its_people_on(manager, store):
    kim = account(store, "submitter", "kim")
    assert not person_of(kim).access.allows("shop", "submit-job")
    save(manager, store, "submitter")
    assert person_of(kim).access.allows("shop", "submit-job")
    assert not person_of(kim).access.allows("default", "submit-job")


def test_a_wrong_text_is_refused_with_every_problem_at_its_line_and_kept(manager, store):
    wrong = 'node {\n  policy = "list"\n}\noperatr { policy = "read" }\n'
    wrong += 'namespace "*" {\n  capabilities = ["alloc-exce"]\n}\n'
    before = stored(store, "viewer")
    answer = save(manager, store, "viewer", text=wrong)
    assert answer.status == 400
    assert "Not saved: 3 problems." in answer.text
    lines = {problem.message: problem.line for problem in answer.context["problems"]}
    assert {line for message, line in lines.items() if "node policy" in message} == {1}
    assert {line for message, line in lines.items() if "alloc-exce" in message} == {5}
    assert any("operatr" in message for message in lines)
    assert "alloc-exce" in answer.context["policy"].rules
    assert stored(store, "viewer") == before


def test_the_editor_is_told_the_same_while_one_writes(manager):
    answer = manager.post("/access/check-policy/", text='node { policy = "list" }')
    (problem,) = json.loads(answer.text)["problems"]
    assert (problem["line"], problem["severity"]) == (1, "error")


def test_what_was_changed_meanwhile_is_not_overwritten(manager, store):
    seen = stored(store, "viewer").modify_index
    save(manager, store, "viewer", text='node { policy = "read" }')
    answer = save(manager, store, "viewer", seen=seen)
    assert answer.status == 400
    assert "It was changed since you opened it." in answer.text
    assert stored(store, "viewer").rules == 'node { policy = "read" }'


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("viewer", "There is a policy viewer already.", id="taken"),
        pytest.param("a b", "Invalid name", id="blank-inside"),
        pytest.param("", "Invalid name", id="none"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused(manager, store, name, told):
    before = store.read(lambda reader: reader.index)
    answer = manager.post("/access/new-policy/", name=name, text=RULES)
    assert (answer.status, told in answer.text) == (400, True)
    assert store.read(lambda reader: reader.index) == before


def test_a_deleted_policy_grants_nothing_and_its_groups_say_so(manager, store):
    kim = account(store, "submitter", "kim")
    manager.post("/access/delete-policy/", name="submitter")
    assert stored(store, "submitter") is None
    assert not person_of(kim).access.allows("default", "read-job")
    group = Group.objects.get(name="submitter")
    form = manager.get(f"/admin/auth/group/{group.pk}/change/").text
    assert "submitter: not in the record, grants nothing" in form


def test_built_in_policies_are_written_once_and_never_again(manager, store):
    assert not put_built_in_policies(store, by=CLUSTER, now=SOME_MOMENT)
    for each in BUILT_IN:
        manager.post("/access/delete-policy/", name=each.name)
    assert not put_built_in_policies(store, by=CLUSTER, now=SOME_MOMENT)
    assert manager.get("/access/").context["policies"] == []


def test_the_admin_chooses_policies_for_a_group(manager, store):
    group = Group.objects.get(name="viewer")
    nina = account(store, "viewer", "nina")
    manager.post(
        f"/admin/auth/group/{group.pk}/change/", name="viewer", policies=["viewer", "operator"]
    )
    assert person_of(nina).access.writes("node")
    manager.post(f"/admin/auth/group/{group.pk}/change/", name="viewer", policies=["*"])
    assert person_of(nina).access.is_management
    manager.post(f"/admin/auth/group/{group.pk}/change/", name="viewer")
    assert not person_of(nina).access.reads("node")


def told(answer):
    return {row.name: tuple(row.change) for row in answer.context["changes"]}


def test_before_a_policy_is_saved_it_says_who_would_lose_or_gain(manager, store):
    account(store, "submitter", "kim")
    account(store, "viewer", "lee")
    manager.post("/access/make-token/", name="ci", ends="3600", policies=["submitter"])
    before = stored(store, "submitter")
    answer = save(manager, store, "submitter", look="1", text='node { policy = "write" }')
    assert answer.status == 200
    assert stored(store, "submitter") == before
    assert told(answer).keys() == {"kim", "ci"}
    lost, gained = told(answer)["kim"]
    assert any("Submit" in each and "default" in each for each in lost)
    assert "node:write" in gained
    assert "1 person and 1 token would lose, 1 person and 1 token would gain." in answer.text
    assert "node { policy = &quot;write&quot; }" in answer.text


def test_a_policy_that_cannot_be_read_tells_its_problems_and_nothing_else(manager, store):
    answer = save(manager, store, "submitter", look="1", text="node {")
    assert answer.status == 400
    assert "is_looked_at" not in answer.context


def test_whoever_shows_no_token_gains_by_the_policy_of_that_name(manager, store):
    manager.post("/access/new-policy/", name="anonymous", text='agent { policy = "read" }')
    answer = save(manager, store, "anonymous", look="1", text='node { policy = "read" }')
    assert told(answer) == {"whoever shows no token": (("agent:read",), ("node:read",))}
    same = save(manager, store, "anonymous", look="1", text='agent { policy = "read" } # as ever')
    assert "Nobody would lose or gain anything." in same.text


def test_before_a_role_is_saved_it_says_who_would_lose_or_gain(manager, store):
    for name, text in (("a", 'node { policy = "read" }'), ("b", 'agent { policy = "read" }')):
        manager.post("/access/new-policy/", name=name, text=text)
    manager.post("/access/save-role/", name="both", description="", policies=["a", "b"])
    (role,) = store.read(lambda reader: reader.list_all(ACL_ROLES))
    manager.post("/access/make-token/", name="ci", ends="3600", roles=[role.id])
    sent = {"id": role.id, "name": "both", "description": "", "policies": ["a"]}
    answer = manager.post("/access/save-role/", look="1", **sent)
    assert (answer.status, told(answer)) == (200, {"ci": (("agent:read",), ())})
    assert store.read(lambda reader: reader.list_all(ACL_ROLES)) == [role]
