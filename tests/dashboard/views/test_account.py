"""The own account: rights in words, sessions to end, a password to change."""

import pytest
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.test import Client

from cluster.operations.acl_rights import bearer_of
from cluster.runtime.clock import SystemClock
from cluster.store.tokens import find_token
from dashboard.people import person_of
from dashboard.queries.rights_told import rights_sentence, rights_table
from scheduler.access.access import NOBODY
from scheduler.state.nouns import ACL_TOKENS
from tests.people import account, account_with

PASSWORD, BETTER = "correct horse battery", "staple of another kind"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18 Safari/604.1"


@pytest.fixture
def kim(store):
    user = account(store, "submitter", "kim")
    user.set_password(PASSWORD)
    user.save()
    return user


def signed_in(agent=FIREFOX, password=PASSWORD):
    client = Client(headers={"user-agent": agent})
    client.post("/login/", {"username": "kim", "password": password})
    return client


def text_of(client):
    return client.get("/account/").content.decode()


def test_the_page_says_in_words_what_one_may_do(store, kim):
    text = text_of(signed_in())
    assert "You may run jobs in default." in text
    assert "group submitter, policy submitter" in text
    assert "needs node:write" in " ".join(text.split())
    assert "given by administrator or operator" in " ".join(text.split())


@pytest.mark.parametrize(
    ("rules", "places", "sentence"),
    [
        pytest.param(
            'namespace "*" { policy = "read" }',
            {"every namespace": "Look"},
            "You may look at every namespace.",
            id="one-glob",
        ),
        pytest.param(
            'namespace "*" { policy = "write" }\nnamespace "pay" { policy = "deny" }',
            {
                "pay": "",
                "every other namespace": "Look Submit Scale Stop Restart Output Terminal",
            },
            "You may run jobs in every namespace but pay.",
            id="a-refusal-by-name",
        ),
        pytest.param(
            'namespace "*" { policy = "read" }\nnamespace "pay" { policy = "deny" }\n'
            'namespace "team-*" { policy = "scale" }\nnamespace "team-x" { policy = "deny" }\n'
            'namespace "shop" { capabilities = ["submit-job"] }',
            {
                "pay": "",
                "shop": "Submit Scale Stop",
                "team-x": "",
                "team-*": "Look Scale",
                "every other namespace": "Look",
            },
            "You may run jobs in shop and look at team-* and every other namespace but pay or"
            " team-x.",
            id="refusals-under-globs",
        ),
        pytest.param(
            'namespace "team-*" { capabilities = ["read-job", "alloc-lifecycle"] }',
            {"team-*": "Look Restart"},
            "You may look at team-*.",
            id="single-capabilities",
        ),
        pytest.param("", {}, "Your groups grant nothing here.", id="nothing"),
    ],
)
def test_the_table_is_what_the_policies_grant(store, rules, places, sentence):
    person = person_of(account_with(store, rules))
    table = rights_table(person)
    told = {
        place.where: " ".join(
            verb for verb, may in zip(table["verbs"], place.may, strict=True) if may
        )
        for place in table["places"]
    }
    assert told == places
    assert rights_sentence(person) == sentence


def test_jobs_are_counted_where_their_rule_speaks_and_one_may_look(store):
    rules = (
        'namespace "*" { policy = "read" }\nnamespace "pay" { policy = "deny" }\n'
        'namespace "team-*" { policy = "read" }\nnamespace "default" { policy = "write" }'
    )
    jobs = {"default": 2, "pay": 5, "team-a": 3, "team-b": 4, "other": 1}
    places = rights_table(person_of(account_with(store, rules)), jobs)["places"]
    assert [(place.where, place.jobs) for place in places] == [
        ("default", "2 jobs"),
        ("pay", ""),
        ("team-*", "7 jobs"),
        ("every other namespace", "1 job"),
    ]


def test_a_refusal_is_told_with_the_policy_that_refuses(store):
    rules = 'namespace "pay" { policy = "deny" }'
    (place,) = rights_table(person_of(account_with(store, rules)))["places"]
    assert place.comes_from == "refused by policy of-guest; a refusal wins"


def test_a_group_named_after_a_namespace_opens_it_and_narrows_nothing(store):
    user = account_with(store, 'namespace "t*" { policy = "write" }')
    user.groups.add(Group.objects.create(name="namespace:team"))
    user.groups.add(Group.objects.create(name="namespace:shop"))
    access = person_of(user).access
    assert access.allows("team", "submit-job")
    assert access.allows("shop", "read-job")
    assert access.allows("shop", "read-logs")
    assert not access.allows("shop", "submit-job")


def test_a_new_account_is_told_whom_to_ask(store):
    User.objects.create_superuser("priya")
    client = Client()
    client.force_login(account(store, "groupless", "jonas"))
    text = " ".join(text_of(client).split())
    assert "You are in no group yet, so you see nothing." in text
    assert "Ask priya" in text
    assert "<strong>jonas</strong>" in text


def test_sessions_are_told_by_browser_and_address_and_end_one_by_one(store, kim):
    here, phone = signed_in(), signed_in(SAFARI)
    text = " ".join(text_of(here).split())
    assert "<strong>This one</strong>: Firefox on Linux" in text
    assert "Safari on iPhone" in text
    assert "2 sessions" in text
    (other,) = [
        each for each in here.get("/account/").context["sessions"] if not each.is_this
    ]  # fmt: skip
    here.post("/account/sessions/end/", {"session": other.id})
    assert phone.get("/account/").status_code == 302
    assert here.get("/account/").status_code == 200


def test_all_other_sessions_end_together_and_those_of_others_stay(store, kim):
    stranger = Client()
    stranger.force_login(account(store, "viewer"))
    here, phone, desk = signed_in(), signed_in(SAFARI), signed_in()
    here.post("/account/sessions/end-others/")
    assert [each.get("/account/").status_code for each in (here, phone, desk, stranger)] == [
        200, 302, 302, 200,
    ]  # fmt: skip


def test_nobody_ends_a_session_of_somebody_else(store, kim):
    here, stranger = signed_in(), Client()
    stranger.force_login(account(store, "viewer"))
    (own,) = here.get("/account/").context["sessions"]
    stranger.post("/account/sessions/end/", {"session": own.id})
    assert here.get("/account/").status_code == 200


def test_no_key_of_a_session_stands_on_the_page(store, kim):
    text = text_of(signed_in())
    assert not any(key in text for key in Session.objects.values_list("session_key", flat=True))


def test_a_changed_password_ends_the_other_sessions_and_keeps_this_one(store, kim):
    here, phone = signed_in(), signed_in(SAFARI)
    fields = {"old_password": PASSWORD, "new_password1": BETTER, "new_password2": BETTER}
    assert here.post("/account/password/", fields).status_code == 302
    assert (here.get("/account/").status_code, phone.get("/account/").status_code) == (200, 302)
    assert signed_in(password=BETTER).get("/account/").status_code == 200


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        pytest.param({"old_password": "wrong"}, "This is not your password.", id="old-one"),
        pytest.param({"new_password2": "other words"}, "match.", id="not-the-same"),
        pytest.param(
            {"new_password1": "short", "new_password2": "short"}, "too short", id="too-short"
        ),
    ],
)
def test_a_password_that_is_refused_changes_nothing_and_says_why(store, kim, fields, told):
    right = {"old_password": PASSWORD, "new_password1": BETTER, "new_password2": BETTER}
    here = signed_in()
    answer = here.post("/account/password/", {**right, **fields})
    assert answer.status_code == 400
    assert told in answer.content.decode()
    assert BETTER not in answer.content.decode()
    assert User.objects.get(pk=kim.pk).check_password(PASSWORD)


def test_who_came_by_a_link_sets_a_first_password_without_an_old_one(store, kim):
    kim.set_unusable_password()
    kim.save()
    client = Client()
    client.force_login(kim)
    assert "you sign in by links" in text_of(client)
    client.post("/account/password/", {"new_password1": BETTER, "new_password2": BETTER})
    assert User.objects.get(pk=kim.pk).check_password(BETTER)


def make(client, **fields):
    asked = {"name": "laptop", "ends": "3600", "policies": ["submitter"], **fields}
    return client.post("/account/tokens/make/", asked)


def token_of(store, answer):
    """The token of the secret that an answer shows."""
    return find_token(store, answer.context["made"].secret)


def test_a_token_of_ones_own_is_shown_once_and_does_what_its_maker_may(store, kim):
    client = signed_in()
    answer = make(client)
    made = answer.context["made"]
    assert made.secret in answer.content.decode()
    page = text_of(client)
    assert "laptop" in page
    assert made.secret not in page
    assert store.read(lambda reader: reader.get(ACL_TOKENS, made.token.accessor_id)).policies == (
        "submitter",
    )
    assert token_of(store, answer).token.accessor_id == made.token.accessor_id


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        pytest.param({"policies": ["operator"]}, "do not have the policy operator", id="foreign"),
        pytest.param({"policies": ["nothing"]}, "no policy nothing", id="unknown"),
        pytest.param({"policies": ["*"]}, "only who may do everything", id="management"),
        pytest.param({"policies": []}, "choose at least one policy", id="none"),
        pytest.param({"ends": "0"}, "ends after a time", id="for-ever"),
        pytest.param({"ends": "99999999999"}, "cannot be more than", id="too-long"),
        pytest.param({"name": ""}, "needs a name", id="without-name"),
    ],
)
def test_a_token_beyond_ones_rights_is_refused_and_nothing_is_made(store, kim, fields, told):
    before = store.read(lambda reader: reader.index)
    answer = make(signed_in(), **fields)
    assert (answer.status_code, told in answer.content.decode().lower()) == (400, True)
    assert store.read(lambda reader: reader.index) == before


def test_a_policy_that_refuses_cannot_be_left_out_of_a_token(store):
    user = account_with(store, 'namespace "*" { policy = "write" }')
    account_with(store, 'namespace "pay" { policy = "deny" }', "narrow")
    user.groups.add(Group.objects.get(name="group-of-narrow"))
    client = Client()
    client.force_login(user)
    refused = make(client, policies=["of-guest"])
    assert refused.status_code == 400
    assert "would grant more than you may" in refused.content.decode()
    assert make(client, policies=["of-guest", "of-narrow"]).status_code == 200


def test_a_revoked_token_opens_nothing_and_nobody_revokes_that_of_another(store, kim):
    client, stranger = signed_in(), Client()
    stranger.force_login(account(store, "viewer"))
    secret = make(client).context["made"].secret
    accessor = find_token(store, secret).token.accessor_id
    stranger.post("/account/tokens/revoke/", {"token": accessor})
    assert find_token(store, secret) is not None
    client.post("/account/tokens/revoke/", {"token": accessor})
    assert find_token(store, secret) is None
    assert "No token yet" in text_of(client)


def test_a_manager_makes_a_token_for_everything(store):
    client = Client()
    client.force_login(account(store, "administrator"))
    assert make(client, policies=["*"]).context["made"].token.is_management


def test_a_token_of_ones_own_does_no_more_than_its_maker_may_now(store, kim):
    secret = make(signed_in()).context["made"].secret
    now = SystemClock().now()
    assert bearer_of(store, secret, now=now).access.allows("default", "submit-job")
    kim.groups.set([Group.objects.get(name="viewer")])
    assert bearer_of(store, secret, now=now).access == NOBODY
    kim.groups.set([Group.objects.get(name="submitter")])
    assert bearer_of(store, secret, now=now).access.allows("default", "submit-job")
    kim.is_active = False
    kim.save()
    assert bearer_of(store, secret, now=now).access == NOBODY


def test_a_token_for_everything_ends_with_the_rights_of_its_maker(store, kim):
    kim.groups.set([Group.objects.get(name="administrator")])
    secret = make(signed_in(), policies=["*"]).context["made"].secret
    now = SystemClock().now()
    assert bearer_of(store, secret, now=now).access.is_management
    kim.groups.set([Group.objects.get(name="submitter")])
    assert bearer_of(store, secret, now=now).access == NOBODY


def test_a_token_of_ones_own_opens_nothing_once_its_account_is_gone(store, kim):
    secret = make(signed_in()).context["made"].secret
    kim.delete()
    now = SystemClock().now()
    assert bearer_of(store, secret, now=now).access == NOBODY
    ada = Client()
    ada.force_login(account(store, "administrator", "ada"))
    assert "a deleted account" in ada.get("/access/tokens/").content.decode()


def test_ones_own_acts_stand_on_the_page_and_nobody_elses(store, kim):
    client, other = signed_in(), Client()
    other.force_login(account(store, "administrator"))
    make(client)
    make(client, name="")
    make(other, policies=["*"])
    store.audit.flush()
    answer = client.get("/account/")
    told = [(row["entry"].act, row["entry"].result) for row in answer.context["own_acts"]]
    assert ("write acl token", "done") in told
    assert {row["entry"].who_name for row in answer.context["own_acts"]} == {"kim"}
    assert ("sign in", "done") in told
    assert "All in the audit" not in answer.content.decode()
    assert "All in the audit" in other.get("/account/").content.decode()
