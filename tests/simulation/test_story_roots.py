"""Of every kind of cause: what a real cluster does about one act of it is exactly one story.

Each act is done in earnest, on nodes that are simulated clients, and everything that was
evaluated from then on belongs to the story that a person would name.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from cluster.jobspec.parse import parse_job
from cluster.operations.allocations import stop_allocation
from cluster.operations.deployments import promote_deployment
from cluster.operations.garbage import demand_collection
from cluster.operations.job_dispatch import Dispatch, dispatch_job
from cluster.operations.jobs import (
    JobRegistration,
    deregister_job,
    evaluate_job,
    register_job,
)
from cluster.operations.nodes import DrainRequest, drain_node, evaluate_node, purge_node
from cluster.operations.periodic import force_launch
from cluster.operations.scaling import ScalingRequest, scale_job
from cluster.operations.scheduler_settings import set_scheduler_settings
from cluster.simulation.catalogue import document
from scheduler.access.caller import CLUSTER
from scheduler.state.story_nouns import STORIES
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.node import DrainStrategy
from scheduler.structs.scheduler_settings import PreemptionConfig, SchedulerSettings
from scheduler.structs.story import Story, StoryKind
from tests.simulation.test_triggers import SECOND, Site

pytestmark = pytest.mark.simulation

DRAIN = DrainStrategy(deadline=300 * SECOND)


class Told(NamedTuple):
    """What came of an act: the stories that began or went on, and how many evaluations."""

    stories: list[Story]
    evaluations: list[Evaluation]


def told(site: Site, act: Callable[[], Any], seconds: int) -> Told:
    before = site.store.index
    act()
    site.pass_time(seconds)
    made = [row for row in site.store.evaluations() if row.create_index > before]
    ids = {row.story_id for row in made}
    begun = [row for row in site.store.list_all(STORIES) if row.create_index > before]
    went_on = [site.store.story(story_id) for story_id in ids - {row.id for row in begun}]
    assert None not in went_on
    return Told([*begun, *(story for story in went_on if story is not None)], made)


def the_one(found: Told, kind: StoryKind, least: int) -> Story:
    (story,) = found.stories
    assert story.kind is kind
    assert len(found.evaluations) >= least
    return story


def test_a_rollout_with_canaries_promotion_and_batches() -> None:
    site = Site(3)
    key = site.settled("shop", 6)
    site.pass_time(30)

    def act() -> None:
        site.register("shop", 6, revision=1)
        site.pass_time(10)
        newest = max(site.store.deployments_by_job(key), key=lambda row: row.create_index)
        promote_deployment(site.store, newest.id, every_group=True, **site.how)

    found = told(site, act, 60)
    the_one(found, StoryKind.ROLLOUT, 8)
    newest = max(site.store.deployments_by_job(key), key=lambda row: row.create_index)
    assert newest.status == "successful"


def bad_version(site: Site) -> None:
    job = parse_job(document("shop", 1, 3, is_bad=True))
    register_job(site.store, JobRegistration(job=job), **site.how)


def test_a_rollout_that_fails_and_goes_back() -> None:
    site = Site(3)
    key = site.settled("shop", 3)
    site.pass_time(30)
    found = told(site, lambda: bad_version(site), 90)
    job = site.store.job(key)
    assert job is not None
    assert job.version == 2
    the_one(found, StoryKind.ROLLOUT, 3)


def test_a_stop_of_a_job() -> None:
    site = Site()
    key = site.settled("web", 3)
    found = told(site, lambda: deregister_job(site.store, key, **site.how), 20)
    assert the_one(found, StoryKind.STOP, 1).job_id == "web"


def test_a_stop_of_one_allocation_and_its_replacement() -> None:
    site = Site()
    key = site.settled("web", 2)
    site.pass_time(20)
    alloc = site.running(key)
    found = told(site, lambda: stop_allocation(site.store, alloc.id, **site.how), 20)
    assert the_one(found, StoryKind.STOP, 1).alloc_name == alloc.name


def test_a_drain_of_two_nodes_with_18_evaluations() -> None:
    site = Site(6)
    for kind in ("web", "shop", "gate", "apart", "edge", "keep", "core", "gpu", "blue"):
        site.register(kind, 4)
    site.pass_time(60)
    asked = DrainRequest(strategy=DRAIN, action="once")

    def act() -> None:
        for client in site.cluster.clients[:2]:
            drain_node(site.store, client.node.id, asked, **site.how)

    assert the_one(told(site, act, 90), StoryKind.DRAIN, 18).node_count == 2


@pytest.mark.parametrize("count", [20, 200])
def test_a_loss_of_many_nodes_in_one_look(count: int) -> None:
    site = Site(count + 4)
    for kind in ("web", "logs"):
        site.register(kind, count)
    site.pass_time(30)

    def act() -> None:
        for client in site.cluster.clients[:count]:
            client.go(online=False)

    loss = the_one(told(site, act, 30), StoryKind.LOSS, count)
    assert loss.node_count == count


def test_the_return_of_nodes() -> None:
    site = Site(4)
    site.register("logs", 1)
    site.settled("web", 4)
    for client in site.cluster.clients[:2]:
        client.go(online=False)
    site.pass_time(150)

    def act() -> None:
        for client in site.cluster.clients[:2]:
            client.go(online=True)

    assert the_one(told(site, act, 20), StoryKind.RETURN, 2).node_count == 2


def test_a_crash_loop_through_replacements() -> None:
    site = Site()
    key = site.settled("low", 1)
    site.pass_time(20)

    def act() -> None:
        for _ in range(3):
            alloc = site.running(key)
            site.client_of(alloc).fail(alloc.id, site.now)
            site.pass_time(15)

    loop = the_one(told(site, act, 10), StoryKind.CRASH_LOOP, 6)
    assert loop.alloc_name == "low.main[0]"


def test_a_preemption() -> None:
    site = Site()
    settings = SchedulerSettings(
        preemption_config=PreemptionConfig(service_scheduler_enabled=True)
    )
    set_scheduler_settings(site.store, settings, by=CLUSTER, now=site.now)
    site.settled("low", 4)
    site.pass_time(20)
    found = told(site, lambda: site.register("high", 2), 30)
    rollout, taken = sorted(found.stories, key=lambda story: story.create_index)
    assert (rollout.kind, rollout.job_id) == (StoryKind.ROLLOUT, "high")
    assert (taken.kind, taken.parent_id) == (StoryKind.PREEMPTION, rollout.id)
    of_low = {row.story_id for row in found.evaluations if row.job_id == "low"}
    assert of_low == {taken.id}


def test_a_scaling_up_that_finds_no_room_for_all() -> None:
    site = Site()
    key = site.settled("low", 2)
    site.pass_time(20)
    request = ScalingRequest(task_group="main", count=9)
    found = told(site, lambda: scale_job(site.store, key, request, **site.how), 40)
    assert the_one(found, StoryKind.SCALING, 2).job_id == "low"


def test_a_dispatch() -> None:
    site = Site()
    key = site.register("form", 1).key
    site.pass_time(3)
    found = told(site, lambda: dispatch_job(site.store, key, Dispatch(), **site.how), 20)
    assert the_one(found, StoryKind.DISPATCH, 1).parent_job_id == "form"


def test_a_launch_by_hand() -> None:
    site = Site()
    key = site.register("clock", 2).key
    site.pass_time(1)
    found = told(site, lambda: force_launch(site.store, key, **site.how), 5)
    assert the_one(found, StoryKind.LAUNCH, 1).parent_job_id == "clock"


def test_an_evaluation_of_a_job_and_of_a_node() -> None:
    site = Site()
    site.settled("logs")
    key = site.settled("web", 2)
    site.pass_time(20)
    found = told(site, lambda: evaluate_job(site.store, key, **site.how), 5)
    assert the_one(found, StoryKind.EVALUATION, 1).job_id == "web"
    node_id = site.cluster.clients[0].node.id
    found = told(site, lambda: evaluate_node(site.store, node_id, **site.how), 5)
    assert the_one(found, StoryKind.EVALUATION, 2).node_ids == (node_id,)


def test_a_purge_of_a_node() -> None:
    site = Site(3)
    site.settled("web", 6)
    site.pass_time(20)
    node_id = site.cluster.clients[0].node.id
    site.cluster.clients[0].go(online=False)
    found = told(site, lambda: purge_node(site.store, node_id, **site.how), 30)
    assert the_one(found, StoryKind.LOSS, 1).node_ids == (node_id,)


def test_a_collection_and_a_change_of_the_configuration() -> None:
    site = Site()
    site.settled("web", 2)
    site.pass_time(20)
    found = told(site, lambda: demand_collection(site.store, by=CLUSTER, now=site.now), 10)
    the_one(found, StoryKind.COLLECTION, 0)
    settings = SchedulerSettings(scheduler_algorithm="spread")
    found = told(
        site,
        lambda: set_scheduler_settings(site.store, settings, by=CLUSTER, now=site.now),
        10,
    )
    the_one(found, StoryKind.CONFIGURATION, 0)
