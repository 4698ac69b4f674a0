"""Every id and name that registration accepts has its pages, and no page breaks by one."""

import asyncio
import html
import re
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cluster.page_addresses import job_edit_url, job_url
from dashboard.live.topics import Looker, authorise, parse_topics
from scheduler.access.access import MANAGEMENT
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import write_job
from scheduler.structs.identity import JobKey
from tests.builders import make_allocation, make_evaluation, make_job, make_node, make_task_group
from tests.cluster.api.clients import NOW, document, make_token
from tests.process_store import store
from tests.security.world import signed_in

__all__ = ["store"]

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
#: What means something in addresses, lists of topics and markup.
MEANINGFUL = st.lists(
    st.sampled_from(
        [*"/.,:%&?#+;=@\\'\"<>{}|~ab\n\t\x85\u2028", "edit", "..", "%2F", "named", "💥", "{%"]
    ),
    min_size=1,
    max_size=8,
).map("".join)
NAMES = ANY_TEXT | MEANINGFUL
HARD_IDS = [
    "x/edit", "edit", "edit/edit", "..", "../..", "./a", "a//b", "/", "a/", "/a", "a,b", "a%2Fb",
    "a\\b", "a?b#c", "%", "named", "new", "'\"<>", "ä/💥", "x" * 512, "💥" * 512,
]  # fmt: skip
ACCEPTED, REFUSED = 200, 400
#: Sees all there is.
OPERATOR = Looker(MANAGEMENT, None)


@pytest.fixture
def site(store):
    """The whole site, as an operator with a token sees it."""
    return Site(store)


class Site:
    def __init__(self, store):
        self.store = store
        self.cookies = signed_in("root", is_staff=True, is_superuser=True).cookies
        self.headers = {"X-Nomad-Token": make_token(store, "root")}
        self.node = make_node(1)
        self.count = 0
        store.write(WriteKind.NODE_REGISTRATION, lambda c: put_found(c, self.node), now=NOW)

    def answers(self, method, *paths, **options):
        """By address, what the site answers."""
        from cluster.asgi import application

        async def ask():
            transport = httpx.ASGITransport(app=application, raise_app_exceptions=False)
            async with httpx.AsyncClient(
                transport=transport,
                base_url="http://localhost",
                cookies=self.cookies,
                headers=self.headers,
            ) as client:
                return {path: await client.request(method, path, **options) for path in paths}

        return asyncio.run(ask())

    def register(self, job_id, group, task):
        group = {"Name": group, "Tasks": [{"Name": task, "Driver": "mock_driver"}]}
        body = {"Job": document(ID=job_id, TaskGroups=[group])}
        return self.answers("PUT", "/v1/jobs", json=body)["/v1/jobs"]

    def place(self, key):
        """An evaluation and an allocation of a stored job; their ids."""
        self.count += 1
        number = self.count

        def work(change):
            job = change.job(key)
            evaluation = make_evaluation(number, job_id=key.job_id)
            put_found(change, evaluation)
            alloc = make_allocation(
                job, number, node_id=self.node.id, eval_id=evaluation.id, node_name=self.node.name
            )
            put_found(change, alloc)
            return evaluation.id, alloc.id

        return self.store.write(WriteKind.PLAN_RESULT, work, now=NOW)[1]

    def faults(self, key):
        """Every page that says something of a job, and what is wrong with it."""
        eval_id, alloc_id = self.place(key)
        wanted = [
            "/", "/jobs/", "/evaluations/", "/allocations/", "/nodes/", f"/nodes/{self.node.id}/",
            f"/evaluations/?job={quote(key.job_id, safe='')}", f"/evaluations/{eval_id}/",
            f"/evaluations/{eval_id}/capsule.json", f"/chains/{eval_id}/",
            f"/chains/{eval_id}/?view=timeline", f"/chains/{eval_id}.mmd",
            f"/chains/{eval_id}.json", f"/allocations/{alloc_id}/", "/admin/cluster/jobrow/",
            f"/search/?q={quote(key.job_id[:100], safe='')}", job_url(key, tab="versions"),
            job_url(key, tab="definition"),
        ]  # fmt: skip
        found = self.answers("GET", *wanted)
        faults = {
            path: each.status_code for path, each in found.items() if each.status_code >= 500
        }
        return faults | self._own_pages(key)

    def _own_pages(self, key):
        found = self.answers("GET", job_url(key), job_edit_url(key))
        statuses = [answer.status_code for answer in found.values()]
        if statuses != [ACCEPTED, ACCEPTED]:
            return {key: statuses}
        page, edit = (answer.text for answer in found.values())
        assert f'name="job" value="{html.escape(key.job_id)}"' in page
        assert f"<h1>Edit {html.escape(key.job_id)}</h1>" in edit
        addresses = re.findall(r'(?:href|action)="([^"]*)"', html.unescape(page))
        assert {job_edit_url(key), job_url(key, tab="versions")} <= set(addresses)
        self._follows(key, html.unescape(re.search(r'data-live="([^"]*)"', page)[1]))
        return {}

    def _follows(self, key, topics):
        kind, name = parse_topics(topics)[0]
        followed = self.store.read(lambda reader: authorise(kind, name, OPERATOR, reader))
        assert (followed.kind, followed.key) == ("job", "/".join(key))
        assert followed.topic == topics.split(",")[0]


def with_examples(test):
    for job_id in HARD_IDS:
        test = example(job_id=job_id, group="g", task="t")(test)
    return test


@with_examples
@example(job_id="a\nb", group="g", task="t")
@example(job_id="a", group="g\r", task="t")
@example(job_id="a", group="g", task="t\x1b[2J")
@given(job_id=NAMES, group=NAMES, task=NAMES)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_every_id_that_registration_accepts_has_its_pages(site, job_id, group, task):
    key = JobKey("default", job_id)
    # An earlier example may have made it, with other names within.
    before = site.store.read(lambda reader: reader.job(key))

    answer = site.register(job_id, group, task)

    assert answer.status_code in {ACCEPTED, REFUSED}, answer.text
    if answer.status_code == ACCEPTED:
        assert site.faults(key) == {}
    else:
        assert site.store.read(lambda reader: reader.job(key)) == before


@pytest.mark.parametrize("bad", ["\n", "\r", "\t", "\x1b", "\x7f", "\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize("place", ["job_id", "group", "task"])
def test_a_name_with_a_control_character_is_refused_by_its_path(site, place, bad):
    names = {"job_id": "a", "group": "g", "task": "t"} | {place: f"a{bad}b"}

    answer = site.register(**names)

    path = {"job_id": "ID", "group": "TaskGroups[0].Name", "task": "TaskGroups[0].Tasks[0].Name"}
    assert answer.status_code == REFUSED
    assert f"{path[place]} contains a control character" in answer.text


def test_a_name_longer_than_an_index_can_hold_is_refused(site):
    answer = site.register("x" * 513, "g", "t")

    assert (answer.status_code, "ID is longer than 512 characters" in answer.text) == (
        REFUSED,
        True,
    )


@pytest.mark.parametrize("name", ["a\nb", "a\r\nb", "\x85", "\u2028", "a\x1b[2Jb", "a\tb", "\n"])
def test_a_record_that_holds_such_a_name_already_breaks_no_page(site, name):
    job = make_job(id=name, name=name, task_groups=(make_task_group(name=name),))
    site.store.write(WriteKind.JOB_REGISTERED, lambda change: write_job(change, job), now=NOW)

    assert site.faults(job.key) == {}
