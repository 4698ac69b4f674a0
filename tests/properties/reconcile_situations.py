"""Random situations for the cluster reconciler: any mix of states, nodes, wishes, rollouts."""

import msgspec
from hypothesis import strategies as st

from scheduler.engine.reconcile.situation import Situation, UpdateKind
from scheduler.structs.allocation import (
    Allocation,
    AllocState,
    ClientStatus,
    DeploymentHealth,
    DesiredStatus,
    DesiredTransition,
    RescheduleEvent,
    RescheduleTracker,
    TaskState,
)
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.job import Job
from scheduler.structs.policies import (
    MINUTE,
    SECOND,
    DisconnectStrategy,
    ReschedulePolicy,
    UpdateStrategy,
)
from scheduler.structs.task_group import TaskGroup
from tests.scheduler.engine.reconcile import scene

NODES = ("ready", *scene.TAINTED)
AGES = st.sampled_from([0, 2 * SECOND, 20 * SECOND, 10 * MINUTE])

policies = st.none() | st.builds(
    ReschedulePolicy,
    attempts=st.integers(0, 2),
    interval=st.just(5 * MINUTE),
    delay=st.sampled_from([5 * SECOND, 30 * SECOND]),
    delay_function=st.sampled_from(["constant", "exponential", "fibonacci"]),
    max_delay=st.just(MINUTE),
    unlimited=st.booleans(),
)
updates = st.none() | st.builds(
    UpdateStrategy, max_parallel=st.integers(0, 2), canary=st.integers(0, 2)
)
disconnects = st.none() | st.builds(
    DisconnectStrategy,
    lost_after=st.sampled_from([0, MINUTE]),
    stop_on_client_after=st.none() | st.just(30 * SECOND),
    replace=st.none() | st.booleans(),
    reconcile=st.sampled_from(["", "keep_original", "keep_replacement", "longest_running"]),
)
transitions = st.just(DesiredTransition()) | st.builds(
    DesiredTransition,
    migrate=st.none() | st.booleans(),
    reschedule=st.none() | st.booleans(),
    force_reschedule=st.none() | st.booleans(),
    migrate_disable_placement=st.none() | st.booleans(),
)


@st.composite
def groups(draw: st.DrawFn, name: str) -> TaskGroup:
    return scene.group(
        draw(st.integers(0, 4)),
        name,
        update=draw(updates),
        disconnect=draw(disconnects),
        reschedule_policy=draw(policies),
    )


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    names = draw(st.sampled_from([("web",), ("web", "api")]))
    return scene.job(
        type=draw(st.sampled_from(["service", "batch"])),
        stop=draw(st.sampled_from([False, False, False, True])),
        version=1,
        task_groups=tuple(draw(groups(name)) for name in names),
    )


@st.composite
def allocations(draw: st.DrawFn, of: Job, number: int, count: int) -> Allocation:
    """One of the job's, of this or the last version; sometimes of a group that is gone."""
    name = draw(st.sampled_from(["web", "web", "api", "gone"]))
    index = draw(st.integers(0, 5))
    states = draw(st.lists(st.sampled_from(["unknown", "running", "lost"]), max_size=2))
    ages = draw(st.lists(AGES, max_size=2))
    return scene.alloc(
        of,
        index,
        draw(st.sampled_from(NODES)),
        id=f"alloc-{number}",
        name=f"web.{name}[{index}]",
        task_group=name,
        job_version=draw(st.sampled_from([0, 1])),
        client_status=draw(st.sampled_from(list(ClientStatus))),
        desired_status=draw(st.sampled_from([DesiredStatus.RUN, *DesiredStatus])),
        desired_transition=draw(transitions),
        modify_time=scene.NOW - draw(AGES),
        next_allocation=draw(st.sampled_from(["", f"alloc-{(number + 1) % count}"])),
        deployment_id=draw(st.sampled_from(["", "dep"])),
        deployment_status=draw(
            st.none()
            | st.builds(DeploymentHealth, healthy=st.none() | st.booleans(), canary=st.booleans())
        ),
        alloc_states=tuple(AllocState(value=value, time=scene.NOW - MINUTE) for value in states),
        task_states=draw(st.sampled_from([{}, {"web": TaskState(state="dead")}])),
        reschedule_tracker=draw(
            st.none()
            | st.just(
                RescheduleTracker(
                    events=tuple(
                        RescheduleEvent(reschedule_time=scene.NOW - age, delay=5 * SECOND)
                        for age in ages
                    )
                )
            )
        ),
        followup_eval_id=draw(st.sampled_from(["", "", scene.EVAL, scene.OTHER_EVAL])),
    )


@st.composite
def deployments(draw: st.DrawFn, of: Job, ids: list[str]) -> Deployment:
    placed = draw(st.lists(st.sampled_from(ids), max_size=2, unique=True)) if ids else []
    state = GroupRollout(
        promoted=draw(st.booleans()),
        placed_canaries=tuple(placed),
        desired_canaries=len(placed),
        desired_total=draw(st.integers(0, 4)),
        healthy_allocs=draw(st.integers(0, 4)),
    )
    return msgspec.structs.replace(
        scene.deployment(of, draw(st.sampled_from(list(DeploymentStatus))), web=state),
        job_version=draw(st.sampled_from([0, 1])),
    )


def judge(existing: Allocation, current: Job, _: TaskGroup) -> Allocation | UpdateKind:
    """Old ones must change: some in place, the others not."""
    if existing.job_version == current.version:
        return UpdateKind.IGNORE
    changes_in_place = existing.id[-1] in "02468"
    return existing.changed(job_version=1) if changes_in_place else UpdateKind.DESTRUCTIVE


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    current = draw(jobs())
    count = draw(st.integers(0, 8))
    existing = [draw(allocations(current, number, count)) for number in range(count)]
    ids = [alloc.id for alloc in existing]
    deployment = None
    if current.type == "service":
        deployment = draw(st.none() | deployments(current, ids))
    is_purged = draw(st.sampled_from([False] * 9 + [True]))
    return scene.situation(
        None if is_purged else current,
        existing,
        known_as=current,
        is_batch=current.type == "batch",
        deployment=deployment,
        judge_update=judge,
    )
