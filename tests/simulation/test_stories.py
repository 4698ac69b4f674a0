"""Stories as they happen: what belongs together, what is told apart, and what led to what."""

import pytest

from cluster.jobspec.parse import parse_job
from cluster.operations.job_versions import revert_job
from cluster.operations.jobs import JobRegistration, deregister_job, register_job
from cluster.operations.nodes import (
    DrainRequest,
    drain_node,
    evaluate_node,
    purge_node,
    set_node_eligibility,
)
from cluster.operations.scheduler_settings import set_scheduler_settings
from cluster.simulation.catalogue import document
from scheduler.access.access import MANAGEMENT
from scheduler.access.caller import CLUSTER, Caller, CallerKind
from scheduler.state.story_nouns import STORIES, STORY_NODES
from scheduler.state.waking import waking_story
from scheduler.state.writes.node_drain import DrainNote
from scheduler.structs.evaluation import EvalTrigger
from scheduler.structs.node import DrainStrategy
from scheduler.structs.scheduler_settings import SchedulerSettings
from scheduler.structs.story import StoryKind, version_story_id
from tests.simulation.test_triggers import SECOND, Site

pytestmark = pytest.mark.simulation

KIM = Caller(kind=CallerKind.PERSON, name="kim", access=MANAGEMENT)
DRAIN = DrainStrategy(deadline=300 * SECOND)


def told(site, *kinds):
    """The stories of these kinds, in order."""
    return [story for story in site.store.list_all(STORIES) if story.kind in kinds]


def of_story(site, story):
    return [row for row in site.store.evaluations() if row.story_id == story.id]


def silence(site, *places, seconds=25):
    for place in places:
        site.cluster.clients[place].go(online=False)
    site.pass_time(seconds)


def test_nodes_that_fall_silent_together_are_one_loss_and_their_return_another():
    site = Site(4)
    site.settled("web", 4)
    silence(site, 0, 1, 2)
    (loss,) = told(site, StoryKind.LOSS)
    lost = [client.node.id for client in site.cluster.clients[:3]]
    assert (loss.node_count, sorted(loss.node_ids), loss.actor) == (3, sorted(lost), "")
    made = site.of(EvalTrigger.NODE_UPDATE)
    assert {row.story_id for row in made[-3:]} == {loss.id}

    site.pass_time(120)
    for client in site.cluster.clients[:2]:
        client.go(online=True)
    site.pass_time(10)
    (back,) = told(site, StoryKind.RETURN)
    assert (back.parent_id, back.node_count) == (loss.id, 2)
    current = {
        link.node_id: link.story_id for link in site.store.list_all(STORY_NODES) if link.current
    }
    assert [current[node_id] for node_id in lost] == [back.id, back.id, loss.id]


def test_a_later_loss_of_a_node_that_came_back_is_another():
    site = Site(3)
    site.settled("web", 2)
    silence(site, 0)
    site.pass_time(120)
    site.cluster.clients[0].go(online=True)
    site.pass_time(120)
    silence(site, 0)
    first, second = told(site, StoryKind.LOSS)
    assert first.node_ids == second.node_ids
    assert len(told(site, StoryKind.RETURN)) == 1


def test_nodes_drained_by_one_action_share_a_drain_and_others_do_not():
    site = Site(4)
    site.settled("web", 4)
    note = DrainNote(meta={"message": "kernel update"})
    how = {"by": KIM, "now": site.now, "ids": site.plane.ids}
    for place in (0, 1):
        asked = DrainRequest(strategy=DRAIN, note=note, action="once")
        drain_node(site.store, site.cluster.clients[place].node.id, asked, **how)
    third = site.cluster.clients[2].node.id
    # Asked for again before it has ended, it is the same one.
    for _ in range(2):
        drain_node(site.store, third, DrainRequest(strategy=DRAIN), **how)
    site.pass_time(15)
    both, alone = told(site, StoryKind.DRAIN)
    assert (both.node_count, both.actor, both.reason) == (2, "kim", "kernel update")
    assert (alone.node_ids, alone.reason) == ((third,), "")
    drained = {row.story_id for row in site.of(EvalTrigger.NODE_DRAIN)}
    assert drained <= {both.id, alone.id}
    assert drained


def test_what_fails_again_and_again_is_one_crash_loop_for_each_name_and_version():
    site = Site()
    key = site.settled("night", 2)
    for _ in range(3):
        alloc = site.running(key)
        site.client_of(alloc).fail(alloc.id, site.now)
        site.pass_time(10)
    loops = told(site, StoryKind.CRASH_LOOP)
    assert len({story.alloc_name for story in loops}) == len(loops) <= 2
    assert sum(len(of_story(site, story)) for story in loops) >= 3
    (rollout,) = [story for story in told(site, StoryKind.ROLLOUT) if story.job_id == "night"]
    assert {story.parent_id for story in loops} == {rollout.id}


def test_going_back_by_hand_is_a_rollout_led_to_by_the_one_it_leaves():
    site = Site()
    key = site.settled("night", 1)
    site.register("night", 1, revision=1)
    revert_job(site.store, key, 0, **site.how)
    created = site.store.job(key).create_index
    story = site.store.story(version_story_id(key, created, 2))
    assert story.parent_id == version_story_id(key, created, 1)
    assert story.text == "version 0 came back as version 2"


def test_registering_what_is_there_is_an_evaluation():
    site = Site()
    site.register("night", 1)
    job = parse_job(document("night", 0, 1))
    register_job(site.store, JobRegistration(job=job), **site.how)
    assert [story.kind for story in told(site, *StoryKind)][-2:] == ["rollout", "evaluation"]


def test_jobs_that_are_not_evaluated_have_stories_all_the_same():
    site = Site()
    site.register("clock", 1)
    (rollout,) = told(site, StoryKind.ROLLOUT)
    deregister_job(site.store, site.store.jobs()[0].key, **site.how)
    (stop,) = told(site, StoryKind.STOP)
    assert (rollout.job_id, stop.job_id) == ("clock", "clock")
    assert (of_story(site, rollout), of_story(site, stop)) == ([], [])


def test_what_was_done_to_one_node_is_told_by_its_kind():
    site = Site(3)
    site.settled("logs")
    how = {"by": KIM, "now": site.now, "ids": site.plane.ids}
    node_id = site.cluster.clients[0].node.id
    evaluate_node(site.store, node_id, **how)
    for eligibility in ("ineligible", "eligible"):
        set_node_eligibility(site.store, node_id, eligibility, **how)
    purge_node(site.store, node_id, **how)
    kinds = (StoryKind.EVALUATION, StoryKind.NODE_CHANGE, StoryKind.LOSS)
    of_node = [story for story in told(site, *kinds) if story.actor == "kim"]
    assert [story.kind for story in of_node] == list(kinds)
    assert {story.node_ids for story in of_node} == {(node_id,)}


def test_a_changed_configuration_is_a_story_without_evaluations():
    site = Site()
    set_scheduler_settings(site.store, SchedulerSettings(), by=KIM, now=site.now)
    (story,) = told(site, StoryKind.CONFIGURATION)
    assert (story.namespace, story.actor, of_story(site, story)) == ("", "kim", [])
    set_scheduler_settings(site.store, SchedulerSettings(), by=CLUSTER, now=site.now)
    assert [each.actor for each in told(site, StoryKind.CONFIGURATION)] == ["kim", ""]


def woken(site):
    """By evaluation that waited: the stories of itself and of what woke it, by kind and job."""
    told = []
    for row in site.store.evaluations():
        for step in site.store.lifecycle(row.id):
            if step.woken_by is None:
                continue
            by = site.store.story(waking_story(site.store, step.woken_by))
            own = site.store.story(row.story_id)
            told.append(((own.kind, own.job_id), by and (by.kind, by.job_id)))
    return told


def test_what_waited_keeps_its_story_and_says_whose_room_woke_it():
    site = Site(1)
    big = site.settled("high", 2)
    site.register("web", 4)
    site.pass_time(5)
    deregister_job(site.store, big, **site.how)
    site.pass_time(10)
    web = (StoryKind.ROLLOUT, "web")
    assert (web, (StoryKind.STOP, "high")) in woken(site)


def test_a_node_that_is_opened_is_what_wakes():
    site = Site(1)
    site.pass_time(1)
    node_id = site.cluster.clients[0].node.id
    set_node_eligibility(site.store, node_id, "ineligible", **site.how)
    site.register("web", 1)
    site.pass_time(5)
    set_node_eligibility(site.store, node_id, "eligible", **site.how)
    site.pass_time(5)
    opened = (StoryKind.NODE_CHANGE, "")
    assert woken(site) == [((StoryKind.ROLLOUT, "web"), opened)]
    (story,) = [each for each in told(site, StoryKind.NODE_CHANGE) if each.text]
    assert (story.node_ids, story.text) == ((node_id,), "opened for allocations")
