"""The questions of the models find the rows that their structs would answer for."""

from itertools import product

import pytest

from cluster.models import (
    AllocationRow,
    DeploymentRow,
    EvaluationRow,
    EventRow,
    JobRow,
    JobVersionRow,
    LifecycleRow,
    NamespaceRow,
    NodePoolRow,
    NodeRow,
    QuotaRow,
    ScalingPolicyRow,
)
from cluster.operations.namespaces import put_namespace
from cluster.page_addresses import job_url
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.evaluation import EvalStatus, LifecycleStep, Step
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobStatus, Namespace
from scheduler.structs.node import DrainStrategy, NodeEligibility, NodeStatus
from tests.builders import SOME_MOMENT, make_allocation, make_evaluation, make_job, make_node
from tests.callers import MANAGER

EVALUATIONS = [
    make_evaluation(number, status=status, job_id=("web", "cache")[number % 2])
    for number, status in enumerate(EvalStatus, 1)
]
ALLOCATIONS = [
    make_allocation(
        make_job(id=("web", "cache")[number % 2]),
        number,
        desired_status=desired,
        client_status=client,
        node_id=make_node(number % 3 + 1).id,
        deployment_id=("", "d1")[number % 2],
    )
    for number, (desired, client) in enumerate(product(DesiredStatus, ClientStatus))
]
DEPLOYMENTS = [
    Deployment(id=f"d{number}", job_id="web", status=status)
    for number, status in enumerate(DeploymentStatus)
]
NODES = [
    make_node(
        number,
        status=status,
        scheduling_eligibility=eligibility,
        drain_strategy=drain,
        node_pool=("default", "gpu")[number % 2],
    )
    for number, (status, eligibility, drain) in enumerate(
        product(NodeStatus, NodeEligibility, (None, DrainStrategy()))
    )
]
JOBS = [
    make_job(id=f"j{number}", status=status, parent_id=("", "cron")[number % 2])
    for number, status in enumerate(JobStatus)
]
EVAL = make_evaluation().id
NODE = make_node(2).id


@pytest.fixture
def full(store):
    """One of each kind in each of its states."""

    def work(change):
        for value in (*EVALUATIONS, *ALLOCATIONS, *DEPLOYMENTS, *NODES):
            put_found(change, value)
        for job in JOBS:
            change.put_job(job)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    return store


@pytest.mark.parametrize(
    ("found", "values", "is_meant"),
    [
        pytest.param(
            EvaluationRow.objects.open, EVALUATIONS, lambda e: not e.is_terminal, id="open"
        ),
        pytest.param(
            EvaluationRow.objects.ended, EVALUATIONS, lambda e: e.is_terminal, id="ended"
        ),
        pytest.param(
            EvaluationRow.objects.pending, EVALUATIONS, lambda e: e.should_enqueue, id="pending"
        ),
        pytest.param(
            EvaluationRow.objects.blocked, EVALUATIONS, lambda e: e.should_block, id="blocked"
        ),
        pytest.param(
            lambda: EvaluationRow.objects.open().of_job("default", "web"),
            EVALUATIONS,
            lambda e: e.job_id == "web" and not e.is_terminal,
            id="of-job",
        ),
        pytest.param(
            AllocationRow.objects.live, ALLOCATIONS, lambda a: not a.is_terminal, id="live"
        ),
        pytest.param(
            AllocationRow.objects.pending,
            ALLOCATIONS,
            lambda a: a.client_status == "pending",
            id="allocations-pending",
        ),
        pytest.param(
            AllocationRow.objects.failed,
            ALLOCATIONS,
            lambda a: a.client_status == "failed",
            id="allocations-failed",
        ),
        pytest.param(
            AllocationRow.objects.lost,
            ALLOCATIONS,
            lambda a: a.client_status == "lost",
            id="allocations-lost",
        ),
        pytest.param(
            lambda: AllocationRow.objects.running().on(NODE),
            ALLOCATIONS,
            lambda a: (a.client_status, a.node_id) == ("running", NODE),
            id="running-on-a-node",
        ),
        pytest.param(
            lambda: AllocationRow.objects.on(NodeRow.objects.get(id=NODE)),
            ALLOCATIONS,
            lambda a: a.node_id == NODE,
            id="on-a-row",
        ),
        pytest.param(
            lambda: AllocationRow.objects.of_job("default", "web"),
            ALLOCATIONS,
            lambda a: a.job_id == "web",
            id="allocations-of-job",
        ),
        pytest.param(
            lambda: AllocationRow.objects.of_deployment("d1"),
            ALLOCATIONS,
            lambda a: a.deployment_id == "d1",
            id="of-deployment",
        ),
        pytest.param(
            lambda: AllocationRow.objects.of_evaluation(EVAL),
            ALLOCATIONS,
            lambda a: a.eval_id == EVAL,
            id="of-evaluation",
        ),
        pytest.param(
            DeploymentRow.objects.active, DEPLOYMENTS, lambda d: d.is_active, id="active"
        ),
        pytest.param(
            lambda: DeploymentRow.objects.of_job("default", "web"),
            DEPLOYMENTS,
            lambda d: True,
            id="deployments-of-job",
        ),
        pytest.param(NodeRow.objects.ready, NODES, lambda n: n.is_ready, id="ready"),
        pytest.param(
            NodeRow.objects.draining, NODES, lambda n: n.drain_strategy is not None, id="draining"
        ),
        pytest.param(NodeRow.objects.down, NODES, lambda n: n.status == "down", id="down"),
        pytest.param(
            lambda: NodeRow.objects.in_pool("gpu"),
            NODES,
            lambda n: n.node_pool == "gpu",
            id="pool",
        ),
        pytest.param(
            lambda: NodeRow.objects.in_pool("all"), NODES, lambda n: True, id="every-pool"
        ),
        pytest.param(
            JobRow.objects.pending, JOBS, lambda j: j.status == "pending", id="jobs-pending"
        ),
        pytest.param(
            JobRow.objects.running, JOBS, lambda j: j.status == "running", id="jobs-running"
        ),
        pytest.param(JobRow.objects.dead, JOBS, lambda j: j.status == "dead", id="dead"),
        pytest.param(
            lambda: JobRow.objects.children_of("default", "cron"),
            JOBS,
            lambda j: j.parent_id == "cron",
            id="children",
        ),
    ],
)
def test_a_question_finds_what_the_structs_say(full, found, values, is_meant):
    meant = {value.id: value for value in values if is_meant(value)}
    assert meant, "the example must hold some"
    rows = {row.value.id: row.value for row in found()}
    assert {key: identity(value) for key, value in rows.items()} == {
        key: identity(value) for key, value in meant.items()
    }


def identity(value):
    """All of a struct but the indexes, which the store sets."""
    return type(value), value.id, value.status if hasattr(value, "status") else value.client_status


def test_the_steps_of_one_evaluation_come_in_order(full):
    steps = [
        LifecycleStep(eval_id=EVAL, number=number, step=Step.CREATED, at=SOME_MOMENT)
        for number in (2, 1, 3)
    ]
    other = LifecycleStep(eval_id="other", number=1, step=Step.CREATED, at=SOME_MOMENT)

    def work(change):
        for step in (*steps, other):
            change.put(LIFECYCLE_STEPS, step)

    full.write(WriteKind.LIFECYCLE_RECORDED, work, now=SOME_MOMENT)
    assert [row.value for row in LifecycleRow.objects.of(EVAL)] == sorted(
        steps, key=lambda step: step.number
    )


def test_the_log_is_read_from_an_index_on(full):
    assert [row.index for row in EventRow.objects.since(1)] == [2]
    assert not EventRow.objects.since(2).exists()


def test_plain_nouns_have_their_values_too(full):
    put_namespace(
        full, Namespace(name="team", description="Of the team"), by=MANAGER, now=SOME_MOMENT
    )
    assert NamespaceRow.objects.get(name="team").value.description == "Of the team"


def test_rows_know_their_pages(full):
    row = EvaluationRow.objects.get(id=EVAL)
    assert row.get_absolute_url() == f"/evaluations/{EVAL}/"
    assert JobRow.objects.get(job_id="j0").get_absolute_url() == "/jobs/default/j0/"
    assert AllocationRow.objects.first().get_absolute_url().startswith("/allocations/bbbbbbbb-")
    assert NodeRow.objects.get(id=NODE).get_absolute_url() == f"/nodes/{NODE}/"
    assert DeploymentRow.objects.get(id="d1").get_absolute_url() == "/deployments/d1/"
    for model, address in (
        (NamespaceRow, "namespaces"),
        (QuotaRow, "quotas"),
        (NodePoolRow, "pools"),
    ):
        assert model(name="team").get_absolute_url() == f"/{address}/team/"


@pytest.mark.parametrize("model", [JobRow, JobVersionRow, ScalingPolicyRow])
@pytest.mark.parametrize("job_id", ["a//b", "web/edit", "..", "a\nb", "w\u00e9b c"])
def test_rows_of_jobs_lead_to_their_page_whatever_their_ids_hold(model, job_id):
    row = model(namespace="default", job_id=job_id)
    assert row.get_absolute_url() == job_url(JobKey("default", job_id))
