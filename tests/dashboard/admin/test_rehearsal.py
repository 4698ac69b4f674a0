"""The drain page's rehearsal: asked for with the answers given, shown in words of its result."""

import html
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.test import Client

from cluster.operations.nodes import DrainRequest, drain_node
from cluster.operations.rehearsals import begin_rehearsal
from cluster.runtime.rehearsal_process import carry_out
from scheduler.access.caller import CLUSTER
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import NAMESPACES, REHEARSALS
from scheduler.structs.allocation import ClientStatus, DeploymentHealth
from scheduler.structs.job import Namespace
from scheduler.structs.node import DrainStrategy
from tests.builders import SOME_MOMENT, CountingIDs, make_allocation, make_job, make_node
from tests.dashboard.views.conftest import one_line
from tests.people import account_with

HOSTILE = "<b>two</b>"
NODES = [make_node(1, name="one"), make_node(2, name=HOSTILE)]
PAGE = "/admin/cluster/noderow/drain/"


@pytest.fixture
def running(store):
    """One allocation on the first of two nodes, in a namespace of its own."""

    def work(change):
        change.put(NAMESPACES, Namespace(name="team"))
        for node in NODES:
            put_found(change, node)
        change.put_job(make_job(namespace="team"))
        alloc = make_allocation(namespace="team", node_id=NODES[0].id, node_name="one")
        health = DeploymentHealth(healthy=True)
        put_found(
            change, alloc.changed(client_status=ClientStatus.RUNNING, deployment_status=health)
        )

    store.write("JobRegistered", work, now=SOME_MOMENT)
    return store


@pytest.fixture
def operator(store):
    client = Client()
    client.force_login(User.objects.create_superuser("kim"))
    return client


def asked(client, nodes=NODES[:1], **answers):
    """The page that a rehearsal leads to."""
    given = {"rehearse": "1", "reason": "", "deadline": "1h"} | answers
    ids = ",".join(node.id for node in nodes)
    return client.post(f"{PAGE}?ids={ids}", given)


def page_of(client, address):
    answer = client.get(address)
    text = one_line(html.unescape(answer.content.decode()))
    return SimpleNamespace(status=answer.status_code, text=text, answer=answer)


def the_rehearsal(store):
    (row,) = store.read(lambda reader: list(reader.list_all(REHEARSALS)))
    return row


def carried_out(store):
    """What a web process's desk has done in a process of its own."""
    row = the_rehearsal(store)
    begin_rehearsal(store, row.id, "web", by=CLUSTER, now=SOME_MOMENT)
    carry_out(row.id)


def test_a_drain_is_rehearsed_with_the_answers_given_and_nothing_drains(running, operator):
    answer = asked(operator, deadline="custom", custom="90m", ignore_system_jobs="on")
    assert answer.status_code == 302
    page = page_of(operator, answer.headers["Location"])
    assert "Waits for its turn." in page.text
    assert "Drain 1 node with a deadline of 1 h 30 min but leave system jobs running" in page.text
    assert '<noscript><meta http-equiv="refresh" content="2"></noscript>' in page.text
    assert 'value="90m"' in page.text
    node = running.read(lambda reader: reader.node(NODES[0].id))
    assert node.drain_strategy is None
    begin_rehearsal(running, the_rehearsal(running).id, "web", by=CLUSTER, now=SOME_MOMENT)
    begun = page_of(operator, answer.headers["Location"]).text
    assert "Its process starts and reads the record.</strong> It has run for" in begun


def test_what_it_found_is_shown_on_the_same_page(running, operator):
    address = asked(operator).headers["Location"]
    carried_out(running)
    page = page_of(operator, address)
    assert (
        "The one that needs a place finds one.</strong> No group of a job ends below" in page.text
    )
    assert f'<td><a href="/nodes/{NODES[1].id}/">{HOSTILE}</a></td>' in page.text
    assert HOSTILE.encode() not in page.answer.content
    row = the_rehearsal(running)
    assert f"index {row.snapshot_index}" in page.text
    assert "Rehearse again" in page.text
    assert "http-equiv" not in page.text


def test_what_finds_no_place_waits_and_the_page_says_for_what(running, operator):
    address = asked(operator, NODES).headers["Location"]
    carried_out(running)
    page = page_of(operator, address)
    assert "0 of 1 that need a place find one. 1 would wait.</strong>" in page.text
    assert "1 group ends below its count: web.web with 0 of" in page.text


def test_the_paces_of_a_drain_stand_side_by_side_and_one_is_chosen(running, operator):
    address = asked(operator, NODES, at_once="1").headers["Location"]
    carried_out(running)
    page = page_of(operator, address)
    assert "How many nodes at once" in page.text
    assert page.text.count('aria-label="Use ') == 2
    marked = page.text.partition('aria-current="true"')[2].partition("</tr>")[0]
    assert "1 at a time" in marked
    assert "0 of 1" in marked
    answers = {"reason": "new kernel", "deadline": "custom", "custom": "2h", "use": "0"}
    chosen = operator.post(address, answers)
    text = chosen.content.decode()
    assert chosen.status_code == 200
    assert [f'value="{word}"' in text for word in ("new kernel", "2h")] == [True, True]
    one = operator.post(address, {**answers, "use": "1"}).content.decode()
    field = one.partition('name="at_once"')[2].partition(">")[0]
    assert 'value="1"' in field
    none = text.partition('name="at_once"')[2].partition(">")[0]
    assert "value" not in none
    nodes = running.read(lambda reader: reader.nodes())
    assert not any(node.drain_strategy for node in nodes)


def test_one_node_has_no_paces_to_compare(running, operator):
    address = asked(operator).headers["Location"]
    carried_out(running)
    assert "How many nodes at once" not in page_of(operator, address).text


def test_names_that_one_may_not_read_are_left_out(running, operator):
    address = asked(operator).headers["Location"]
    carried_out(running)
    other = Client()
    rules = (
        'node { policy = "write" } operator { policy = "write" }'
        ' namespace "default" { policy = "read" }'
    )
    other.force_login(account_with(running, rules))
    page = page_of(other, address)
    assert (page.status, "one you may not read" in page.text) == (200, True)
    assert "web.web" not in page.text


def test_nodes_that_drain_already_are_rehearsed_all_together_alone(running, operator):
    request = DrainRequest(strategy=DrainStrategy())
    told = {"by": CLUSTER, "now": SOME_MOMENT, "ids": CountingIDs()}
    drain_node(running, NODES[1].id, request, **told)
    answer = asked(operator, NODES, at_once="1")
    text = one_line(html.unescape(answer.content.decode()))
    assert f"Not rehearsed: node {HOSTILE} drains already</" in text
    assert "Nodes that drain already cannot drain a few at a time." in text
    address = asked(operator, NODES).headers["Location"]
    carried_out(running)
    assert "0 of 1 that need a place find one." in page_of(operator, address).text


def test_bad_answers_rehearse_nothing(running, operator):
    answer = asked(operator, deadline="custom", custom="soon")
    assert (answer.status_code, b"Write a duration" in answer.content) == (200, True)
    assert not running.read(lambda reader: list(reader.list_all(REHEARSALS)))


def test_more_than_may_wait_are_refused_with_the_reason(running, operator):
    for _ in range(10):
        asked(operator)
    answer = asked(operator)
    assert "Not rehearsed: 10 rehearsals wait for their turn already" in answer.content.decode()


def test_one_that_is_not_kept_any_more_is_told(running, operator):
    page = page_of(operator, f"{PAGE}?ids={NODES[0].id}&rehearsal=gone")
    assert "That rehearsal is no longer kept." in page.text


def test_who_may_not_drain_may_not_rehearse_here(running):
    client = Client()
    rules = 'node { policy = "read" } operator { policy = "write" }'
    client.force_login(account_with(running, rules))
    assert asked(client).status_code == 403
