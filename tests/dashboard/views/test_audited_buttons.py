"""Buttons in the audit: what was done with its index, what was refused with the missing right."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from cluster.store.audit import AuditFilter, read_audit
from scheduler.state.events import WriteKind
from scheduler.state.writes.jobs import write_job
from scheduler.structs.deployment import Deployment, DeploymentStatus
from tests.builders import SOME_MOMENT, make_allocation, make_job

PARTS = ("who_name", "door", "act", "target_id", "result", "missing_right")
LIST = "/admin/cluster/noderow/"


@pytest.fixture
def told(store):
    def told(*parts):
        store.audit.flush()
        rows = read_audit(store, AuditFilter(), limit=100).rows[::-1]
        return [tuple(getattr(row, part) for part in parts or PARTS) for row in rows]

    return told


@pytest.fixture
def job(store):
    store.write(
        WriteKind.JOB_REGISTERED, lambda change: write_job(change, make_job()), now=SOME_MOMENT
    )
    return make_job()


def test_a_stopped_job_is_told_with_its_index(browser, job, store, told):
    browser.post("/jobs/stop/", namespace="default", job="web")
    assert told() == [("kim", "page", "stop job", "web", "done", "")]
    assert told("made_index") == [(store.index,)]


def test_who_may_not_close_nodes_is_told_with_the_missing_right(guest, node, told):
    guest.post(f"/nodes/{node.id}/eligibility", eligibility="ineligible")
    assert told() == [("guest", "page", "open or close node", node.id, "refused", "node:write")]


def test_what_cannot_follow_what_is_is_told(browser, store, told):
    for status in (DeploymentStatus.RUNNING, DeploymentStatus.SUCCESSFUL):
        deployment = Deployment(id="d1", job_id="web", create_time=1, status=status)
        store.write(WriteKind.PLAN_RESULT, lambda c, d=deployment: c.put_deployment(d), now=1)
    browser.post("/deployments/fail/", deployment="d1")
    [seen] = told()
    assert seen == ("kim", "page", "fail deployment", "d1", "refused", "")


def test_an_order_to_a_node_that_is_away_is_told_as_refused(browser, store, node, told):
    alloc = make_allocation(node_id=node.id)
    store.write(
        WriteKind.PLAN_RESULT,
        lambda change: (change.put_job(make_job()), change.put_allocation(alloc)),
        now=SOME_MOMENT,
    )
    browser.post("/allocations/restart/", allocation=alloc.id)
    assert told() == [("kim", "page", "restart allocation", alloc.id, "refused", "")]


def test_looking_at_pages_is_no_act(browser, job, told):
    for path in ("/", "/jobs/", "/jobs/default/web/", "/nodes/", "/audit/"):
        browser.get(path)
    assert told() == []


def test_what_is_done_in_the_admin_says_so(store, node, told):
    operator = Client()
    operator.force_login(User.objects.create_superuser("ann"))
    address = f"{LIST}close/?ids={node.id}"
    seen = operator.get(address).content.decode().split('name="chosen" value="')[1].split('"')[0]
    operator.post(address, {"chosen": seen})
    assert told() == [("ann", "admin", "close node", node.id, "done", "")]


def test_who_may_not_enter_the_admin_is_told(guest, node, told):
    sent_on = guest.get(f"{LIST}drain/?ids={node.id}")
    assert guest.get(sent_on.headers["Location"]).status == 403
    assert told() == [("guest", "admin", "enter the admin", "", "refused", "node:write")]
