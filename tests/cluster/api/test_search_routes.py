"""Both searches: what is found, how much of it, whose, and in which order."""

import pytest

from scheduler.state.found_rows import put_found
from scheduler.state.nouns import NAMESPACES
from scheduler.state.scaling_nouns import SCALING_POLICIES
from scheduler.state.writes.jobs import write_job
from scheduler.structs.job import Namespace
from scheduler.structs.service import Service
from scheduler.structs.task_group import ScalingPolicy
from tests.builders import make_allocation, make_job, make_node, make_task, make_task_group
from tests.cluster.api.clients import put

POLICY = ScalingPolicy(id="5d3e0544-0000", target={"Namespace": "default", "Job": "web"})
WEB = make_job(
    task_groups=(
        make_task_group(
            name="front",
            services=(Service(name="web-front"),),
            tasks=(make_task(name="server", services=(Service(name="the-web"),)),),
        ),
    )
)


@pytest.fixture
async def filled(store, api):
    def fill(change):
        job = write_job(change, WEB)
        write_job(change, make_job(id="health", name="health of web"))
        write_job(change, make_job(id="apart", name="web apart", namespace="team"))
        put_found(change, make_node(1, name="Web-Node"))
        put_found(change, make_allocation(job, name="web.front[0]"))
        change.put(SCALING_POLICIES, POLICY)
        change.put(NAMESPACES, Namespace(name="team", create_index=1))

    await store.awrite_call(put, fill)
    return api


async def fuzzy(client, text, context="all", **query):
    answer = await client.put("/v1/search/fuzzy", {"Text": text, "Context": context}, **query)
    assert answer.status == 200, answer.text
    return answer.json


def found(kind, answer):
    return [(each["ID"], *each.get("Scope", ())) for each in answer["Matches"][kind]]


ALLOC = make_allocation().id


async def test_a_part_of_a_name_finds_all_that_have_it_and_what_they_are_parts_of(filled):
    answer = await fuzzy(filled, "we")
    assert {kind: found(kind, answer) for kind in answer["Matches"]} == {
        "jobs": [("web", "default", "web"), ("health of web", "default", "health")],
        "services": [
            ("web-front", "default", "web", "front"),
            ("the-web", "default", "web", "front", "server"),
        ],
        "tasks": [("web", "default", "health", "web")],
        "groups": [("web", "default", "health")],
        "allocs": [("web.front[0]", "default", ALLOC)],
        "nodes": [("Web-Node", make_node(1).id)],
        "evals": [],
        "deployment": [],
        "volumes": [],
        "host_volumes": [],
        "scaling_policy": [],
    }
    assert set(answer["Truncations"].values()) == {False}
    assert sorted(answer["Truncations"]) == [
        "allocs", "deployment", "evals", "host_volumes", "jobs", "namespaces", "node_pools",
        "nodes", "plugins", "scaling_policy", "vars", "volumes",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "context", "kind", "ids"),
    [
        ("EAL", "jobs", "jobs", ["health of web"]),
        ("default", "namespaces", "namespaces", ["default"]),
        ("efau", "node_pools", "node_pools", ["default"]),
        (POLICY.id[:5], "scaling_policy", "scaling_policy", [POLICY.id]),
        ("3e05", "scaling_policy", "scaling_policy", []),
        (ALLOC[:4], "evals", "evals", []),
        ("zz", "evals", "evals", []),
    ],
)
async def test_a_context_alone_is_searched_by_part_or_by_beginning(
    filled, text, context, kind, ids
):
    answer = await fuzzy(filled, text, context)
    assert [each["ID"] for each in answer["Matches"][kind]] == ids
    assert answer["Truncations"] == {context: False}


async def test_a_context_of_names_is_left_out_when_nothing_matches(filled):
    for context in ("jobs", "allocs", "nodes", "vars", "plugins"):
        answer = await fuzzy(filled, "nothing", context)
        assert (answer["Matches"], answer["Truncations"]) == ({}, {context: False})


async def test_what_tasks_run_is_found_by_their_driver(api, store):
    def task(name, driver, **config):
        return make_task(name=name, driver=driver, config=config)

    tasks = (
        task("a", "docker", image="redis:7"),
        task("b", "raw_exec", command="/bin/redis", image="redis"),
        task("c", "java", **{"class": "org.Redis"}, command="redis.jar"),
        task("d", "exec", command="/usr/bin/redis-server"),
        task("e", "docker", image=["redis"]),
    )
    job = make_job(task_groups=(make_task_group(name="g", tasks=tasks),))
    await store.awrite_call(put, lambda change: write_job(change, job))
    answer = await fuzzy(api, "redis", "jobs")
    scope = ("default", "web", "g")
    assert {kind: found(kind, answer) for kind in answer["Matches"]} == {
        "images": [("redis:7", *scope, "a")],
        "commands": [
            ("redis.jar", *scope, "c"),
            ("/bin/redis", *scope, "b"),
            ("/usr/bin/redis-server", *scope, "d"),
        ],
        "classes": [("org.Redis", *scope, "c")],
    }


async def test_earlier_shorter_and_then_by_the_alphabet(api, store):
    names = ("x-ab", "abc", "abd", "ab", "ABCD")

    def fill(change):
        for number, name in enumerate(names):
            write_job(change, make_job(id=f"j{number}", name=name))

    await store.awrite_call(put, fill)
    answer = await fuzzy(api, "ab", "jobs")
    assert [each["ID"] for each in answer["Matches"]["jobs"]] == [
        "ab", "abc", "abd", "ABCD", "x-ab",
    ]  # fmt: skip


@pytest.mark.parametrize(("jobs", "is_cut"), [(3, False), (4, True)])
async def test_of_many_objects_the_first_are_looked_at_and_that_is_told(
    api, store, settings, jobs, is_cut
):
    settings.BIVOUAC_SEARCH_OBJECTS = 3

    def fill(change):
        for number in range(jobs):
            write_job(change, make_job(id=f"job-{number}"))

    await store.awrite_call(put, fill)
    answer = await fuzzy(api, "job-", "jobs")
    assert (len(answer["Matches"]["jobs"]), answer["Truncations"]["jobs"]) == (3, is_cut)


async def test_a_hundred_matches_of_a_kind_are_shown(api, store):
    groups = tuple(make_task_group(name=f"many-{number}") for number in range(101))
    job = make_job(task_groups=groups)
    await store.awrite_call(put, lambda change: write_job(change, job))
    answer = await fuzzy(api, "many", "jobs")
    assert (len(answer["Matches"]["groups"]), answer["Truncations"]["jobs"]) == (100, True)


async def test_each_sees_what_it_may(filled, tenant, stranger):
    mine = await fuzzy(tenant, "we", namespace="*")
    assert found("jobs", mine) == [("web apart", "team", "apart")]
    assert mine["Matches"]["scaling_policy"] == []
    own = await fuzzy(tenant, "we", namespace="team")
    assert found("jobs", own) == [("web apart", "team", "apart")]
    refused = await tenant.put("/v1/search/fuzzy", {"Text": "we", "Context": "jobs"})
    assert (refused.status, refused.text) == (403, "Permission denied")
    every = await fuzzy(filled, "we", namespace="*")
    assert len(every["Matches"]["jobs"]) == 3
    assert (await stranger.put("/v1/search/fuzzy", {"Text": "we", "Context": "all"})).status == 403


TOO_SHORT = "fuzzy search query must be at least 2 characters, got"
CONTEXTS = (
    "context must be one of [allocs jobs nodes node_pools evals deployment plugins volumes"
    " scaling_policy vars namespaces host_volumes] or 'all' for all contexts; got"
)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (None, "Request body is empty"),
        ({"Text": "x", "Context": "nope"}, f"{TOO_SHORT} 1"),
        ({"Context": "all"}, f"{TOO_SHORT} 0"),
        ({"Text": "ab"}, f'{CONTEXTS} ""'),
        ({"Text": "ab", "Context": "groups"}, f'{CONTEXTS} "groups"'),
    ],
)  # fmt: skip
async def test_what_cannot_be_searched_is_refused(api, body, text):
    answer = await api.put("/v1/search/fuzzy", body)
    assert (answer.status, answer.text) == (400, text)
    assert (await api.get("/v1/search/fuzzy")).status == 405


async def test_the_shortest_text_is_a_setting_and_counts_bytes(api, settings):
    settings.BIVOUAC_SEARCH_MIN_LENGTH = 4
    answer = await api.put("/v1/search/fuzzy", {"Text": "ä€", "Context": "all"})
    assert answer.status == 200
    answer = await api.put("/v1/search/fuzzy", {"Text": "abc", "Context": "all"})
    assert answer.text == "fuzzy search query must be at least 4 characters, got 3"


@pytest.mark.parametrize("text", [b"\\ud800\\ud800", b"a\\u0000b", b"%_", b"../.."])
@pytest.mark.parametrize(("path", "field"), [("search", b"Prefix"), ("search/fuzzy", b"Text")])
async def test_odd_texts_find_nothing(filled, path, field, text):
    body = b'{"%s":"%s","Context":"all"}' % (field, text)
    answer = await filled.put(f"/v1/{path}", body)
    assert answer.status == 200
    assert not any(answer.json["Matches"].values())


async def search(client, prefix, context):
    return (await client.put("/v1/search", {"Prefix": prefix, "Context": context})).json


async def test_policies_are_found_by_the_beginning_of_their_id(filled):
    for prefix in ("", "5", POLICY.id):
        answer = await search(filled, prefix, "scaling_policy")
        assert answer["Matches"] == {"scaling_policy": [POLICY.id]}
    none = await search(filled, "x", "scaling_policy")
    assert (none["Matches"], none["Truncations"]) == (
        {"scaling_policy": None},
        {"scaling_policy": False},
    )


async def test_a_context_must_be_given(api):
    answer = await api.put("/v1/search", {"Prefix": ""})
    assert (answer.status, answer.text) == (400, f'{CONTEXTS} ""')


async def test_the_index_is_that_of_the_tables_searched(filled, store):
    later = await store.awrite_call(put, lambda change: put_found(change, make_node(2)))
    nodes = await search(filled, "", "nodes")
    jobs = await search(filled, "", "jobs")
    every = await search(filled, "", "all")
    assert nodes["Index"] == every["Index"] == later > jobs["Index"]
    assert (await fuzzy(filled, "we", "jobs"))["Index"] == jobs["Index"]
    assert (await search(filled, "", "plugins"))["Index"] == 1
