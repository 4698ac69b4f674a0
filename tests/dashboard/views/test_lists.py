"""Lists: every order and facet by its address, the API's expressions, and what one may not see."""

import html
import json

import pytest
from msgspec.structs import replace

from cluster.bench.sockets import FOLLOWED, PATHS
from dashboard.queries import lists
from dashboard.queries.list_kinds import KINDS
from scheduler.state import nouns
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.service_noun import SERVICES
from scheduler.state.story_nouns import STORIES
from scheduler.state.variable_nouns import VARIABLES
from scheduler.state.volume_nouns import HOST_VOLUMES
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.host_volume import DynamicVolume, VolumeState
from scheduler.structs.job import Namespace
from scheduler.structs.node import NodeStatus
from scheduler.structs.service_registration import ServiceRegistration
from scheduler.structs.story import Story, StoryKind
from scheduler.structs.variable import SealedVariable, VariableLock
from tests.builders import (
    SECOND,
    SOME_MOMENT,
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
)
from tests.dashboard.views.conftest import Browser, listed
from tests.people import account_with

MANY = 130
#: None of them folds.
KINDS_OF = (StoryKind.ROLLOUT, StoryKind.DRAIN)
ORDERS = [
    (kind.name, sign + name)
    for kind in KINDS.values()
    for name in kind.orders
    for sign in ("", "-")
]


def words(answer):
    return html.unescape(answer.text)


@pytest.fixture
def filled(store):
    """More of everything than a page holds, in two namespaces."""

    def work(change):
        change.put(nouns.NAMESPACES, Namespace(name="team"))
        for number in range(MANY):
            space = "default" if number % 3 else "team"
            job = make_job(
                id=f"job-{number % 7}-{number}", namespace=space, type="service",
                priority=10 * (number % 4 + 1), submit_time=SOME_MOMENT + number % 5 * SECOND,
                create_index=7, modify_index=9,
            )  # fmt: skip
            change.put_job(job)
            place = {"create_index": 10 + number // 4, "modify_index": 900 - number}
            story = Story(
                id=f"{number:08}-story", kind=KINDS_OF[number % 2], namespace=space,
                job_id=job.id, actor=f"p{number % 4}", create_index=place["create_index"],
            )  # fmt: skip
            change.put(STORIES, story)
            put_found(
                change,
                make_evaluation(
                    number, namespace=space, job_id=job.id, story_id=story.id,
                    priority=number % 3 * 10,
                    status=EvalStatus.BLOCKED if number % 5 else EvalStatus.COMPLETE, **place,
                ),
            )  # fmt: skip
            put_found(change, make_allocation(job, number, id=f"{number:036x}", **place))
            put_found(change, make_node(
                number, datacenter=f"dc{number % 3}",
                status=NodeStatus.READY if number % 4 else NodeStatus.DOWN,
            ))  # fmt: skip
            put_found(change, Deployment(
                id=f"{number:036x}", namespace=space, job_id=job.id,
                status=DeploymentStatus.FAILED, **place,
            ))  # fmt: skip
            change.put(VARIABLES, SealedVariable(
                namespace=space, path=f"p{number % 7}/{number}",
                lock=None if number % 5 else VariableLock(id="secret-id"), **place,
            ))  # fmt: skip
            change.put(HOST_VOLUMES, DynamicVolume(
                id=f"{number:036x}", namespace=space, name=f"v-{number % 7}",
                node_id=make_node(number % 3).id, plugin_id=("", "mkdir")[number % 2],
                state=(VolumeState.READY, VolumeState.UNAVAILABLE)[number % 5 == 0], **place,
            ))  # fmt: skip
            change.put(SERVICES, ServiceRegistration(
                id=f"s-{number}", service_name=f"web-{number % 7}", namespace=space,
                node_id=make_node(number % 3).id, job_id=job.id, alloc_id=f"{number:036x}",
                tags=(f"v{number % 2}",), address="10.0.0.1", port=20_000 + number, **place,
            ))  # fmt: skip

    store.write(WriteKind.EVALUATION_UPDATED, work, now=SOME_MOMENT)


@pytest.mark.parametrize(("name", "sort"), ORDERS)
def test_every_order_gives_every_row_once_whatever_the_pages(browser, store, filled, name, sort):
    kind = KINDS[name]
    pages, answer = [], browser.get(f"/{name}/", sort=sort)
    while True:
        pages.append(answer.context["list"])
        if not pages[-1].next_url:
            break
        answer = browser.get(pages[-1].next_url)
    rows = {key: row for page in pages for key, row in page.rows.items() if "group" not in row}
    shown = [key for page in pages for key in page.rows if key in rows]
    assert len(shown) == len(set(shown)) == MANY
    assert len(pages) == -(-MANY // kind.page_size)
    columns = kind.orders[sort.removeprefix("-")].columns
    values = [value_of(row, columns) for row in rows.values()]
    assert values == sorted(values, reverse=sort.startswith("-"))
    assert f'aria-sort="{"descending" if sort.startswith("-") else "ascending"}"' in answer.text


def value_of(row, columns):
    value = next(
        getattr(holder, name, None) or holder
        for holder in [
            row.get("line"),
            row.get("row"),
            row.get("node"),
            row.get("evaluation"),
            row.get("alloc"),
        ]
        if holder is not None
        for name in ("job", "deployment", "story", "volume", "variable", "service", "")
        if not name or hasattr(holder, name)
    )
    noun = {type(each): noun for noun, each in EXAMPLES}[type(value)]
    cells = dict(zip(noun.column_names, noun.row(value, str), strict=True))
    cells["name_length"] = len(str(cells.get("name", "")))
    return tuple(cells[column] for column in columns)


EXAMPLES = [
    (nouns.JOBS, make_job()), (nouns.NODES, make_node()),
    (nouns.EVALUATIONS, make_evaluation()), (nouns.ALLOCATIONS, make_allocation()),
    (nouns.DEPLOYMENTS, Deployment(id="d", job_id="j")),
    (STORIES, Story()), (HOST_VOLUMES, DynamicVolume()),
    (VARIABLES, SealedVariable()), (SERVICES, ServiceRegistration()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "query", "count"),
    [
        pytest.param("/jobs/", {"filter": "Priority == 20"}, 33, id="number"),
        pytest.param("/jobs/", {"filter": 'ID matches "^job-1-"'}, 19, id="expression"),
        pytest.param("/jobs/", {"filter": 'Type == "batch"'}, 0, id="column"),
        pytest.param(
            "/jobs/", {"filter": 'Namespace == "team"', "namespace": "default"}, 0, id="both-ways"
        ),
        pytest.param("/nodes/", {"status": "down", "datacenter": "dc1"}, 11, id="two-facets"),
        pytest.param("/nodes/", {"status": "ready", "filter": 'Name == "node-2"'}, 1, id="node"),
        pytest.param("/evaluations/", {"status": "complete", "type": "service"}, 26, id="facet"),
        pytest.param("/evaluations/", {"job": "job-1-1"}, 1, id="job"),
        pytest.param("/allocations/", {"status": "running"}, 0, id="none"),
        pytest.param("/allocations/", {"wanted": "run", "namespace": "team"}, 44, id="namespace"),
        pytest.param("/deployments/", {"filter": 'JobID contains "job-2"'}, 19, id="rollouts"),
        pytest.param("/stories/", {"kind": "drain", "sort": "began"}, 65, id="stories"),
        pytest.param("/stories/", {"status": "running", "sort": "-kind"}, 104, id="running"),
        pytest.param("/stories/", {"who": "p1", "namespace": "team", "sort": "job"}, 11, id="who"),
        pytest.param(
            "/stories/",
            {"filter": 'ID matches "5-story$"', "sort": "who"},
            13,
            id="stories-by-expression",
        ),
        pytest.param("/stories/", {"job": "team/job-3-3", "sort": "kind"}, 1, id="story-of-job"),
        pytest.param("/services/", {"service": "web-3", "sort": "-job"}, 19, id="services"),
        pytest.param("/services/", {"q": "web-1", "namespace": "team"}, 6, id="service-begins"),
        pytest.param("/services/", {"job": "job-1-1"}, 1, id="services-of-job"),
        pytest.param("/services/", {"filter": 'Tags contains "v1"'}, 65, id="tagged"),
        pytest.param("/services/", {"node": make_node(1).id}, 43, id="services-of-node"),
        pytest.param("/volumes/", {"status": "unavailable", "plugin": "mkdir"}, 13, id="volumes"),
        pytest.param(
            "/volumes/", {"plugin": "(registered)", "sort": "state"}, 65, id="registered"
        ),
        pytest.param("/volumes/", {"named": "v-3", "sort": "-made"}, 19, id="volumes-by-name"),
        pytest.param("/volumes/", {"node": make_node(1).id, "sort": "plugin"}, 43, id="of-node"),
        pytest.param("/volumes/", {"filter": 'Name matches "[56]$"'}, 36, id="volume-expression"),
        pytest.param("/volumes/", {"filter": 'State == "ready"'}, 104, id="volume-column"),
        pytest.param("/variables/", {"lock": "locked", "namespace": "team"}, 9, id="locked"),
        pytest.param("/variables/", {"prefix": "p3/", "sort": "-changed"}, 19, id="of-path"),
        pytest.param("/variables/", {"q": "3/1"}, 7, id="path-holds"),
        pytest.param("/variables/", {"filter": 'Path matches "[56]$"'}, 26, id="path-expression"),
        pytest.param("/variables/", {"filter": 'Path == "p1/1"'}, 1, id="path-column"),
    ],
)
def test_rows_are_those_that_the_address_asks_for(browser, filled, path, query, count):
    answer = browser.get(path, **query)
    rows = listed(answer)
    while answer.context["list"].next_url:
        answer = browser.get(answer.context["list"].next_url)
        rows += listed(answer)
    assert len(rows) == len(set(rows)) == count


def test_allocations_are_counted_and_narrowed_by_where_they_are(browser, store, filled):
    """By node, datacenter and pool; what a node says of itself now counts."""

    def work(change):
        for number in range(40, 100):
            job = make_job(id=f"job-{number % 7}-{number}", namespace="default")
            put_found(change, make_allocation(
                job, number, id=f"{number:036x}", node_id=make_node(number % 30 + 1).id,
            ))  # fmt: skip

    store.write(WriteKind.EVALUATION_UPDATED, work, now=SOME_MOMENT)
    page = browser.get("/allocations/").context["list"]
    facets = {facet.name: facet for facet in page.facets}
    node, datacenter = facets["node"], facets["datacenter"]
    assert (node.choices[0].count, len(node.choices), node.has_further) == (MANY, 21, True)
    most = node.choices[1]
    assert most.word.startswith("node-")
    assert "and others, with fewer" in browser.get("/allocations/").text
    narrowed = browser.get(most.url).context["list"]
    assert (len(narrowed.rows), narrowed.told) == (50, f"{most.count} of {MANY} fit")
    assert {facet.name: facet.chosen for facet in narrowed.facets}["node"] == most.word
    places = {choice.word: choice.count for choice in datacenter.choices}
    assert places["all"] == sum(count for word, count in places.items() if word != "all") == MANY
    there = browser.get("/allocations/", datacenter="dc2").context["list"]
    assert (there.fitting, len(there.rows)) == (places["dc2"], min(places["dc2"], 50))
    both = browser.get("/allocations/", datacenter="dc2", node=most.value).context["list"]
    assert both.fitting == len(both.rows) == 0


def test_who_may_not_see_nodes_is_not_told_where_allocations_are(filled, store):
    few = Browser(account_with(store, 'namespace "default" { policy = "read" }'))
    answer = few.get("/allocations/", datacenter="nowhere")
    assert {"node", "datacenter", "pool"}.isdisjoint(
        facet.name for facet in answer.context["list"].facets
    )
    assert len(answer.context["list"].rows) == 50


def test_counts_of_a_facet_are_of_what_the_others_leave(browser, filled):
    page = browser.get("/nodes/", datacenter="dc1").context["list"]
    state, datacenter = page.facets[:2]
    told = {choice.word: choice.count for choice in state.choices if choice.count}
    assert told == {"all": 43, "ready": 32, "down": 11}
    counts = [choice.count for choice in datacenter.choices]
    assert (datacenter.chosen, counts[0], sum(counts[1:])) == ("dc1", MANY, MANY)
    assert page.told == "43 of 130 fit"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param('Status = "run"', "from character 8 on", id="operator"),
        pytest.param('Status == "x', "from character 11 on", id="open-text"),
        pytest.param("Nothing == 1", 'struct field with name "Nothing"', id="field"),
        pytest.param("Priority == many", 'parsing "many"', id="value"),
        pytest.param('ID matches "("', "failed to compile", id="pattern"),
        pytest.param("x" * 600, "500 characters at most", id="too-long"),
    ],
)
def test_what_is_wrong_with_an_expression_is_named_with_its_place(browser, filled, text, told):
    answer = browser.get("/jobs/", filter=text)
    assert answer.status == 200
    assert told in words(answer)
    assert 'aria-invalid="true"' in answer.text
    assert listed(answer) == []


def test_an_expression_is_put_to_so_many_rows_and_the_next_page_goes_on(
    browser, filled, monkeypatch
):
    monkeypatch.setattr(lists, "MOST_LOOKED_AT", 50)
    query = {"filter": 'ID == "job-1-1" or ID matches "^job-3-1"'}
    answer, shown, pages = browser.get("/jobs/", **query), [], 0
    while True:
        page, pages = answer.context["list"], pages + 1
        shown += page.rows
        if not page.next_url:
            break
        assert page.told.endswith("50")
        assert "Look further" in answer.text
        answer = browser.get(page.next_url)
    assert pages == 3
    assert sorted(shown) == sorted(
        f"{'default' if number % 3 else 'team'}/job-{number % 7}-{number}"
        for number in range(MANY)
        if number == 1 or (number % 7 == 3 and str(number).startswith("1"))
    )


@pytest.mark.parametrize("after", ["[]", "[1]", "x", '["default", 7]', "[null]", "[{}]", "[1e99]"])
def test_a_place_that_is_none_is_the_first_page(browser, filled, after):
    first = listed(browser.get("/jobs/"))
    assert listed(browser.get("/jobs/", after=after)) == first


@pytest.mark.parametrize(
    "path",
    ["/jobs/", "/evaluations/", "/allocations/", "/deployments/", "/volumes/", "/services/"],
)
def test_a_list_shows_and_counts_only_what_one_may_see(guest, browser, store, filled, path):
    def hide(change):
        change.put_job(make_job(id="sealed", namespace="other"))
        put_found(change, make_evaluation(990, namespace="other", job_id="sealed"))
        alloc = make_allocation(make_job(id="sealed", namespace="other"), 991)
        put_found(change, replace(alloc, id="9" * 36))
        put_found(change, Deployment(
            id="9" * 36, namespace="other", job_id="sealed", status=DeploymentStatus.FAILED,
        ))  # fmt: skip
        sealed = DynamicVolume(id="9" * 36, namespace="other", name="sealed", create_index=1)
        change.put(HOST_VOLUMES, sealed)
        change.put(SERVICES, ServiceRegistration(
            id="s-sealed", service_name="sealed", namespace="other", job_id="sealed",
        ))  # fmt: skip

    store.write(WriteKind.EVALUATION_UPDATED, hide, now=SOME_MOMENT)
    mine, all_of_them = guest.get(path).context["list"], browser.get(path).context["list"]
    assert (mine.total, all_of_them.total) == (MANY, MANY + 1)
    for query in ({"namespace": "other"}, {"filter": 'Namespace == "other"'}):
        answer = guest.get(path, **query)
        assert listed(answer) == []
        assert "sealed" not in answer.text
        assert listed(browser.get(path, **query))
    spaces = [facet for facet in mine.facets if facet.name == "namespace"]
    assert [choice.word for choice in spaces[0].choices] == ["all", "default", "team"]


def test_a_namespace_is_chosen_for_all_pages_and_an_address_says_otherwise(browser, filled):
    answer = browser.post("/choose-namespace/", namespace="team")
    assert (answer.status, answer.headers["Location"]) == (302, "/")
    for name in ("jobs", "evaluations", "allocations", "deployments", "volumes", "services"):
        page = browser.get(f"/{name}/").context["list"]
        assert (page.total, page.wish.of("namespace")) == (44, "team"), name
        assert "namespace=team" in page.heads[-1].url + page.heads[1].url + page.heads[0].url
        every = browser.get(f"/{name}/", namespace="*").context["list"]
        assert every.total == MANY
        links = [head.url for head in every.heads if head.url]
        assert all("namespace=%2A" in link for link in links)
    assert browser.get("/").context["waiting_count"] == 35
    assert browser.get("/").context["nav_counts"]["Jobs"]["text"] == "44"
    assert 'data-live="overview:team,navigation:team"' in browser.get("/").text
    browser.post("/choose-namespace/", namespace="")
    # As the server names them: a page takes frames of its own topics alone.
    assert 'data-live="overview:*,navigation:*"' in browser.get("/").text
    assert browser.get("/jobs/").context["list"].total == MANY


def test_only_what_one_may_see_is_offered_and_chosen(guest, filled, store):
    store.write(
        WriteKind.EVALUATION_UPDATED,
        lambda change: change.put(nouns.NAMESPACES, Namespace(name="sealed")),
        now=SOME_MOMENT,
    )
    offered = guest.get("/jobs/").context["spaces"]
    assert offered == ["default", "team"]
    guest.post("/choose-namespace/", namespace="sealed")
    answer = guest.get("/jobs/")
    assert answer.context["viewer"].chosen == ""
    assert "There is no namespace sealed that you may see." in answer.text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("job-1-1", ["job-1-1", "job-1-106", "job-1-113", "job-1-120"], id="begins"),
        pytest.param("1-99", ["job-1-99"], id="any-part"),
        pytest.param("JOB 1-99", ["job-1-99"], id="several-words-in-any-case"),
        pytest.param("100%", [], id="no-wildcards"),
        pytest.param("node-12", ["node-12"], id="node"),
    ],
)
def test_search_finds_by_words_and_suggests_while_one_types(browser, filled, text, found):
    answer = browser.get("/search/suggest/", q=text)
    titles = [hit["title"] for hit in json.loads(answer.text)["hits"]]
    assert titles[: len(found)] == found


def test_nothing_hidden_is_suggested(guest, store):
    store.write(
        WriteKind.JOB_REGISTERED,
        lambda change: change.put_job(make_job(id="sealed", namespace="other")),
        now=SOME_MOMENT,
    )
    assert json.loads(guest.get("/search/suggest/", q="sealed").text) == {"hits": []}


@pytest.mark.parametrize("path", PATHS)
def test_the_bench_of_viewers_finds_what_each_page_follows(browser, path):
    assert FOLLOWED.search(browser.get(path).text)["topics"].endswith("navigation:*")
