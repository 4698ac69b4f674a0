"""Who may do what: every page, button, topic and table of the admin with every kind of account.

The table says for which kinds a door opens. A door without a line fails, and so does the reverse.
"""

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import get_resolver

from cluster.operations.nodes import hash_secret
from cluster.rehearsal.result import Rehearsed
from cluster.rehearsal.wire import pack
from cluster.store.audit import AuditFilter, read_audit
from dashboard.live.topics import ALL, BadTopic, Looker, authorise
from dashboard.operator_site import TABLES
from dashboard.panels import FOLLOWED, Names
from dashboard.people import person_of
from dashboard.rights import ACTIONS, ADMIN_ACTIONS, OPEN, ROUTES, TOPICS
from dashboard.urls import provider_routes, urlpatterns
from dashboard.viewer import visible_namespaces
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import NAMESPACES, NODE_POOLS, QUOTAS
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.state.staged_drain_noun import STAGED_DRAINS
from scheduler.state.story_nouns import STORIES
from scheduler.state.variable_nouns import VARIABLES
from scheduler.state.volume_nouns import HOST_VOLUMES
from scheduler.state.writes.jobs import write_job
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.host_volume import DynamicVolume
from scheduler.structs.job import Namespace
from scheduler.structs.node import NodePool
from scheduler.structs.quota import QuotaSpec
from scheduler.structs.rehearsal import StoredRehearsal
from scheduler.structs.staged_drain import StagedDrain
from scheduler.structs.story import Story, StoryKind
from scheduler.structs.variable import SealedVariable
from tests.builders import SOME_MOMENT, make_allocation, make_evaluation, make_job, make_node
from tests.dashboard.views.conftest import Browser
from tests.people import KINDS, account

NODE = make_node(1, secret_id=hash_secret("secret"))
#: One of each thing in `default`, where submitters write, and in `team`, where they see nothing.
PLACES = ("default", "team")
EVALUATIONS = {
    place: make_evaluation(number, namespace=place, status=EvalStatus.COMPLETE, create_index=2)
    for number, place in enumerate(PLACES, 1)
}
ALLOCATIONS = {
    place: make_allocation(
        make_job(namespace=place), number, node_id=NODE.id, namespace=place,
        eval_id=EVALUATIONS[place].id,
    )
    for number, place in enumerate(PLACES, 1)
}  # fmt: skip
FEW = frozenset({"operator", "administrator"})
LOOKERS = FEW | {"viewer"}
EVERYBODY = LOOKERS | {"submitter"}
SIGNED_IN = EVERYBODY | {"groupless"}
MANAGERS = frozenset({"administrator"})
#: What an address asks of a thing in a namespace: kinds for `default`, and for `team`.
PAGES = {
    "access": MANAGERS,
    "access-policies": MANAGERS,
    "access-policy": MANAGERS,
    "access-policy-new": MANAGERS,
    "access-tokens": MANAGERS,
    "access-roles": MANAGERS,
    "access-joins": MANAGERS,
    "account": SIGNED_IN,
    "notices": SIGNED_IN,
    "now": EVERYBODY,
    "events": EVERYBODY,
    "search": EVERYBODY,
    "search-suggest": EVERYBODY,
    "states": SIGNED_IN,
    "jobs": EVERYBODY,
    "job": EVERYBODY,
    "job-named": EVERYBODY,
    "job-checks": EVERYBODY,
    "job-usage": EVERYBODY,
    "evaluations": EVERYBODY,
    "evaluation": EVERYBODY,
    "capsule": LOOKERS,
    "chain": EVERYBODY,
    "explain": EVERYBODY,
    "chain-file": EVERYBODY,
    "stories": EVERYBODY,
    "story": EVERYBODY,
    "story-file": EVERYBODY,
    "deployments": EVERYBODY,
    "deployment": EVERYBODY,
    "deployment-compared": EVERYBODY,
    "allocations": EVERYBODY,
    "allocation": EVERYBODY,
    "allocation-logs": EVERYBODY,
    "allocation-usage": EVERYBODY,
    "allocation-output": EVERYBODY,
    "allocation-files": FEW | {"submitter"},
    "allocation-file": FEW | {"submitter"},
    "allocation-terminal": FEW | {"submitter"},
    "allocation-file-follow": FEW | {"submitter"},
    "nodes": EVERYBODY,
    "node": EVERYBODY,
    "node-usage": EVERYBODY,
    "topology": EVERYBODY,
    "what-if": EVERYBODY,
    "rehearsal": EVERYBODY,
    "job-rehearsed": EVERYBODY,
    "rehearsed-story": EVERYBODY,
    "rehearsed-story-file": EVERYBODY,
    "what-if-saved": EVERYBODY,
    "drains": EVERYBODY,
    "drain": EVERYBODY,
    "staged-drain": EVERYBODY,
    "namespaces": EVERYBODY,
    "namespace": EVERYBODY,
    "pools": EVERYBODY,
    "pool": EVERYBODY,
    "quotas": FEW,
    "quota": FEW,
    "variables": MANAGERS,
    "variable": MANAGERS,
    "variable-new": MANAGERS,
    "services": EVERYBODY,
    "service-checks": EVERYBODY,
    "volumes": EVERYBODY,
    "volume": EVERYBODY,
    "volume-new": FEW | {"submitter"},
    "scheduler": FEW,
    "audit": FEW,
    "inside": FEW,
    "audit-newer": FEW,
    "audit-json": FEW,
    "job-new": FEW | {"submitter"},
    "job-edit": FEW | {"submitter"},
    "job-edit-named": FEW | {"submitter"},
}
BUTTONS = {
    "access-policy-check": MANAGERS,
    "access-policy-delete": MANAGERS,
    "access-token-make": MANAGERS,
    "access-token-revoke": MANAGERS,
    "access-role-save": MANAGERS,
    "access-role-delete": MANAGERS,
    "access-join-make": MANAGERS,
    "access-join-revoke": MANAGERS,
    "variable-show": MANAGERS,
    "variable-delete": MANAGERS,
    "volume-delete": MANAGERS,
    "demo-begin": MANAGERS,
    "account-token-make": SIGNED_IN,
    "namespace-choose": SIGNED_IN,
    "account-token-revoke": SIGNED_IN,
    "account-notices": SIGNED_IN,
    "account-password": SIGNED_IN,
    "account-session-end": SIGNED_IN,
    "account-sessions-end": SIGNED_IN,
    "node-eligibility": FEW,
    "drain-cancel": FEW,
    "staged-drain-cancel": FEW,
    "scheduler-change": FEW,
    "what-if-ask": EVERYBODY,
    "what-if-save": EVERYBODY,
    "what-if-rename": EVERYBODY,
    "what-if-delete": EVERYBODY,
    "rehearsal-cancel": EVERYBODY,
    "job-check": FEW | {"submitter"},
    "job-compare": FEW | {"submitter"},
    "inside-collect": MANAGERS,
    "inside-collection": MANAGERS,
    "job-evaluate": FEW | {"submitter"},
    "job-purge": FEW | {"submitter"},
    "job-start": FEW | {"submitter"},
    "job-stop": FEW | {"submitter"},
    "job-launch": FEW | {"submitter"},
    "job-dispatch": FEW | {"submitter"},
    "job-scale": FEW | {"submitter"},
    "job-revert": FEW | {"submitter"},
    "job-mark-stable": FEW | {"submitter"},
    "job-tag": FEW | {"submitter"},
    "job-untag": FEW | {"submitter"},
    "allocation-restart": FEW | {"submitter"},
    "allocation-stop": FEW | {"submitter"},
    "deployment-fail": FEW | {"submitter"},
    "deployment-pause": FEW | {"submitter"},
    "deployment-promote": FEW | {"submitter"},
}
FOLLOWS = {
    "navigation": SIGNED_IN,
    "overview": EVERYBODY,
    "events": EVERYBODY,
    "jobs": EVERYBODY,
    "job": EVERYBODY,
    "job-allocations": EVERYBODY,
    "job-by-node": EVERYBODY,
    "job-by-number": EVERYBODY,
    "job-by-state": EVERYBODY,
    "job-launches": EVERYBODY,
    "job-launches-day": EVERYBODY,
    "job-launches-week": EVERYBODY,
    "job-dispatched": EVERYBODY,
    "job-dispatched-running": EVERYBODY,
    "job-dispatched-failed": EVERYBODY,
    "job-deployments": EVERYBODY,
    "job-evaluations": EVERYBODY,
    "job-stories": EVERYBODY,
    "versions": EVERYBODY,
    "evaluations": EVERYBODY,
    "evaluation": EVERYBODY,
    "chain": EVERYBODY,
    "explain": EVERYBODY,
    "tidy": EVERYBODY,
    "timeline": EVERYBODY,
    "stories": EVERYBODY,
    "story": EVERYBODY,
    "deployments": EVERYBODY,
    "deployment": EVERYBODY,
    "allocations": EVERYBODY,
    "allocation": EVERYBODY,
    "nodes": EVERYBODY,
    "node": EVERYBODY,
    "topology": EVERYBODY,
    "drains": EVERYBODY,
    "staged": EVERYBODY,
    "namespaces": EVERYBODY,
    "pools": EVERYBODY,
    "quotas": FEW,
    "scheduler": FEW,
    "variables": MANAGERS,
    "services": EVERYBODY,
    "volumes": EVERYBODY,
}
#: Addresses that name a thing of a namespace.
OF_NAMESPACES = {
    "job", "job-named", "job-edit", "job-edit-named", "evaluation", "chain", "chain-file",
    "allocation", "allocation-logs", "allocation-usage", "allocation-output", "job-usage",
    "job-checks", "job-rehearsed",
    "allocation-terminal", "allocation-files", "allocation-file", "allocation-file-follow",
    "namespace", "deployment", "deployment-compared",
    "story", "story-file", "explain", "variable", "volume",
}  # fmt: skip
#: Buttons that name none.
OF_NO_NAMESPACE = {
    "node-eligibility", "drain-cancel", "scheduler-change", "access-policy-check",
    "access-policy-delete",
    "namespace-choose", "account-notices", "account-password", "account-session-end",
    "account-sessions-end",
    "account-token-make",
    "account-token-revoke", "access-token-make", "access-token-revoke", "access-role-save",
    "access-role-delete", "access-join-make", "access-join-revoke",
}  # fmt: skip
STORY = Story(kind=StoryKind.ROLLOUT, job_id="web")
#: What pages of plain names are asked for; others name a namespace.
NAMES = {"access-policy": "viewer", "pool": "default", "quota": "small"}
SCALED = {
    place: StoredRehearsal(
        id=f"r-{place}",
        scenario=(
            f'{{"Scale": {{"JobID": "web", "Namespace": "{place}", "Group": "web", "Count": 2}}}}'
        ),
    )
    for place in PLACES
}
REHEARSAL = StoredRehearsal(
    id="r-1", scenario='{"Lose": {"Filter": "Name == \\"n\\""}}', packed=pack(Rehearsed())
)
STAGED = StagedDrain(id="g-1", node_ids=(NODE.id,), create_time=SOME_MOMENT)
#: Refused, sent to sign in, or told that there is no such thing.
SHUT = {302, 401, 403, 404}


@pytest.fixture
def world(store):
    """One of each thing in each namespace."""

    def work(change):
        for place in PLACES:
            change.put(NAMESPACES, Namespace(name=place, create_index=change.index))
        change.put(QUOTAS, QuotaSpec(name="small", create_index=change.index))
        change.put(NODE_POOLS, NodePool(name="default", create_index=change.index))
        put_found(change, NODE)
        for kept in (REHEARSAL, *SCALED.values()):
            change.put(REHEARSALS, kept)
        change.put(STAGED_DRAINS, STAGED)
        for place in PLACES:
            write_job(change, make_job(namespace=place))
            put_found(change, EVALUATIONS[place])
            change.put(
                VARIABLES,
                SealedVariable(namespace=place, path="app", create_index=change.index),
            )
            change.put(HOST_VOLUMES, DynamicVolume(id=f"v-{place}", namespace=place, name="data"))
            put_found(change, ALLOCATIONS[place])
            put_found(change, Deployment(id=f"d-{place}", namespace=place, job_id="web"))
            change.put(
                STORIES,
                Story(id=f"s-{place}", namespace=place, kind=StoryKind.ROLLOUT, job_id="web"),
            )

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)


@pytest.fixture
def browsers(store):
    """A browser of each kind of account."""
    users = {kind: account(store, kind) for kind in KINDS}
    return {kind: Browser(user) for kind, user in users.items()}


def address(name, place="default"):
    pattern = next(each for each in urlpatterns if each.name == name).pattern
    values = {
        "job_id": "web", "namespace": place, "node_id": NODE.id, "form": "json",
        "eval_id": EVALUATIONS[place].id, "alloc_id": ALLOCATIONS[place].id,
        "name": NAMES.get(name, place), "deployment_id": f"d-{place}",
        "story_id": f"s-{place}",
        "rehearsal_id": SCALED[place].id if name == "job-rehearsed" else REHEARSAL.id,
        "drain_id": STAGED.id,
        "path": "app", "volume_id": f"v-{place}", "saved_id": "1",
    }  # fmt: skip
    route = str(pattern)
    for word, value in values.items():
        for kind in ("str", "path"):
            route = route.replace(f"<{kind}:{word}>", value)
    query = f"?namespace={place}&id=web" if name.endswith(("-named", "-usage", "-checks")) else ""
    return f"/{route}{query}"


def fields(name, place="default"):
    return {
        "namespace": place, "job": "web", "allocation": ALLOCATIONS[place].id,
        "deployment": f"d-{place}", "pause": f"d-{place}", "eligibility": "ineligible",
        "eligible": "", "text": "", "path": "app", "key": "a", "typed": "app",
    }  # fmt: skip


def test_every_address_has_a_line():
    names = {each.name for each in [*urlpatterns, *provider_routes("on")]}
    assert names == set(PAGES) | set(BUTTONS) | OPEN
    assert names == set(ROUTES) | OPEN


def test_every_topic_has_a_line():
    assert set(FOLLOWED) == set(TOPICS) == set(FOLLOWS)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_for_those_of_its_line_and_for_nobody_else(world, browsers, name):
    # No capsule was kept of these evaluations, which is told to those alone who may have one.
    shut = SHUT - {404} if name == "capsule" else SHUT
    opened = {
        kind for kind, browser in browsers.items() if browser.get(address(name)).status not in shut
    }
    assert opened == PAGES[name]


@pytest.mark.parametrize("name", sorted(OF_NAMESPACES))
def test_things_of_a_namespace_one_may_not_see_are_not_there(world, browsers, name):
    opened = {
        kind
        for kind, browser in browsers.items()
        if browser.get(address(name, "team")).status not in SHUT
    }
    assert opened == PAGES[name] - {"submitter"}


@pytest.mark.parametrize("name", BUTTONS)
def test_a_button_works_for_those_of_its_line_and_for_nobody_else(world, browsers, store, name):
    for kind in sorted(set(KINDS) - BUTTONS[name]):
        before = store.read(lambda reader: reader.index)
        assert browsers[kind].post(address(name), **fields(name)).status in {302, 401, 403}
        assert store.read(lambda reader: reader.index) == before, kind
    for kind in sorted(BUTTONS[name]):
        answer = browsers[kind].post(address(name), **fields(name))
        assert answer.status in {200, 302, 400}, kind
        assert answer.headers.get("Location", "/") != f"/login/?next={address(name)}"


@pytest.mark.parametrize("name", sorted(set(BUTTONS) - OF_NO_NAMESPACE))
def test_a_button_reaches_nothing_in_a_namespace_one_may_not_change(world, browsers, store, name):
    before = store.read(lambda reader: reader.index)
    for kind in ("groupless", "sleeping", "viewer", "submitter"):
        browsers[kind].post(address(name), **fields(name, "team"))
    assert store.read(lambda reader: reader.index) == before


@pytest.mark.parametrize("kind", FOLLOWS)
def test_a_topic_is_followed_by_those_of_its_line_and_by_nobody_else(world, store, kind):
    names = FOLLOWED[kind].names
    key = {
        Names.NAMESPACE: ALL, Names.WINDOW: ALL, Names.EVENTS: ALL, Names.NODES: "",
        Names.LIST: "", Names.GOVERNANCE: "",
        Names.NODE: NODE.id, Names.JOB: "default/web",
        Names.DEPLOYMENT: "d-default", Names.STORY: "s-default",
        Names.EXPLAINED: f"{EVALUATIONS['default'].id}/web",
        Names.ALLOCATION: ALLOCATIONS["default"].id, Names.EVALUATION: EVALUATIONS["default"].id,
    }[names]  # fmt: skip
    followed = set()
    for each in KINDS:
        access = person_of(account(store, each)).access

        def asked(reader, access=access):
            looker = Looker(access, visible_namespaces(reader, access))
            return authorise(kind, key, looker, reader)

        try:
            store.read(asked)
        except BadTopic:
            continue
        followed.add(each)
    # Inactive accounts get no socket at all (test_consumers.py).
    assert followed - {"sleeping"} == FOLLOWS[kind]


def test_nobody_is_signed_in_and_nothing_opens(world, store):
    browser = Browser()
    for name in PAGES:
        # What only programs ask for says so instead of sending them to a form.
        wanted = 401 if name in {"audit-newer", "notices"} else 302
        assert browser.get(address(name)).status == wanted, name
    for name in BUTTONS:
        assert browser.post(address(name), **fields(name)).status == 401, name


def test_every_table_of_the_admin_has_a_line():
    assert {model.__name__ for model in admin.site._registry} == set(TABLES)


@pytest.mark.parametrize("model", admin.site._registry, ids=lambda model: model.__name__)
def test_a_table_of_the_admin_opens_for_those_who_have_its_right(world, store, model):
    opened = set()
    for kind in KINDS:
        client = Client()
        client.force_login(account(store, kind))
        path = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        if client.get(path).status_code == 200:
            opened.add(kind)
    is_for_managers = TABLES[model.__name__].word == "management"
    assert opened == (MANAGERS if is_for_managers else FEW)


def test_every_action_of_the_admin_has_a_line():
    actions = {
        str(getattr(action, "__name__", action))
        for each in admin.site._registry.values()
        for action in each.actions or ()
    }
    assert actions == set(ADMIN_ACTIONS)


def test_no_address_leads_past_the_table():
    """Everything that is mounted is the API, the agents' door, the admin, links or our pages."""
    assert [str(each.pattern) for each in get_resolver().url_patterns] == [
        "v1/fleet/", "v1/", ".well-known/", r"^ui(?:/(?P<rest>[\s\S]*))?\Z", "admin/", "",
    ]  # fmt: skip


def test_every_greyed_button_has_a_right_by_name():
    assert all(capabilities for capabilities in ACTIONS.values())


def test_what_was_refused_stands_in_the_audit(world, store):
    Browser(account(store, "viewer")).post("/jobs/purge/", namespace="default", job="web")
    store.audit.flush()
    (entry,) = [row for row in read_audit(store, AuditFilter(), limit=9).rows if row.missing_right]
    assert (entry.who_name, entry.result, entry.act, entry.missing_right) == (
        "viewer", "refused", "purge job", "submit-job",
    )  # fmt: skip
