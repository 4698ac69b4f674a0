"""The counts of the navigation follow the record, and say so only when they change."""

import pytest
from msgspec.structs import replace

from cluster.operations.jobs import JobRegistration, deregister_job, register_job
from dashboard.feeds.navigation import NavigationFeed
from dashboard.feeds.pieces import Facts
from dashboard.queries.navigation import nav_fact, navigation
from dashboard.subscription import Subscription
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import write_job
from scheduler.state.writes.nodes import write_node
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.node import DrainStrategy, NodeStatus
from tests.builders import SOME_MOMENT, CountingIDs, make_job, make_node
from tests.callers import MANAGER

SEES = frozenset({"node:read"})


@pytest.fixture
def ids():
    return CountingIDs()


@pytest.fixture
def write(sqlite_store):
    def write(work):
        return sqlite_store.write(WriteKind.NODE_REGISTRATION, work, now=SOME_MOMENT)

    return write


@pytest.fixture
def follow(sqlite_store):
    """A loaded feed; calling it feeds what was written since and says the counts it tells."""

    def follow(namespaces=None):
        feed = NavigationFeed(Subscription("navigation", "*", namespaces, SEES))
        sqlite_store.read(feed.load)
        seen = sqlite_store.index

        def told():
            nonlocal seen
            for frame in sqlite_store.frames_since(seen):
                feed.observe(frame)
            seen = sqlite_store.index
            return [piece.values for piece in feed.flush(None, SOME_MOMENT)]

        return told

    return follow


def counts(jobs="0", evaluations="", nodes="0", drains="", lost="", deployments=""):
    return {
        "nav-jobs": jobs,
        "nav-evaluations": evaluations,
        "nav-deployments": deployments,
        "nav-nodes": nodes,
        "nav-nodes-lost": lost,
        "nav-drains": drains,
    }


def of_namespace(namespace):
    return make_job(id="web", namespace=namespace)


def test_jobs_are_counted_as_they_come_and_go(sqlite_store, follow, ids):
    told = follow()
    registration = JobRegistration(job=make_job(id="web"))
    register_job(sqlite_store, registration, by=MANAGER, now=SOME_MOMENT, ids=ids)
    assert told() == [counts(jobs="1")]
    deregister_job(
        sqlite_store, JobKey("default", "web"), purge=True, by=MANAGER, now=SOME_MOMENT, ids=ids
    )
    assert told() == [counts(jobs="0")]


def test_nothing_is_said_while_the_counts_stay(sqlite_store, follow, ids):
    told = follow()
    register_job(
        sqlite_store, JobRegistration(job=make_job(id="web")), by=MANAGER, now=SOME_MOMENT, ids=ids
    )
    told()
    changed = JobRegistration(job=make_job(id="web", priority=70))
    register_job(sqlite_store, changed, by=MANAGER, now=SOME_MOMENT, ids=ids)
    assert told() == []


def test_nodes_are_counted_and_those_that_drain(write, follow):
    told = follow()
    write(lambda change: write_node(change, make_node()))
    assert told() == [counts(nodes="1")]
    write(lambda change: change.put_node(make_node(drain_strategy=DrainStrategy())))
    assert told() == [counts(nodes="1", drains="1")]


def test_nodes_that_are_lost_are_told_beside_the_others(write, follow):
    told = follow()
    write(lambda change: write_node(change, make_node()))
    told()
    for status, lost in (("disconnected", None), ("down", "1 lost"), ("initializing", "")):
        write(lambda change, status=status: change.put_node(make_node(status=NodeStatus(status))))
        assert told() == ([] if lost is None else [counts(nodes="1", lost=lost)])


def test_an_evaluation_counts_while_it_is_blocked(write, follow):
    told = follow()
    waits = Evaluation(id="e", job_id="web", status=EvalStatus.BLOCKED)
    write(lambda change: change.put_evaluation(waits))
    assert told() == [counts(evaluations="1 blocked")]
    over = Evaluation(id="e", job_id="web", status=EvalStatus.COMPLETE)
    write(lambda change: change.put_evaluation(over))
    assert told() == [counts()]


def test_a_rollout_counts_while_a_person_must_promote_it(sqlite_store, write, follow):
    told = follow()
    canary = GroupRollout(desired_canaries=1, placed_canaries=("a",), desired_total=2)

    def rollout(state, **fields):
        return Deployment(
            id="d", namespace="default", job_id="web", task_groups={"web": state}, **fields
        )

    write(lambda change: put_found(change, rollout(canary)))
    assert told() == []
    healthy = replace(canary, healthy_allocs=1)
    write(lambda change: put_found(change, rollout(replace(healthy, auto_promote=True))))
    assert told() == []
    write(lambda change: put_found(change, rollout(healthy)))
    assert told() == [counts(deployments="1 waits")]
    page = sqlite_store.read(lambda reader: navigation(reader, None, sees_nodes=True))
    assert page["Deployments"] == {"text": "1 waits", "tone": "canary", "fact": "nav-deployments"}
    hidden = frozenset({"team"})
    elsewhere = sqlite_store.read(lambda reader: navigation(reader, hidden, sees_nodes=True))
    assert elsewhere["Deployments"]["text"] == ""
    write(lambda change: put_found(change, rollout(replace(healthy, promoted=True))))
    assert told() == [counts()]
    write(lambda change: put_found(change, rollout(healthy)))
    assert told() == [counts(deployments="1 waits")]
    write(lambda change: put_found(change, rollout(healthy, status=DeploymentStatus.CANCELLED)))
    assert told() == [counts()]


def test_other_namespaces_do_not_count(sqlite_store, write, follow, ids):
    told = follow(frozenset({"team"}))
    register_job(
        sqlite_store, JobRegistration(job=make_job(id="web")), by=MANAGER, now=SOME_MOMENT, ids=ids
    )
    waits = Evaluation(id="e", job_id="web", status=EvalStatus.BLOCKED)
    write(lambda change: change.put_evaluation(waits))
    assert told() == []
    write(lambda change: change.put_evaluation(replace(waits, id="f", namespace="team")))
    assert told() == [counts(evaluations="1 blocked")]


def test_a_job_that_leaves_takes_no_namesake_along(write, follow):
    told = follow()
    for namespace in ("default", "team"):
        write(lambda change, namespace=namespace: write_job(change, of_namespace(namespace)))
    assert told() == [counts(jobs="2")]
    write(lambda change: change.delete_job(JobKey("team", "web")))
    assert told() == [counts(jobs="1")]


def test_a_blocked_evaluation_that_is_collected_counts_no_more(write, follow):
    waits = Evaluation(id="e", job_id="web", namespace="team", status=EvalStatus.BLOCKED)
    write(lambda change: change.put_evaluation(waits))
    told, elsewhere = follow(), follow(frozenset({"default"}))
    write(lambda change: change.delete_evaluation("e"))
    assert (told(), elsewhere()) == ([counts()], [])


def test_page_and_frame_say_the_same(sqlite_store, write, ids):
    register_job(
        sqlite_store, JobRegistration(job=make_job(id="web")), by=MANAGER, now=SOME_MOMENT, ids=ids
    )
    write(lambda change: write_node(change, make_node()))
    feed = NavigationFeed(Subscription("navigation", "*", None, SEES))
    sqlite_store.read(feed.load)
    page = sqlite_store.read(lambda reader: navigation(reader, None, sees_nodes=True))
    assert feed.standing(SOME_MOMENT) == (
        Facts(values={nav_fact(word): count["text"] for word, count in page.items()}),
    )


def test_nodes_are_not_counted_for_who_may_not_look_at_them(sqlite_store, write):
    feed = NavigationFeed(Subscription("navigation", "*", None))
    sqlite_store.read(feed.load)
    write(lambda change: write_node(change, make_node()))
    (facts,) = feed.standing(SOME_MOMENT)
    page = sqlite_store.read(lambda reader: navigation(reader, None, sees_nodes=False))
    assert (facts.values["nav-nodes"], page["Nodes"]["text"]) == ("", "")
