"""Acts of the admin on many rows: chosen across pages, counted, rehearsed, staged, refused."""

import html
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client

from cluster.operations.jobs import JobRegistration, register_job
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import JOBS
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.state.staged_drain_noun import STAGED_DRAINS
from scheduler.structs.node import NodeEligibility
from tests.builders import SOME_MOMENT, make_allocation, make_job, make_node
from tests.callers import MANAGER
from tests.people import account_with

LIST = "/admin/cluster/noderow/"
JOBS_LIST = "/admin/cluster/jobrow/"
NODES = [
    make_node(number, name=f"n{number:03}", datacenter="dc1" if number <= 120 else "dc2")
    for number in range(1, 131)
]


@pytest.fixture
def operator(store):
    client = Client()
    client.force_login(User.objects.create_superuser("kim"))
    return client


@pytest.fixture
def fleet(store):
    """130 nodes on three pages of the list, 120 of them in dc1; one allocation on the first."""

    def work(change):
        for node in NODES:
            put_found(change, node)
        change.put_job(make_job())
        put_found(change, make_allocation(node_id=NODES[0].id))

    store.write(WriteKind.NODE_REGISTRATION, work, now=SOME_MOMENT)
    return store


def text_of(answer):
    return html.unescape(answer.content.decode()).replace("\n", " ")


def across(operator, action, of="datacenter=dc1"):
    """The address that an action leads to, for all that a filtered list has."""
    chosen = {"action": action, "_selected_action": [NODES[0].id], "select_across": "1"}
    return operator.post(f"{LIST}?{of}&p=2", chosen).headers["Location"]


def digest_of(page):
    return page.split('name="chosen" value="')[1].split('"')[0]


def post(operator, address, **fields):
    """As a person does: with the choice that the page showed."""
    seen = digest_of(operator.get(address).content.decode().replace("\n  ", " "))
    return operator.post(address, {"chosen": seen, **fields})


def closed(store):
    nodes = store.read(lambda reader: list(reader.nodes()))
    return sum(node.scheduling_eligibility is NodeEligibility.INELIGIBLE for node in nodes)


def test_all_pages_of_a_filtered_list_are_chosen_and_counted(fleet, operator):
    page = text_of(operator.get(f"{LIST}?datacenter=dc1"))
    assert "Select all 120 nodes" in page
    address = across(operator, "set_ineligible")
    assert parse_qs(urlsplit(address).query) == {"of": ["datacenter=dc1"]}
    asked = text_of(operator.get(address))
    assert "120 nodes, from all pages of the list" in asked
    assert "and 100 more" in asked
    assert "1 allocation is wanted there and stays; nothing new is placed there" in asked
    assert 'value="Set 120 nodes ineligible"' in asked
    done = post(operator, address, reason="rack work")
    assert (done.status_code, closed(fleet)) == (302, 120)
    assert LogEntry.objects.count() == 120
    assert "120 nodes are ineligible now" in text_of(operator.get(LIST))


def test_a_choice_that_changed_since_it_was_shown_is_not_acted_on(fleet, operator):
    address = across(operator, "purge_selected")
    seen = digest_of(operator.get(address).content.decode().replace("\n  ", " "))
    more = make_node(200, name="new", datacenter="dc1")
    fleet.write("made", lambda change: put_found(change, more), now=SOME_MOMENT)
    for chosen in ({"chosen": seen}, {"chosen": "rubbish"}, {}):
        answer = operator.post(address, chosen)
        assert "The choice changed since you opened this page: it is 121 nodes" in text_of(answer)
    assert fleet.read(lambda reader: len(list(reader.nodes()))) == 131


@pytest.mark.parametrize("of", ["body=x", "password__x=1", "use__body=1", "status__exact=%FF"])
def test_filters_that_are_none_choose_nothing(fleet, operator, of):
    answer = operator.get(f"{LIST}purge/", {"of": of})
    assert answer.status_code == 200
    assert "None of what was chosen exists any more." in text_of(answer)


def test_no_list_is_narrowed_by_what_it_hides(fleet, operator):
    for query in ("body__contains=x", "body=x"):
        assert operator.get(f"{LIST}?{query}").status_code in (302, 400)
    assert operator.get("/admin/cluster/acltokenrow/?secret_hash__startswith=a").status_code == 400


def test_more_than_an_act_takes_is_refused_with_the_numbers(fleet, operator, monkeypatch):
    monkeypatch.setattr("dashboard.admin.chosen.MOST_CHOSEN", 100)
    monkeypatch.setattr("dashboard.admin.act_page.MOST_CHOSEN", 100)
    address = across(operator, "set_ineligible")
    told = text_of(post(operator, address))
    assert "At most 100 at once: these are 120. Narrow the list." in told
    assert closed(fleet) == 0


def test_nodes_drain_in_stages_and_one_is_led_to_them(fleet, operator):
    ids = ",".join(node.id for node in NODES[:5])
    address = f"{LIST}drain/?ids={ids}"
    fields = {"reason": "kernel", "deadline": "1h", "at_once": "2", "close_first": "on"}
    fields["ticket"] = "OPS-412"
    answer = post(operator, address, **fields)
    (drain,) = fleet.read(lambda reader: list(reader.list_all(STAGED_DRAINS)))
    assert answer.headers["Location"] == f"/drains/staged/{drain.id}/"
    assert (drain.at_once, drain.begun, len(drain.closed)) == (2, 2, 5)
    assert drain.meta == {"message": "kernel", "by": "kim", "ticket": "OPS-412"}
    page = text_of(operator.get(answer.headers["Location"]))
    assert "5 nodes drain, 2 at a time." in page
    assert "0 of 5 nodes are done.</strong> 2 drain now, 3 wait for a turn, next is n003." in page
    assert "<dt>ticket</dt><dd>OPS-412</dd>" in text_of(operator.get(f"/drains/{NODES[0].id}/"))
    entry = LogEntry.objects.first()
    told = "Drain: deadline 1h, 2 nodes at once. Reason: kernel. Ticket: OPS-412"
    assert entry.change_message == told
    again = text_of(post(operator, address, **fields))
    assert f"node n001 is in staged drain {drain.id}, which runs" in again


def test_a_staged_drain_is_rehearsed_as_it_would_go(fleet, operator):
    ids = ",".join(node.id for node in NODES[:5])
    fields = {"rehearse": "1", "deadline": "1h", "at_once": "2"}
    answer = operator.post(f"{LIST}drain/?ids={ids}", fields)
    assert answer.status_code == 302
    page = text_of(operator.get(answer.headers["Location"]))
    assert "Drain 5 nodes in steps of 2 with a deadline of 1 h" in page
    assert 'name="at_once" value="2"' in page
    assert not fleet.read(lambda reader: list(reader.list_all(STAGED_DRAINS)))


@pytest.mark.parametrize("at_once", ["0", "-1", "many", "1001", "2.5"])
def test_a_pace_that_is_none_is_marked_and_drains_nothing(fleet, operator, at_once):
    ids = ",".join(node.id for node in NODES[:3])
    fields = {"reason": "x", "deadline": "1h", "at_once": at_once}
    answer = post(operator, f"{LIST}drain/?ids={ids}", **fields)
    assert (answer.status_code, "errorlist" in text_of(answer)) == (200, True)
    assert closed(fleet) == 0


@pytest.mark.parametrize(("page", "change"), [("close", "Eligibility"), ("purge", "Purge")])
def test_closing_and_purging_are_rehearsed_beside_the_button(fleet, operator, page, change):
    address = f"{LIST}{page}/?ids={NODES[0].id}"
    assert 'name="rehearse" value="Rehearse"' in text_of(operator.get(address))
    answer = operator.post(address, {"rehearse": "1", "reason": "new disks"})
    (row,) = fleet.read(lambda reader: list(reader.list_all(REHEARSALS)))
    assert change in row.scenario
    told = text_of(operator.get(answer.headers["Location"]))
    assert "Waits for its turn." in told
    assert 'value="new disks"' in told
    assert "1 allocation is wanted there" in told
    assert (closed(fleet), fleet.read(lambda reader: len(list(reader.nodes())))) == (0, 130)


def test_purged_twice_the_second_finds_nothing(fleet, operator):
    address = f"{LIST}purge/?ids={NODES[0].id}"
    assert post(operator, address).status_code == 302
    assert fleet.read(lambda reader: reader.node(NODES[0].id)) is None
    again = operator.post(address, {})
    assert "None of what was chosen exists any more." in text_of(again)


def test_jobs_are_stopped_with_their_allocations_counted(store, operator, ids):
    for name in ("a", "b", "c"):
        request = JobRegistration(job=make_job(id=name))
        register_job(store, request, by=MANAGER, now=SOME_MOMENT, ids=ids)
    chosen = {"action": "stop_selected", "_selected_action": _pks(2), "select_across": "0"}
    address = operator.post(JOBS_LIST, chosen).headers["Location"]
    page = text_of(operator.get(address))
    assert "Stop 2 jobs" in page
    assert "0 allocations will be stopped." in page
    rehearsed = operator.post(address, {"rehearse": "1"})
    assert "Stop job a in default" in text_of(operator.get(rehearsed.headers["Location"]))
    post(operator, address, reason="end of term")
    jobs = store.read(lambda reader: {job.id: job.stop for job in reader.list_all(JOBS)})
    assert jobs == {"a": True, "b": True, "c": False}
    assert "2 jobs are being stopped" in text_of(operator.get(JOBS_LIST))


def _pks(count):
    from cluster.models import JobRow

    return JobRow.objects.order_by("job_id").values_list("pk", flat=True)[:count]


def test_who_may_not_stop_jobs_is_offered_nothing_and_refused(store, ids):
    request = JobRegistration(job=make_job())
    register_job(store, request, by=MANAGER, now=SOME_MOMENT, ids=ids)
    client = Client()
    rules = 'node { policy = "write" } namespace "*" { policy = "read" }'
    client.force_login(account_with(store, rules))
    assert "stop_selected" not in text_of(client.get(JOBS_LIST))
    answer = client.post(f"{JOBS_LIST}stop/?ids=1", {})
    assert answer.status_code == 403
    assert "To stop jobs you need " in text_of(answer)
    assert "Nothing was changed. Ask " in text_of(answer)
    table = client.get("/admin/cluster/acltokenrow/")
    assert table.status_code == 403
    assert "you need management" in text_of(table)
    assert not store.read(lambda reader: next(iter(reader.list_all(JOBS))).stop)
