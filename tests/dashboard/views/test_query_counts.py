"""Reads per page: few, written down, and the same for a large cluster."""

import json
from pathlib import Path

import pytest
from django.db.backends.utils import CursorWrapper

from cluster.store.plain_cursor import PlainCursor
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import NAMESPACES, NODE_POOLS, QUOTAS
from scheduler.state.service_noun import SERVICES
from scheduler.state.staged_drain_noun import STAGED_DRAINS
from scheduler.state.story_nouns import STORIES
from scheduler.state.writes.jobs import write_job
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.job import Namespace
from scheduler.structs.node import NodePool
from scheduler.structs.quota import QuotaSpec
from scheduler.structs.service_registration import ServiceRegistration
from scheduler.structs.staged_drain import StagedDrain
from scheduler.structs.story import Story, StoryKind
from tests.builders import SOME_MOMENT, make_allocation, make_evaluation, make_job, make_node

BASELINE = json.loads((Path(__file__).parents[1] / "query_counts.json").read_text())
SHOWN = make_evaluation(status=EvalStatus.COMPLETE, create_index=2)
NODE = make_node()
ALLOCATION = make_allocation(number=1)
STORY = Story(
    id="5" * 36, kind=StoryKind.ROLLOUT, namespace="default", job_id="web", create_index=2
)
STAGED = "6" * 36
PATHS = {
    "now": "/",
    "jobs": "/jobs/",
    "job": "/jobs/default/web/",
    "versions": "/jobs/default/web/?tab=versions",
    "allocations of a job": "/jobs/default/web/?tab=allocations&sort=name",
    "evaluations of a job": "/jobs/default/web/?tab=evaluations&status=deleted",
    "stories of a job": "/jobs/default/web/?tab=stories",
    "deployments of a job": "/jobs/default/web/?tab=deployments",
    "definition": "/jobs/default/web/?tab=definition",
    "edit": "/jobs/default/web/edit/",
    "new": "/jobs/new/",
    "allocations": "/allocations/",
    "allocation": f"/allocations/{ALLOCATION.id}/",
    "search": "/search/?q=web",
    "evaluations": "/evaluations/",
    "evaluation": f"/evaluations/{SHOWN.id}/",
    "explain": f"/explain/{SHOWN.id}/",
    "explain against now": f"/explain/{SHOWN.id}/?view=both&node=node",
    "chain": f"/chains/{SHOWN.id}/",
    "stories": "/stories/",
    "story": f"/stories/{STORY.id}/",
    "nodes": "/nodes/",
    "node": f"/nodes/{NODE.id}/",
    "namespaces": "/namespaces/",
    "namespace": "/namespaces/default/",
    "pools": "/pools/",
    "pool": "/pools/default/",
    "quotas": "/quotas/",
    "quota": "/quotas/small/",
    "audit": "/audit/",
    "deployments": "/deployments/",
    "deployment": "/deployments/d1/",
    "scheduler": "/scheduler/",
    "topology": f"/topology/?job=web&node={NODE.id}",
    "topology then": "/topology/?at=now&job=web",
    "events": "/events/",
    "services": "/services/",
    "what if": "/what-if/",
    "drains": "/drains/",
    "drain": f"/drains/{NODE.id}/",
    "staged": f"/drains/staged/{STAGED}/",
    "states": "/help/states/",
}


@pytest.fixture
def statements(monkeypatch):
    """How many statements a call sends, on whatever thread."""
    sent = []

    def count_of(kind):
        execute = kind.execute

        def counted(self, sql, params=()):
            if sql.startswith("SELECT"):
                sent.append(sql)
            return execute(self, sql, params)

        monkeypatch.setattr(kind, "execute", counted)

    count_of(CursorWrapper)
    count_of(PlainCursor)

    def count(call):
        sent.clear()
        call()
        return len(sent)

    return count


def fill(store, first, last):
    def work(change):
        change.put(QUOTAS, QuotaSpec(name="small"))
        change.put(NAMESPACES, Namespace(name="default", quota="small"))
        change.put(NODE_POOLS, NodePool(name="default"))
        change.put(STORIES, STORY)
        nodes = tuple(make_node(number).id for number in range(1, last))
        change.put(STAGED_DRAINS, StagedDrain(id=STAGED, node_ids=nodes, begun=1))
        for number in range(first, last):
            change.put(NAMESPACES, Namespace(name=f"team-{number}", quota="small"))
            put_found(change, make_node(number))
            write_job(change, make_job(id="web" if number == 1 else f"web-{number}"))
            change.put(SERVICES, ServiceRegistration(
                id=f"s{number}", service_name="web", namespace="default", job_id="web",
                alloc_id=make_allocation(number=number).id, node_id=make_node(number).id,
            ))  # fmt: skip
            put_found(change, make_allocation(number=number, node_id=make_node(number).id))
            status = DeploymentStatus.FAILED if number % 4 == 3 else DeploymentStatus.RUNNING
            put_found(change, Deployment(id=f"d{number}", job_id="web", status=status))
            put_found(
                change,
                make_evaluation(
                    number,
                    job_id="web" if number == 1 else f"job-{number}",
                    status=EvalStatus.COMPLETE if number % 2 else EvalStatus.BLOCKED,
                    create_index=2,
                    story_id=STORY.id,
                ),
            )

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)


@pytest.mark.parametrize("name", PATHS)
def test_reads_are_those_of_the_baseline_however_large_the_cluster(
    store, browser, statements, name
):
    fill(store, 1, 3)
    browser.get(PATHS[name])
    small = statements(lambda: browser.get(PATHS[name]))
    fill(store, 3, 60)
    large = statements(lambda: browser.get(PATHS[name]))
    assert (small, large) == (BASELINE[name], BASELINE[name])
