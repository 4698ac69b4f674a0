"""Nodes in the admin: who may, what is asked before a drain, what is logged, where one is led."""

import html

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client

from scheduler.state.events import WriteKind
from scheduler.structs.node import NodeEligibility
from tests.builders import (
    SECOND,
    SOME_MOMENT,
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
)
from tests.people import account_with

LIST = "/admin/cluster/noderow/"
OTHER = make_node(2)


@pytest.fixture
def operator(store):
    """The administrator's browser."""
    client = Client()
    client.force_login(User.objects.create_superuser("kim"))
    return client


@pytest.fixture
def nodes(store, node):
    """Two nodes, by their ids."""
    store.write(
        WriteKind.NODE_REGISTRATION, lambda change: change.put_node(OTHER), now=SOME_MOMENT
    )
    return [node.id, OTHER.id]


def node_of(store, node_id):
    return store.read(lambda reader: reader.node(node_id))


def text_of(answer):
    return html.unescape(answer.content.decode())


def drain(operator, nodes, **fields):
    answers = {"reason": "kernel update", "deadline": "1h"} | fields
    return operator.post(f"{LIST}drain/?ids={','.join(nodes)}", answers)


def test_the_action_leads_to_the_page_that_asks(operator, nodes):
    chosen = {"action": "drain_selected", "_selected_action": nodes}
    answer = operator.post(LIST, chosen)
    assert answer.headers["Location"] == f"{LIST}drain/?ids={','.join(nodes)}"
    assert "Drain 2 nodes" in text_of(operator.get(answer.headers["Location"]))


def test_looking_at_the_page_drains_nothing(store, operator, nodes):
    operator.get(f"{LIST}drain/?ids={nodes[0]}")
    assert node_of(store, nodes[0]).drain_strategy is None


@pytest.mark.parametrize(
    ("fields", "deadline", "ignores"),
    [
        pytest.param({"deadline": "none"}, 0, False, id="no-deadline"),
        pytest.param({"deadline": "15m"}, 900 * SECOND, False, id="quarter-of-an-hour"),
        pytest.param({"deadline": "custom", "custom": "1h30m"}, 5400 * SECOND, False, id="custom"),
        pytest.param({"force": "on"}, -SECOND, False, id="force"),
        pytest.param({"ignore_system_jobs": "on"}, 3600 * SECOND, True, id="system-jobs-stay"),
    ],
)
def test_what_is_chosen_is_what_is_asked_of_the_node(
    store, operator, nodes, fields, deadline, ignores
):
    drain(operator, nodes[:1], **fields)
    strategy = node_of(store, nodes[0]).drain_strategy
    assert (strategy.deadline, strategy.ignore_system_jobs) == (deadline, ignores)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        pytest.param({"reason": ""}, "Give a reason", id="no-reason"),
        pytest.param({"deadline": "custom"}, "Write a duration", id="no-duration"),
        pytest.param({"deadline": "custom", "custom": "soon"}, "Write a duration", id="word"),
        pytest.param({"deadline": "custom", "custom": "31d"}, "at most 30d", id="too-long"),
        pytest.param({"deadline": "for ever"}, "Select a valid choice", id="no-such-choice"),
    ],
)
def test_bad_answers_are_marked_and_drain_nothing(store, operator, nodes, fields, problem):
    answer = drain(operator, nodes, **fields)
    assert (answer.status_code, problem in text_of(answer)) == (200, True)
    assert node_of(store, nodes[0]).drain_strategy is None


def test_a_drain_is_noted_and_logged_with_its_options(store, operator, nodes):
    answer = drain(operator, nodes[:1], ignore_system_jobs="on")
    assert answer.headers["Location"] == f"/drains/{nodes[0]}/"
    assert node_of(store, nodes[0]).last_drain.meta == {"message": "kernel update", "by": "kim"}
    (entry,) = LogEntry.objects.all()
    assert (entry.object_id, entry.change_message) == (
        nodes[0],
        "Drain: deadline 1h, system jobs left running. Reason: kernel update",
    )


def test_several_drain_together_and_the_message_leads_to_each(store, operator, nodes):
    answer = drain(operator, nodes)
    told = text_of(operator.get(answer.headers["Location"]))
    assert "2 nodes are draining" in told
    assert all(f'href="/drains/{node_id}/"' in told for node_id in nodes)
    assert all(node_of(store, node_id).drain_strategy for node_id in nodes)
    assert LogEntry.objects.count() == 2


def test_a_drain_is_canceled(store, operator, nodes):
    drain(operator, nodes[:1])
    operator.post(f"{LIST}cancel-drain/?ids={nodes[0]}", {"mark_eligible": "on"})
    after = node_of(store, nodes[0])
    assert (after.drain_strategy, after.last_drain.status) == (None, "canceled")
    assert after.scheduling_eligibility is NodeEligibility.ELIGIBLE


def test_one_refusal_keeps_the_others_from_nothing(store, operator, nodes):
    drain(operator, nodes[:1])
    chosen = {"action": "set_eligible", "_selected_action": nodes}
    told = text_of(operator.post(LIST, chosen, follow=True))
    assert (
        "Not changed: node-1, can not set node's scheduling eligibility to eligible while it is"
        in told
    )
    assert "1 node is eligible now" in told


def test_the_list_says_what_each_node_has(store, operator, nodes):
    alloc = make_allocation(node_id=nodes[0])
    store.write(
        WriteKind.PLAN_RESULT, lambda change: change.put_allocation(alloc), now=SOME_MOMENT
    )
    told = text_of(operator.get(LIST))
    assert "3\u202f500 of 4\u202f000" in told
    assert "<h1>Nodes</h1>" in told


def test_who_may_look_at_nodes_and_not_change_them_is_offered_no_action(store, nodes):
    rules = 'node { policy = "read" } operator { policy = "write" }'
    client = Client()
    client.force_login(account_with(store, rules))
    assert client.get(LIST).status_code == 200
    assert "drain_selected" not in text_of(client.get(LIST))
    assert drain(client, nodes).status_code == 403
    assert node_of(store, nodes[0]).drain_strategy is None


def test_the_flags_of_accounts_open_nothing_and_the_admin_says_so(store, nodes):
    user = User.objects.create_user("guest", is_staff=True)
    user.user_permissions.add(*Permission.objects.all())
    client = Client()
    client.force_login(user)
    answer = client.get(LIST, follow=True)
    assert answer.status_code == 403
    assert "needs node:write" in text_of(answer)


def test_rows_are_read_only_and_keep_secrets(store, operator, nodes):
    told = text_of(operator.get(f"{LIST}{nodes[0]}/change/"))
    assert '"Name": "node-1"' in told
    assert "SecretID" not in told
    assert operator.post(f"{LIST}{nodes[0]}/change/", {"name": "other"}).status_code == 403
    assert operator.get(f"{LIST}add/").status_code == 403
    assert operator.get(f"{LIST}{nodes[0]}/delete/").status_code == 403


@pytest.mark.parametrize(
    "table",
    [
        pytest.param("jobrow", id="jobs"),
        pytest.param("evaluationrow", id="evaluations"),
        pytest.param("allocationrow", id="allocations"),
    ],
)
def test_every_table_can_be_looked_at(store, operator, nodes, table):
    def work(change):
        change.put_job(make_job())
        change.put_evaluation(make_evaluation())
        change.put_allocation(make_allocation())

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    assert "badge" in text_of(operator.get(f"/admin/cluster/{table}/"))
