"""Every table can be looked at, in its group; nothing is edited; no secret or hash is shown."""

import html
import re

import pytest
from django.apps import apps
from django.contrib.admin import site
from django.contrib.auth.models import User
from django.db.models import BooleanField, DateTimeField
from django.test import Client

from cluster.models import (
    AclTokenRow,
    AllocationRow,
    EvaluationRow,
    EventRow,
    JoinTokenRow,
    NodeRow,
    OneTimeLoginRow,
    OneTimeTokenRow,
    StateIndexRow,
)
from cluster.models.fields import NanosecondsField
from cluster.operations.nodes import hash_secret
from cluster.store.audit_entries import Act, Actor, entry_of
from cluster.store.beats import HeardBeat, write_beats, write_channels, write_sign
from cluster.store.join_tokens import add_join_token, use_join_token
from cluster.store.leases import LeaseKeeper
from cluster.store.one_time_tokens import create_one_time_token
from cluster.store.token_uses import write_use
from cluster.store.tokens import create_login
from dashboard.operator_site import GROUPS
from scheduler.state import nouns
from scheduler.state.events import WriteKind
from scheduler.state.keyring_noun import ROOT_KEYS
from scheduler.state.periodic_noun import PERIODIC_LAUNCHES
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.state.scaling_nouns import SCALING_EVENTS, SCALING_POLICIES
from scheduler.state.service_noun import SERVICES
from scheduler.state.staged_drain_noun import STAGED_DRAINS
from scheduler.state.story_nouns import STORIES, STORY_NODES
from scheduler.state.variable_nouns import LOCK_TIMERS, VARIABLES
from scheduler.state.volume_nouns import HOST_VOLUMES, VOLUME_CLAIMS
from scheduler.state.webhook_nouns import WEBHOOK_DELIVERIES, WEBHOOKS
from scheduler.structs.acl_auth import AuthConfig, AuthMethod, BindingRule
from scheduler.structs.acl_token import AclRole
from scheduler.structs.collection import CollectionOverrides
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import EvalStatus, LifecycleStep, Step
from scheduler.structs.explanation import GroupExplanation, StoredExplanation, pack
from scheduler.structs.host_volume import DynamicVolume, VolumeClaim
from scheduler.structs.job import JobSubmission, JobSummary
from scheduler.structs.periodic_launch import PeriodicLaunch
from scheduler.structs.rehearsal import StoredRehearsal
from scheduler.structs.root_key import RootKey
from scheduler.structs.scaling import ScalingEvent
from scheduler.structs.scheduler_settings import SchedulerSettings
from scheduler.structs.service_registration import ServiceRegistration
from scheduler.structs.staged_drain import StagedDrain
from scheduler.structs.story import Story, StoryKind, StoryNode
from scheduler.structs.task_group import ScalingPolicy
from scheduler.structs.variable import LockTimer, SealedVariable
from scheduler.structs.webhook import Webhook, WebhookDelivery
from tests.builders import SOME_MOMENT, make_allocation, make_evaluation, make_job, make_node
from tests.cluster.api.clients import accessor_of, make_token

SEALED = "what opens under the secret key alone"
CLIENT_SECRET = "what the provider knows us by"
SECRET = "11111111-2222-3333-4444-555555555555"
MODELS = [
    pytest.param(model, id=model._meta.db_table)
    for model in apps.get_app_config("cluster").get_models()
]

#: When something will be over is told, and asked of few.
ENDS = {"expires"}
#: What is found by its name, whatever it is.
NAMED = [
    noun
    for noun in nouns.NOUNS
    if "name" in noun.struct.__struct_fields__ and noun.key_columns == ("name",)
]


@pytest.fixture
def operator(store):
    """The administrator's browser."""
    client = Client()
    client.force_login(User.objects.create_superuser("kim"))
    return client


@pytest.fixture
def full(store, operator):
    """A row in every table; returns every secret, and every hash of one, that the record knows."""

    def work(change):
        change.put_node(make_node(secret_id=hash_secret(SECRET)))
        change.put_job(make_job(nomad_token_id=SECRET))
        change.put_job(make_job(id="gone"))
        change.put_evaluation(make_evaluation())
        change.put_evaluation(make_evaluation(2))
        change.put_allocation(make_allocation())
        change.put_deployment(Deployment(id="d1", job_id="web", create_time=SOME_MOMENT))
        for noun, value in (
            (nouns.JOB_SUMMARIES, JobSummary(job_id="web")),
            (nouns.JOB_SUBMISSIONS, JobSubmission(namespace="default", job_id="web", source="x")),
            (PERIODIC_LAUNCHES, PeriodicLaunch(job_id="web", launch=SOME_MOMENT)),
            *((noun, noun.struct(name="some")) for noun in NAMED),
            (STORIES, Story(id="s1", kind=StoryKind.DRAIN, create_time=SOME_MOMENT)),
            (STORY_NODES, StoryNode(story_id="s1", node_id=make_node().id)),
            (
                SCALING_POLICIES,
                ScalingPolicy(id="p1", target={"Namespace": "default", "Job": "web"}),
            ),
            (SCALING_EVENTS, ScalingEvent(job_id="web", task_group="web", time=SOME_MOMENT)),
            (nouns.SCHEDULER_SETTINGS, SchedulerSettings()),
            (nouns.COLLECTION_OVERRIDES, CollectionOverrides(job_age=60)),
            (
                WEBHOOK_DELIVERIES,
                WebhookDelivery(id="d1", webhook="some", create_time=SOME_MOMENT),
            ),
            (WEBHOOKS, Webhook(name="chat", sealed_url=SEALED, sealed_secret=SEALED)),
            (ROOT_KEYS, RootKey(key_id="k1", sealed=SEALED)),
            (SERVICES, ServiceRegistration(id="s1", namespace="default", job_id="web")),
            (
                HOST_VOLUMES,
                DynamicVolume(id="v1", namespace="default", name="data", create_time=SOME_MOMENT),
            ),
            (VOLUME_CLAIMS, VolumeClaim(id="c1", namespace="default", job_id="web")),
            (VARIABLES, SealedVariable(namespace="default", path="app", sealed=SEALED.encode())),
            (LOCK_TIMERS, LockTimer(namespace="default", path="app", ends_at=SOME_MOMENT)),
            (STAGED_DRAINS, StagedDrain(id="g1", create_time=SOME_MOMENT)),
            (REHEARSALS, StoredRehearsal(id="h1", asked_at=SOME_MOMENT)),
            (nouns.ACL_ROLES, AclRole(id="r1", name="deployers")),
            (nouns.ACL_BINDING_RULES, BindingRule(id="b1", auth_method="some")),
            (
                nouns.ACL_AUTH_METHODS,
                AuthMethod(name="sso", config=AuthConfig(oidc_client_secret=CLIENT_SECRET)),
            ),
            (
                nouns.LIFECYCLE_STEPS,
                LifecycleStep(
                    eval_id=make_evaluation().id, number=1, step=Step.CREATED, at=SOME_MOMENT
                ),
            ),
            (
                nouns.EXPLANATIONS,
                StoredExplanation(
                    eval_id=make_evaluation().id,
                    task_group="web",
                    namespace="default",
                    job_id="web",
                    packed=pack(GroupExplanation(task_group="web", nearest_miss="80 MHz more")),
                ),
            ),
        ):
            change.put(noun, value)

    def complete(change):
        change.put_evaluation(make_evaluation(2, status=EvalStatus.COMPLETE))

    def collect(change):
        change.delete_evaluation(make_evaluation(2).id)
        change.delete_job(make_job(id="gone").key)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    store.write(WriteKind.EVALUATION_UPDATED, complete, now=SOME_MOMENT)
    store.write(WriteKind.COLLECTED, collect, now=SOME_MOMENT)
    store.audit.note(entry_of(Actor(name="kim"), Act("sign in"), at=SOME_MOMENT))
    store.audit.flush()
    write_beats(store, {make_node().id: HeardBeat(SOME_MOMENT, 10**10)})
    write_channels(store, [make_node().id], "http://10.0.0.1:4646")
    write_sign(store, "web-1", 7, now=SOME_MOMENT)
    LeaseKeeper("leader", "host/1", store.alias).step(1.0)
    write_use(store.alias, accessor_of("ci"), SOME_MOMENT)
    secrets = [make_token(store, "ci"), SECRET, "join me", CLIENT_SECRET, SEALED]
    secrets.append(
        create_one_time_token(store, accessor_of("ci"), secrets[0], expires=SOME_MOMENT)
    )
    secrets.append(create_login(store, User.objects.get().pk, now=SOME_MOMENT, valid_for=10**18))
    add_join_token("join me", name="fleet", now=SOME_MOMENT)
    assert use_join_token("join me", make_node().id, now=SOME_MOMENT)
    hashes = [hash_secret(SECRET)]
    for model in (AclTokenRow, JoinTokenRow, OneTimeLoginRow, OneTimeTokenRow):
        hashes += model.objects.values_list("secret_hash", flat=True)
    return [*secrets, *hashes]


def text_of(answer):
    return html.unescape(answer.content.decode())


def list_of(model):
    return f"/admin/cluster/{model._meta.model_name}/"


@pytest.mark.parametrize("model", MODELS)
def test_every_table_is_listed_and_each_row_read_without_secrets(full, operator, model):
    assert model.objects.exists(), "the example must fill every table"
    listed = operator.get(list_of(model))
    assert listed.status_code == 200
    pages = [text_of(listed)]
    for address in re.findall(rf'href="({list_of(model)}[^"?]+/change/)', pages[0]):
        page = operator.get(address)
        assert page.status_code == 200
        pages.append(text_of(page))
    is_list_only = model in (JoinTokenRow, OneTimeLoginRow, OneTimeTokenRow)
    assert (len(pages) == 1) == is_list_only
    for page in pages:
        assert [secret for secret in full if secret in page] == []


@pytest.mark.parametrize("model", MODELS)
def test_no_table_can_be_edited(full, operator, model):
    row = model.objects.first()
    assert operator.get(f"{list_of(model)}add/").status_code in (403, 404)
    for verb in ("change", "delete"):
        assert operator.post(f"{list_of(model)}{row.pk}/{verb}/", {"x": "y"}).status_code in (
            403,
            404,
        )
    chosen = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    operator.post(list_of(model), chosen)
    assert model.objects.filter(pk=row.pk).exists()


@pytest.mark.parametrize("model", [JoinTokenRow, OneTimeLoginRow])
def test_rows_under_a_hash_have_no_address(full, operator, model):
    row = model.objects.get()
    for page in ("change", "history", "delete"):
        assert operator.get(f"{list_of(model)}{row.pk}/{page}/").status_code == 404


def test_the_front_page_has_every_table_in_its_group(full, operator):
    page = text_of(operator.get("/admin/"))
    captions = re.findall(r"<caption>(\w+)</caption>", page)
    # The tables stand in the page and in its sidebar or nowhere twice.
    assert captions[: len(GROUPS)] == ["Work", "Cluster", "Access", "Inside"]
    for model in apps.get_app_config("cluster").get_models():
        assert list_of(model) in page
    grouped = [name for names in GROUPS.values() for name in names]
    models = [model.__name__ for model in apps.get_app_config("cluster").get_models()]
    assert set(grouped) <= {*models, "User", "Group", "ProviderAccount"}
    assert len(grouped) == len(set(grouped))


@pytest.mark.parametrize(
    ("model", "query", "is_found"),
    [
        pytest.param(EvaluationRow, "status=pending", True, id="status"),
        pytest.param(EvaluationRow, "status=blocked", False, id="other-status"),
        pytest.param(EvaluationRow, "q=cccccccc", True, id="search"),
        pytest.param(EvaluationRow, "q=nothing", False, id="search-in-vain"),
        pytest.param(AllocationRow, "client_status__exact=pending", True, id="client-status"),
        pytest.param(AllocationRow, "created_at__gte=2025-06-01+00:00:00Z", True, id="date"),
        pytest.param(AllocationRow, "created_at__gte=2030-06-01+00:00:00Z", False, id="later"),
        pytest.param(EventRow, "kind=PlanResult", True, id="kind"),
        pytest.param(EventRow, "at__since=hour", False, id="past-hour"),
        pytest.param(EventRow, "at__since=ever", True, id="no-such-age"),
    ],
)
def test_lists_are_filtered_and_searched(full, operator, model, query, is_found):
    answer = operator.get(f"{list_of(model)}?{query}")
    assert answer.status_code == 200
    assert ("/change/" in text_of(answer)) == is_found


@pytest.mark.parametrize("model", MODELS)
def test_every_table_is_searched_and_filtered_by_what_it_has_for_it(model):
    of_table, fields = site._registry[model], model._meta.get_fields()
    assert of_table.search_fields or model is StateIndexRow, "one row needs no search"
    kinds = (DateTimeField, NanosecondsField, BooleanField)
    has_some = {field.name for field in fields if field.choices or isinstance(field, kinds)}
    filtered = {each if isinstance(each, str) else each[0] for each in of_table.list_filter}
    assert filtered & has_some or not has_some - ENDS, "a status, a yes or no, an instant"


def test_times_are_dates(full, operator):
    when = "15 Jun 2025 15:06:40 UTC"
    for model in (AllocationRow, EventRow, EvaluationRow):
        assert when in text_of(operator.get(list_of(model)))
    assert when in text_of(operator.get(f"{list_of(NodeRow)}{make_node().id}/change/"))


def test_lists_are_sorted_by_dates(full, operator):
    page = text_of(operator.get(list_of(AllocationRow)))
    assert re.search(r'<th scope="col" class="sortable column-created_at">', page)


def test_the_log_tells_every_changed_row(full, operator):
    page = text_of(operator.get(f"{list_of(EventRow)}2/change/"))
    assert '"Topic": "Node"' in page
    assert '"Name": "node-1"' in page


def test_an_explanation_is_unpacked(full, operator):
    listed = text_of(operator.get("/admin/cluster/explanationrow/"))
    address = re.search(r'href="(/admin/cluster/explanationrow/\d+/change/)', listed).group(1)
    assert "80 MHz more" in text_of(operator.get(address))


def test_the_page_of_a_package_is_named_after_it(full, operator):
    page = text_of(operator.get("/admin/cluster/"))
    assert "<h1>Record</h1>" in page
    assert list_of(EventRow) in page
    assert "/admin/auth/user/" in text_of(operator.get("/admin/auth/"))
    assert operator.get("/admin/nothing/").status_code == 404


def test_forms_lead_to_the_rows_they_name(full, operator):
    row = AllocationRow.objects.get()
    page = text_of(operator.get(f"{list_of(AllocationRow)}{row.pk}/change/"))
    for model, key in ((NodeRow, row.node_id), (EvaluationRow, row.eval_id)):
        assert f'<a href="{list_of(model)}{key}/change/">{key}</a>' in page


def test_yes_and_no_are_words(full, operator):
    page = text_of(operator.get(f"{list_of(NodeRow)}{make_node().id}/change/"))
    assert '<div class="readonly">no</div>' in page
    assert "icon-no" not in page


def test_a_join_token_without_limit_says_so(full, operator):
    assert ">unlimited<" in text_of(operator.get(list_of(JoinTokenRow)))


def test_the_filter_of_stories_has_a_word_for_those_of_no_namespace(store, operator):
    def work(change):
        for number, namespace in enumerate(("", "default"), 1):
            story = Story(
                id=str(number) * 36, kind=StoryKind.LOSS, namespace=namespace, create_index=2
            )
            change.put(STORIES, story)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    page = operator.get("/admin/cluster/storyrow/").content.decode()
    [link] = re.findall(r'<a href="\?namespace="[^>]*>([^<]*)</a>', page)
    assert link.strip() == "none"
