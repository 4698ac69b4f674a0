"""Columns never say anything else than the bodies, whatever is written; none is forgotten."""

from contextlib import suppress

from django.apps import apps
from django.db import connections
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler.errors import IllegalTransition
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import ACL_TOKENS
from scheduler.structs.acl_token import AclToken, TokenType
from scheduler.structs.allocation import (
    ClientStatus,
    DeploymentHealth,
    DesiredStatus,
    DesiredTransition,
    TaskState,
)
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.evaluation import Cause, CauseKind, EvalStatus, EvalTrigger
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobStatus, JobType
from scheduler.structs.node import (
    DrainStrategy,
    NodeCpu,
    NodeEligibility,
    NodeMemory,
    NodeResources,
    NodeStatus,
    ReservedCpu,
    ReservedResources,
)
from scheduler.structs.resources import (
    AllocatedCpu,
    AllocatedMemory,
    AllocatedResources,
    AllocatedTaskResources,
    TaskLifecycle,
)
from tests.builders import make_allocation, make_evaluation, make_job, make_node, make_task_group
from tests.cluster.models.expected_columns import EXPECTED, differences

NUMBERS = st.integers(1, 4)
AMOUNTS = st.integers(0, 9_000)
#: Unset, the first second of time, halves of microseconds, far ahead.
INSTANTS = st.one_of(
    st.just(0), st.integers(1, 10**10), st.integers(1_700_000_000 * 10**9, 1 << 62)
)
TEXTS = st.sampled_from(["", "web", "Grüße"])
FLAGS = st.sampled_from([None, True, False])
TASKS = st.dictionaries(
    st.sampled_from(["main", "side", "before"]),
    st.tuples(
        st.builds(
            AllocatedTaskResources,
            cpu=st.builds(
                AllocatedCpu, cpu_shares=AMOUNTS, reserved_cores=st.sampled_from([(), (0, 1)])
            ),
            memory=st.builds(AllocatedMemory, memory_mb=AMOUNTS),
        ),
        st.none()
        | st.builds(
            TaskLifecycle,
            hook=st.sampled_from(["prestart", "poststart", "poststop"]),
            sidecar=st.booleans(),
        ),
    ),
)
RESOURCES = TASKS.map(
    lambda tasks: AllocatedResources(
        tasks={name: task for name, (task, _) in tasks.items()},
        task_lifecycles={name: lifecycle for name, (_, lifecycle) in tasks.items()},
    )
)
ALLOCATIONS = st.builds(
    make_allocation,
    number=NUMBERS,
    name=TEXTS,
    allocated_resources=RESOURCES,
    desired_status=st.sampled_from(DesiredStatus),
    client_status=st.sampled_from(ClientStatus),
    desired_transition=st.builds(
        DesiredTransition,
        migrate=FLAGS,
        reschedule=FLAGS,
        force_reschedule=FLAGS,
        no_shutdown_delay=FLAGS,
        migrate_disable_placement=FLAGS,
    ),
    deployment_status=st.none() | st.builds(DeploymentHealth, healthy=FLAGS),
    task_states=st.dictionaries(TEXTS, st.builds(TaskState, restarts=st.integers(0, 50))),
    create_time=INSTANTS,
    modify_time=INSTANTS,
)
EVALUATIONS = st.builds(
    make_evaluation,
    number=NUMBERS,
    status=st.sampled_from(EvalStatus),
    triggered_by=st.sampled_from(EvalTrigger),
    priority=st.integers(1, 100),
    cause=st.none() | st.builds(Cause, kind=st.sampled_from(CauseKind), id=TEXTS),
    create_time=INSTANTS,
    modify_time=INSTANTS,
    wait_until=INSTANTS,
)
DEPLOYMENTS = st.builds(
    Deployment,
    id=st.sampled_from(["d1", "d2"]),
    job_id=TEXTS,
    status=st.sampled_from(DeploymentStatus),
    task_groups=st.dictionaries(
        TEXTS, st.builds(GroupRollout, desired_canaries=st.integers(0, 2), promoted=st.booleans())
    ),
    create_time=INSTANTS,
    modify_time=INSTANTS,
)
NODES = st.builds(
    make_node,
    number=NUMBERS,
    status=st.sampled_from(NodeStatus),
    scheduling_eligibility=st.sampled_from(NodeEligibility),
    drain_strategy=st.none() | st.builds(DrainStrategy, force_deadline=INSTANTS),
    node_resources=st.builds(
        NodeResources,
        cpu=st.builds(NodeCpu, cpu_shares=AMOUNTS),
        memory=st.builds(NodeMemory, memory_mb=AMOUNTS),
    ),
    reserved_resources=st.builds(
        ReservedResources,
        cpu=st.builds(ReservedCpu, cpu_shares=AMOUNTS),
        memory=st.builds(NodeMemory, memory_mb=AMOUNTS),
    ),
    status_updated_at=st.integers(0, 4_000_000_000),
)
JOBS = st.builds(
    make_job,
    id=st.sampled_from(["web", "cache"]),
    type=st.sampled_from(JobType).map(str),
    status=st.sampled_from(JobStatus).map(str),
    priority=st.integers(1, 100),
    stop=st.booleans(),
    version=st.integers(0, 2),
    task_groups=st.lists(
        st.builds(make_task_group, name=TEXTS, count=st.integers(0, 100)), max_size=3
    ).map(tuple),
    submit_time=INSTANTS,
)
TOKENS = st.builds(
    AclToken,
    accessor_id=st.sampled_from(["a1", "a2"]),
    name=TEXTS,
    type=st.sampled_from(TokenType).map(str),
    create_time=INSTANTS,
    expiration_time=INSTANTS,
)
#: The name of a change's method or `put_found`, and what it is given.
STEPS = st.one_of(
    st.tuples(st.just("put_found"), ALLOCATIONS),
    st.tuples(st.just("put_found"), EVALUATIONS),
    st.tuples(st.just("put_found"), DEPLOYMENTS),
    st.tuples(st.just("put_found"), NODES),
    st.tuples(st.just("put_job"), JOBS),
    st.tuples(st.just("put_token"), TOKENS),
    st.tuples(st.just("delete_job"), st.sampled_from([JobKey("default", "web")])),
    st.tuples(st.just("delete_evaluation"), EVALUATIONS.map(lambda value: value.id)),
    st.tuples(st.just("delete_allocation"), ALLOCATIONS.map(lambda value: value.id)),
)
WRITES = st.lists(st.lists(STEPS, min_size=1, max_size=6), min_size=1, max_size=5)


def test_every_table_with_bodies_is_looked_at():
    tables = apps.get_app_config("cluster").get_models()
    with_bodies = {
        model for model in tables if isinstance(getattr(model, "value", None), property)
    }
    assert with_bodies == set(EXPECTED)


def written(store, steps, now):
    """One write of these steps; those that the law of statuses refuses are left out."""

    def work(change):
        for method, given_value in steps:
            with suppress(IllegalTransition):
                if method == "put_found":
                    put_found(change, given_value)
                elif method == "put_token":
                    change.put(ACL_TOKENS, given_value)
                else:
                    getattr(change, method)(given_value)

    store.write(WriteKind.PLAN_RESULT, work, now=now)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(writes=WRITES)
def test_columns_say_what_bodies_say(record, writes):
    for now, steps in enumerate(writes, 1):
        written(record, steps, now)
    found, count = differences(record.alias)
    assert found == []
    assert count, "the record is seeded with a namespace and pools"


def test_a_wrong_column_would_be_seen(record):
    written(record, [("put_found", make_node())], 1)
    for column in ("cpu_mhz", "memory_mb"):
        with connections[record.alias].cursor() as cursor:
            cursor.execute(f"UPDATE node SET {column} = {column} + 1")  # noqa: S608 - ours
        assert [model for model, _, _ in differences(record.alias)[0]] == ["NodeRow"]
