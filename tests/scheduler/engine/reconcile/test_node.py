"""System and sysbatch jobs node by node: rows G01 to G19 of the reconciler's scenarios."""

import msgspec
import pytest

from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.node import reconcile_node
from scheduler.engine.reconcile.node_results import NodeResults, NodeSituation
from scheduler.structs.allocation import Allocation, AllocState, TaskState
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.job import Job
from scheduler.structs.node import Node
from scheduler.structs.policies import HOUR, UpdateStrategy
from tests.builders import CountingIDs, make_node
from tests.scheduler.engine.reconcile.scene import (
    COMPLETE,
    NOW,
    PENDING,
    TAINTED,
    UNKNOWN,
    alloc,
    disconnect,
    flags,
    group,
    job,
    update,
    was_unknown,
)

LISTS = ("place", "update", "migrate", "stop", "ignore", "lost", "disconnecting", "reconnecting")


def system(count: int = 1, **fields: object) -> Job:
    return job(count, **{"type": "system", "job_modify_index": 20, **fields})


def old(of: Job) -> Job:
    return msgspec.structs.replace(of, version=of.version - 1, job_modify_index=10)


def run(
    current: Job,
    existing: list[Allocation],
    ready: tuple[Node, ...] = (),
    not_ready: frozenset[str] = frozenset(),
    deployment: Deployment | None = None,
) -> NodeResults:
    def job_of(one: Allocation) -> Job:
        return current if one.job_version == current.version else old(current)

    return reconcile_node(
        NodeSituation(
            job=current,
            ready={node.id: node for node in ready},
            not_ready=not_ready,
            tainted=TAINTED,
            allocations=existing,
            deployment=deployment,
            now=NOW,
            job_of=job_of,
            ids=CountingIDs(prefix="d"),
        )
    )


def sizes(results: NodeResults) -> dict[str, int]:
    counted = {name: len(getattr(results, name)) for name in LISTS}
    return {name: size for name, size in counted.items() if size}


ONE = (make_node(1, id="ready"),)


@pytest.mark.parametrize(
    ("made_from", "expected"),
    [
        pytest.param(lambda current: current, {"ignore": 1, "place": 1}, id="G01-same-job"),
        pytest.param(old, {"update": 1, "place": 1}, id="G02-changed-job"),
    ],
)
def test_sysbatch_work_that_ended_runs_again_only_for_a_changed_job(made_from, expected):
    current = system(2, type="sysbatch")
    ended = alloc(made_from(current), 0, client_status=COMPLETE)
    assert sizes(run(current, [ended], ONE)) == expected


@pytest.mark.parametrize(
    ("ready", "expected"),
    [
        pytest.param(ONE, {"place": 1}, id="G03-ready"),
        pytest.param((), {}, id="G03-not-ready"),
        pytest.param((make_node(3, id="down"),), {}, id="G03-down"),
        pytest.param((make_node(2, id="draining"),), {}, id="G03-draining"),
    ],
)
def test_a_system_job_fills_empty_ready_nodes(ready, expected):
    assert sizes(run(system(), [], ready)) == expected


EXPIRES = disconnect(HOUR)
RECONNECTED = (*was_unknown(), AllocState(value="running", time=NOW))


@pytest.mark.parametrize(
    ("make", "ready", "not_ready", "expected"),
    [
        pytest.param(
            lambda job_: [
                alloc(old(job_), 0),
                alloc(job_, 0, tag="-new"),
                alloc(job_, 0, tag="-strange", name="web.gone[0]", task_group="gone"),
            ],
            ONE,
            (),
            {"update": 1, "ignore": 1, "stop": 1},
            id="G04-old-current-and-strange",
        ),
        pytest.param(
            lambda job_: [alloc(job_, 0)], (), ("ready",), {"ignore": 1}, id="G05-ineligible"
        ),
        pytest.param(lambda job_: [alloc(job_, 0)], (), (), {"stop": 1}, id="G05-elsewhere"),
        pytest.param(
            lambda job_: [alloc(old(job_), 0)],
            (),
            ("ready",),
            {"stop": 1},
            id="G06-changed-on-ineligible",
        ),
        pytest.param(
            lambda job_: [
                alloc(job_, 0, "draining", desired_transition=flags(migrate=True)),
                alloc(job_, 0, "draining", tag="-kept"),
            ],
            (),
            (),
            {"migrate": 1, "ignore": 1},
            id="G07-draining",
        ),
        pytest.param(
            lambda job_: [alloc(job_, 0, "down"), alloc(old(job_), 0, "down", tag="-old")],
            (),
            (),
            {"lost": 2},
            id="G08-down",
        ),
        pytest.param(
            lambda job_: [alloc(job_, 0, "disconnected")],
            (),
            (),
            {"disconnecting": 1},
            id="G09-disconnected",
        ),
        pytest.param(
            lambda job_: [alloc(job_, 0, alloc_states=was_unknown())],
            ONE,
            (),
            {"reconnecting": 1},
            id="G10-back",
        ),
        pytest.param(
            lambda job_: [alloc(job_, 0, alloc_states=RECONNECTED)],
            ONE,
            (),
            {"ignore": 1},
            id="G10-back-and-accepted",
        ),
        pytest.param(
            lambda job_: [
                alloc(
                    job_,
                    0,
                    "disconnected",
                    client_status=UNKNOWN,
                    alloc_states=was_unknown(NOW - 10 * HOUR),
                )
            ],
            (),
            (),
            {"lost": 1},
            id="G11-expired",
        ),
        pytest.param(
            lambda job_: [
                alloc(
                    job_,
                    0,
                    "disconnected",
                    client_status=UNKNOWN,
                    alloc_states=was_unknown(NOW),
                )
            ],
            (),
            (),
            {"ignore": 1},
            id="G11-just-gone",
        ),
        pytest.param(
            lambda job_: [alloc(job_, 0, "disconnected", client_status=PENDING)],
            (),
            (),
            {"ignore": 1},
            id="G12-pending",
        ),
    ],
)
def test_each_live_alloc_lands_in_one_list(make, ready, not_ready, expected):
    current = system(disconnect=EXPIRES)
    assert sizes(run(current, make(current), ready, frozenset(not_ready))) == expected


def test_g13_sysbatch_work_that_succeeded_is_not_lost_with_its_node():
    current = system(type="sysbatch")
    done = alloc(current, 0, "down", task_states={"web": TaskState(state="dead")})
    assert sizes(run(current, [done])) == {"ignore": 1}


def test_g14_every_kind_of_node_at_once():
    current = system(task_groups=(group(1), group(1, "api")))
    former = old(current)
    existing = [
        alloc(former, 0, "draining", tag="-a", desired_transition=flags(migrate=True)),
        alloc(former, 0, "down", tag="-b"),
        alloc(former, 0, "with-old", tag="-c"),
        alloc(current, 0, "with-current", tag="-d"),
        alloc(current, 0, "with-ended", tag="-e", client_status=COMPLETE),
    ]
    names = ("draining", "down", "with-old", "with-current", "with-ended", "empty")
    ready = tuple(make_node(number, id=name) for number, name in enumerate(names, start=1))
    results = run(current, existing, ready)
    assert sizes(results) == {"update": 1, "ignore": 1, "migrate": 1, "lost": 1, "place": 6}
    assert sorted((entry.node_id, entry.group_name) for entry in results.place) == [
        ("empty", "api"),
        ("empty", "web"),
        ("with-current", "api"),
        ("with-ended", "api"),
        ("with-ended", "web"),
        ("with-old", "api"),
    ]


def test_g15_a_stopped_job_stops_everywhere_and_cancels_once():
    current = system(stop=True)
    existing = [alloc(current, 0, node, tag=node) for node in ("a", "b")]
    found = deployment_of(current)
    results = run(current, existing, deployment=found)
    assert sizes(results) == {"stop": 2}
    assert [one.status_description for one in results.deployment_updates] == [
        reasons.DEPLOYMENT_STOPPED_JOB
    ]


def deployment_of(
    current: Job, status: DeploymentStatus = DeploymentStatus.RUNNING, **groups: GroupRollout
) -> Deployment:
    return Deployment(
        id="dep",
        job_version=current.version,
        job_create_index=current.create_index,
        status=status,
        task_groups=groups,
    )


def agent(version: str) -> tuple[Node, ...]:
    return (make_node(1, id="ready", attributes={"nomad.version": version}),)


@pytest.mark.parametrize(
    ("strategy", "ready", "is_made"),
    [
        pytest.param(update(1), agent("2.0.1"), True, id="G16-new-version"),
        pytest.param(update(1), agent("1.8.20"), False, id="G17-an-old-agent"),
        pytest.param(update(1), agent("1.11.0-beta.1"), False, id="G17-a-beta-of-the-oldest"),
        pytest.param(update(1), agent("1.11.0"), True, id="G16-the-oldest-agent"),
        pytest.param(update(1), agent("dev"), True, id="G16-an-agent-without-a-version"),
        pytest.param(None, agent("2.0.1"), False, id="no-update-block"),
        pytest.param(
            UpdateStrategy(max_parallel=1, strategy="stagger"),
            agent("2.0.1"),
            False,
            id="staggered",
        ),
    ],
)
def test_a_new_version_of_a_system_job_starts_a_deployment(strategy, ready, is_made):
    current = system(update=strategy)
    results = run(current, [alloc(old(current), 0)], ready)
    assert sizes(results) == {"update": 1}
    assert (results.deployment is not None) is is_made
    assert [one.status for one in results.deployment_updates] == (
        [DeploymentStatus.RUNNING] if is_made else []
    )


def test_g16_only_groups_with_an_update_block_take_part():
    groups = (group(1, update=update(1)), group(1, "api"))
    current = system(task_groups=groups)
    results = run(current, [alloc(old(current), 0)], agent("1.11.0"))
    assert results.deployment is not None
    assert set(results.deployment.task_groups) == {"web"}


def test_g18_a_job_that_ended_on_its_only_node_starts_no_deployment():
    current = system(update=update(1))
    results = run(current, [alloc(current, 0, client_status=COMPLETE)], ONE)
    assert sizes(results) == {"place": 1}
    assert results.deployment is None


def test_g19_a_successful_deployment_of_the_version_is_not_repeated():
    current = system(update=update(1))
    found = deployment_of(current, DeploymentStatus.SUCCESSFUL)
    assert run(current, [], ONE, deployment=found).deployment is None


def test_a_failed_deployment_of_an_older_version_does_not_hold_the_new_one():
    current = system(update=update(1))
    found = deployment_of(old(current), DeploymentStatus.FAILED)
    results = run(current, [alloc(old(current), 0)], ONE, deployment=found)
    assert results.deployment is not None
    assert results.deployment.id != "dep"


def test_a_placement_follows_the_newest_alloc_that_ended_there():
    current = system()
    ended = [
        alloc(current, 0, tag=tag, client_status=COMPLETE, create_index=at)
        for at, tag in enumerate(("-first", "-second"), start=30)
    ]
    (entry,) = run(current, ended, ONE).place
    assert entry.held.id == "0-second"
