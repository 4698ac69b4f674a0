"""People who are signed in by an OpenID provider, which runs as a process beside the tests."""

import logging

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils.module_loading import import_string

from cluster.store.audit import AuditFilter, read_audit
from cluster.urls import urlpatterns as usual
from dashboard.models import ProviderAccount
from dashboard.urls import provider_routes
from tests.dashboard.views.conftest import one_line
from tests.oidc_process import fields_of, provider, provider_process
from tests.oidc_provider import CLIENT, PEOPLE, SECRET
from tests.people import account

__all__ = ["provider", "provider_process"]

urlpatterns = [*usual, *provider_routes("on")]


@pytest.fixture
def on(settings, store, provider):
    """The settings name the provider, and the built-in groups are there."""
    account(store, "administrator", "ada")
    settings.ROOT_URLCONF = __name__
    settings.BIVOUAC_PUBLIC_URL = "http://testserver"
    settings.BIVOUAC_OIDC_ISSUER = provider.address
    settings.BIVOUAC_OIDC_CLIENT_ID = CLIENT
    settings.BIVOUAC_OIDC_CLIENT_SECRET = SECRET
    settings.BIVOUAC_OIDC_NAME = "the campus"
    settings.AUTHENTICATION_BACKENDS = [
        *settings.AUTHENTICATION_BACKENDS,
        "dashboard.provider_sign_in.ProviderBackend",
    ]
    return provider


def sign_in(provider, person="kim", browser=None, **query):
    """A browser that went to the provider and came back; the answer to its coming back."""
    browser = browser or Client()
    to_provider = browser.get("/login/provider/", query)
    assert to_provider.status_code == 302
    return browser, browser.get(provider.signed_in(to_provider["Location"], person))


def groups_of(name):
    return sorted(User.objects.get(username=name).groups.values_list("name", flat=True))


def audit_of(store, act):
    store.audit.flush()
    return list(read_audit(store, AuditFilter(act=act), limit=100).rows)


def said(answer):
    return one_line(answer.content.decode())


def test_without_the_setting_there_is_no_route_and_no_button(store):
    browser = Client()
    assert "/login/provider/" not in browser.get("/login/").content.decode()
    assert browser.get("/login/provider/").status_code == 404
    assert browser.get("/login/provider/back").status_code == 404


def test_a_first_sign_in_makes_an_account_with_the_groups_of_the_claim(on, store):
    assert "Sign in with the campus" in said(Client().get("/login/"))
    browser, back = sign_in(on, next="/jobs/")
    assert (back.status_code, back["Location"]) == (302, "/jobs/")
    assert groups_of("kim") == ["submitter"]
    kim = User.objects.get(username="kim")
    assert (kim.email, kim.is_superuser, kim.has_usable_password()) == (
        "kim@example.org",
        False,
        False,
    )
    assert browser.get("/jobs/").status_code == 200
    assert "by provider" in said(browser.get("/account/"))
    (entry,) = audit_of(store, "sign in by a provider")
    assert (entry.who_name, entry.result) == ("kim", "done")
    (entry,) = audit_of(store, "change groups by a provider")
    assert (entry.target_id, entry.reason) == ("kim", "+submitter")


def test_the_way_there_carries_state_nonce_and_a_proof_and_each_is_new(on):
    first = fields_of(Client().get("/login/provider/")["Location"])
    second = fields_of(Client().get("/login/provider/")["Location"])
    for name in ("state", "nonce", "code_challenge"):
        assert len(first[name]) >= 32
        assert first[name] != second[name]
    assert first["code_challenge_method"] == "S256"
    assert first["redirect_uri"] == "http://testserver/login/provider/back"
    assert first["scope"] == "openid profile email"


def test_a_group_that_the_claim_loses_is_taken_away_and_one_given_here_stays(on, store):
    on.tell(people={"kim": PEOPLE["kim"] | {"groups": ["submitter", "operator", "none-such"]}})
    sign_in(on)
    User.objects.get(username="kim").groups.add(Group.objects.get(name="viewer"))
    assert groups_of("kim") == ["operator", "submitter", "viewer"]
    on.tell(people={"kim": PEOPLE["kim"] | {"groups": ["submitter"]}})
    sign_in(on)
    assert groups_of("kim") == ["submitter", "viewer"]
    on.tell(people={"kim": {"preferred_username": "renamed"}})
    sign_in(on)
    assert groups_of("kim") == ["viewer"]
    assert not Group.objects.filter(name="none-such").exists()
    assert User.objects.filter(username="renamed").count() == 0
    reasons = {each.reason for each in audit_of(store, "change groups by a provider")}
    assert reasons == {"+operator +submitter", "-operator", "-submitter"}


def test_a_group_given_here_is_not_the_providers_to_take(on):
    on.tell(people={"kim": {"preferred_username": "kim"}})
    sign_in(on)
    User.objects.get(username="kim").groups.add(Group.objects.get(name="submitter"))
    on.tell()
    sign_in(on)
    on.tell(people={"kim": {"preferred_username": "kim"}})
    sign_in(on)
    assert groups_of("kim") == ["submitter"]


def test_names_of_groups_can_be_mapped_and_stand_deeper(on, settings):
    settings.BIVOUAC_OIDC_GROUPS = {"staff": ("viewer", "operator"), "all": ("gone",)}
    settings.BIVOUAC_OIDC_GROUPS_CLAIM = "/realm/roles"
    roles = ["staff", "all", "administrator"]
    on.tell(people={"kim": {"preferred_username": "kim", "realm": {"roles": roles}}})
    sign_in(on)
    assert groups_of("kim") == ["operator", "viewer"]


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        pytest.param([], "The campus names no group.", id="none"),
        pytest.param(
            ["chess"], "The campus names you in chess, none of which is a group here.", id="other"
        ),
    ],
)
def test_who_is_in_no_group_learns_what_the_provider_said_and_whom_to_ask(on, groups, told):
    on.tell(people={"sam": PEOPLE["sam"] | {"groups": groups}})
    browser, back = sign_in(on, "sam")
    page = browser.get(back["Location"])
    assert page.status_code == 403
    assert told in said(page)
    assert "in no group yet" in said(page)
    assert "Ask ada" in said(page)


def test_a_provider_that_is_away_has_a_page_and_an_entry(on, store, settings, caplog):
    settings.BIVOUAC_OIDC_ISSUER = "http://127.0.0.1:9"
    with caplog.at_level(logging.WARNING, "dashboard.views.provider"):
        answer = Client().get("/login/provider/")
    assert answer.status_code == 502
    assert "The campus does not answer" in said(answer)
    assert "ada" in said(answer)
    assert "http://127.0.0.1:9" in caplog.text
    (entry,) = audit_of(store, "sign in by a provider")
    assert (entry.result, entry.reason) == ("refused", "the provider does not answer")


def test_who_is_refused_there_is_told_so(on, store):
    browser, back = sign_in(on, "nobody")
    assert back.status_code == 403
    assert "The campus did not sign you in" in said(back)
    assert "_auth_user_id" not in browser.session
    (entry,) = audit_of(store, "sign in by a provider")
    assert entry.reason == "refused by the provider"


@pytest.mark.parametrize(
    "lie",
    [
        pytest.param({"spoil": {"nonce": "another"}}, id="another-nonce"),
        pytest.param({"spoil": {"aud": "another-client"}}, id="another-audience"),
        pytest.param({"spoil": {"aud": [CLIENT, "x"], "azp": "x"}}, id="another-party"),
        pytest.param({"spoil": {"iss": "http://elsewhere"}}, id="another-issuer"),
        pytest.param({"spoil": {"exp": 1000, "iat": 900}}, id="expired"),
        pytest.param({"spoil": {"sub": ""}}, id="nobody"),
        pytest.param({"foreign_key": True}, id="another-key"),
        pytest.param({"other_subject": True}, id="another-persons-user-info"),
    ],
)
def test_an_id_token_that_proves_nothing_signs_nobody_in(on, store, lie, caplog):
    on.tell(**lie)
    with caplog.at_level(logging.WARNING, "dashboard.views.provider"):
        browser, back = sign_in(on)
    assert back.status_code == 403
    assert "does not prove who you are" in said(back)
    assert "_auth_user_id" not in browser.session
    assert not ProviderAccount.objects.exists()


def test_a_code_works_in_the_browser_that_asked_for_it_and_once(on):
    browser = Client()
    address = on.signed_in(browser.get("/login/provider/")["Location"], "kim")
    stranger = Client().get(address)
    assert stranger.status_code == 400
    assert "This sign-in is over" in said(stranger)
    assert browser.get(address).status_code == 302
    browser.logout()
    assert browser.get(address).status_code == 400


def test_a_stolen_code_in_ones_own_sign_in_is_refused(on):
    stolen = fields_of(on.signed_in(Client().get("/login/provider/")["Location"], "kim"))["code"]
    browser = Client()
    own = fields_of(browser.get("/login/provider/")["Location"])["state"]
    answer = browser.get("/login/provider/back", {"code": stolen, "state": own})
    assert answer.status_code == 403
    assert not ProviderAccount.objects.exists()


def test_nobody_gets_an_account_of_here_by_its_name_or_address_there(on, store):
    User.objects.create_superuser("root", email="root@example.org")
    on.tell(people={"kim": {"preferred_username": "Root", "email": "root@example.org"}})
    _, back = sign_in(on)
    assert back.status_code == 403
    assert "There is an account named Root here already" in said(back)
    (entry,) = audit_of(store, "sign in by a provider")
    assert entry.reason == "no account here for who came"


def test_a_closed_account_stays_closed(on):
    sign_in(on)
    User.objects.filter(username="kim").update(is_active=False)
    _, back = sign_in(on)
    assert back.status_code == 403
    assert "The account kim is closed here." in said(back)


def test_who_signs_out_is_offered_to_sign_out_there_as_well(on):
    browser, _ = sign_in(on)
    out = browser.post("/logout/")
    assert out["Location"] == "/login/?left"
    assert "sign out there as well" in said(browser.get(out["Location"]))
    leave = browser.get("/login/provider/leave")
    assert leave["Location"].startswith(f"{on.address}/leave?")
    assert fields_of(leave["Location"]) == {
        "client_id": CLIENT,
        "post_logout_redirect_uri": "http://testserver/login/",
    }


def test_a_session_by_the_provider_ends_after_the_hours_of_the_setting(on, settings):
    settings.BIVOUAC_OIDC_SESSION_HOURS = 2
    browser, _ = sign_in(on)
    assert browser.session.get_expiry_age() == 2 * 3600


def test_an_account_of_a_provider_gets_no_password_here(on):
    browser, _ = sign_in(on)
    assert "your password is there" in said(browser.get("/account/"))
    new = {"new_password1": "staple of another kind", "new_password2": "staple of another kind"}
    browser.post("/account/password/", new)
    assert not User.objects.get(username="kim").has_usable_password()


def test_a_secret_is_sent_the_way_the_provider_takes_it(on):
    on.tell(secret_in_form=True)
    _, back = sign_in(on)
    assert back.status_code == 302


def test_no_backend_of_the_provider_answers_for_passwords(on):
    backend = import_string("dashboard.provider_sign_in.ProviderBackend")
    assert backend().get_user(0) is None
    browser = Client()
    answer = browser.post("/login/?code=x&state=y", {"username": "kim", "password": "x"})
    assert answer.status_code == 200
    assert "_auth_user_id" not in browser.session


def test_the_address_of_a_signed_in_browser_leads_on(on):
    browser, _ = sign_in(on)
    assert browser.get("/login/provider/?next=/nodes/")["Location"] == "/nodes/"
    assert browser.get("/login/provider/?next=//evil.example")["Location"] == "/"


def test_routes_are_those_of_the_table(on):
    assert [path_.name for path_ in provider_routes("on")] == [
        "provider", "provider-back", "provider-leave",
    ]  # fmt: skip
    assert provider_routes("") == []
