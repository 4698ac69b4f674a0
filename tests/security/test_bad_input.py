"""Bodies made to hurt: each a clear refusal, soon, and nothing written."""

import asyncio
import json
import time

import pytest

from cluster.jobspec.limits import MAX_GROUPS, MAX_OBJECTS
from tests.cluster.api.clients import document, make_token
from tests.security.world import rows

MIB = 1 << 20
#: CPU seconds: ten times what a refusal may take. Work without bound takes far longer on any
#: machine; how fast a refusal is, benchmarks say.
PATIENCE_S = 10 * 0.2
GROUP = {"Name": "g", "Count": 1, "Tasks": [{"Name": "t", "Driver": "mock_driver"}]}
EMPTY_HCL = 'job "x" {{\n{}\n}}\n'


def job(**fields):
    return json.dumps({"Job": document(**fields)}).encode()


def group(**fields):
    return job(TaskGroups=[GROUP | fields])


def constraint(value, operand):
    return job(Constraints=[{"LTarget": "${node.class}", "RTarget": value, "Operand": operand}])


def hcl(text):
    return json.dumps({"JobHCL": text}).encode()


BODIES = {
    "count-negative": (group(Count=-1), 400, "Task group count can't be negative"),
    "count-huge": (group(Count=10**9), 400, "job_max_count"),
    "count-over-int64": (group(Count=10**30), 400, "TaskGroups.Count of type int"),
    "count-fraction": (group(Count=1.5), 400, "TaskGroups.Count of type int"),
    "count-text": (group(Count="many"), 400, "TaskGroups.Count of type int"),
    "groups": (job(TaskGroups=[{**GROUP, "Name": f"g{i}"} for i in range(10_000)]), 400,
               f"at most {MAX_GROUPS} task groups; got 10000"),
    "empty-groups": (job(TaskGroups=[{}] * 300_000), 400, "at most"),
    "tasks": (group(Tasks=[{"Name": f"t{i}"} for i in range(20_000)]), 400,
              f"at most {MAX_OBJECTS} objects"),
    "bad-constraints": (job(Constraints=[{}] * 200_000), 400, "at most"),
    "constraint-values": (constraint(",".join("ab"[i % 2] for i in range(MIB)), "set_contains"),
                          413, "larger than 1 MiB"),
    "regexp-too-large": (constraint("((a{1000}){1000}){1000}", "regexp"), 400, "egular"),
    "body": (b" " * (4 * MIB + 1), 413, "too large"),
    "job": (job(Meta={"x": "y" * MIB}), 413, "larger than 1 MiB"),
    "deep-objects": (b'{"Job":' + b'{"a":' * 200_000 + b"1" + b"}" * 200_001, 400, "max depth"),
    "deep-lists": (b'{"Job":' + b"[" * 500_000, 400, "max depth"),
    "not-a-number": (b'{"Job":{"ID":"x","Priority":NaN}}', 400, "invalid character 'N'"),
    "infinity": (b'{"Job":{"ID":"x","Priority":-Infinity}}', 400, "invalid character"),
    "float-overflow": (b'{"Job":{"ID":"x","Priority":1e999}}', 400, "Priority of type int"),
    "digits": (b'{"Job":{"ID":"x","Priority":' + b"9" * 900_000 + b"}}", 400, "number"),
    "duplicate-keys": (b'{"Job":{"ID":"x","id":"y","ID":"z"}}', 400, "Missing job task groups"),
    "not-utf-8": (b'{"Job":{"ID":"\xff\xfe"}}', 400, "Missing job task groups"),
    "half-a-character": (b'{"Job":{"ID":"a","Name":"\\ud800","Meta":{"\\udfff":"\\ud800"}}}', 400,
                         "Missing job task groups"),
    "nul": (job(ID="a\0b", Name="\0"), 400, "null character"),
    "blank-id": (job(ID="a b"), 400, "space"),
    "list": (b"[1]", 400, "array"),
    "empty": (b"", 400, "Request body is empty"),
    "half": (b'{"Job":{"ID"', 400, "unexpected EOF"),
    "garbage": (bytes(range(256)) * 100, 400, "invalid character"),
    "cron": (job(Periodic={"Enabled": True, "Spec": "* " * 100_000, "SpecType": "cron"}), 400,
             "Invalid cron spec"),
    "everything": (job(ID="a b", Type="nothing", Priority=-7, Datacenters=[""],
                       TaskGroups=[{"Count": -1}]), 400, "errors occurred"),
}  # fmt: skip

FILES = {
    "empty-groups": EMPTY_HCL.format('group "a" {}\n' * 80_000),
    "one-line-blocks": "a {} " * 200_000,
    "blocks": EMPTY_HCL.format('group "a" {}\n' * 40_000),
    "groups": EMPTY_HCL.format(
        "".join(f'group "g{i}" {{\ntask "t" {{\ndriver = "d"\n}}\n}}\n' for i in range(9_000))
    ),
    "numbers": EMPTY_HCL.format(f"datacenters = [{'1,' * 500_000}]"),
    "texts": EMPTY_HCL.format("datacenters = [" + '"a",' * 250_000 + "]"),
    "operators": EMPTY_HCL.format("priority = " + "1+" * 500_000 + "1"),
    "signs": EMPTY_HCL.format("priority = " + "-" * 1_000_000 + "1"),
    "brackets": EMPTY_HCL.format("priority = " + "(" * 1_000_000),
    "attributes": EMPTY_HCL.format("".join(f"a{i} = {i}\n" for i in range(49_000))),
    "arguments": EMPTY_HCL.format(f"priority = max({'1,' * 500_000}1)"),
    "dots": EMPTY_HCL.format("priority = a" + ".a" * 500_000),
    "indexes": EMPTY_HCL.format("priority = a" + "[0]" * 300_000),
    "escapes": EMPTY_HCL.format('priority = "' + "\\n" * 500_000 + '"'),
    "directives": EMPTY_HCL.format('name = "' + "%{if a}b%{endif}" * 60_000 + '"'),
    "heredoc": EMPTY_HCL.format("name = <<X\n" + "${a} " * 200_000 + "\nX"),
    "fills": EMPTY_HCL.format('name = "' + "${a}" * 250_000 + '"'),
    "nesting": "a {\n" * 40_000,
    "lines": EMPTY_HCL.format("name = <<X\n" + "a\n" * 400_000 + "X"),
    "locals": "locals {\n" + "".join(f"a{i} = local.a{i + 1}\n" for i in range(40_000)) + "}\n",
    "laughs": 'locals {\na0 = "xxxxxxxxxx"\n'
    + "".join(f'a{i + 1} = "{f"${{local.a{i}}}" * 10}"\n' for i in range(20))
    + "}\n" + EMPTY_HCL.format("name = local.a20"),
    "unfolding": EMPTY_HCL.format(
        'dynamic "group" {\nfor_each = range(1000)\nlabels = ["g"]\ncontent {\n'
        'dynamic "task" {\nfor_each = range(1000)\nlabels = ["t"]\ncontent {}\n}\n}\n}'
    ),
    "power": EMPTY_HCL.format("priority = pow(10, pow(10, 10))"),
    "exponent": EMPTY_HCL.format("priority = 1e999999999"),
    "json": '{"job":{"x":{"group":[' + '{"a":{}},' * 100_000 + "{}]}}}",
    "json-nesting": '{"job":' + "[" * 500_000,
    "unknown-blocks": "".join(f"nothing{i} {{\n}}\n" for i in range(20_000)),
    "unclosed": 'job "x" {',
    "quotes": '"' * MIB,
    "control": "\x00\x01}{" * 200_000,
}  # fmt: skip


@pytest.fixture
def programs(site, store):
    secret = make_token(store, "root")
    return lambda: site(headers={"X-Nomad-Token": secret})


async def refused(client, path, body):
    known = await asyncio.to_thread(rows)
    # The first request of a process loads what all others use.
    await client.put(path, content=b"")
    began = time.process_time()
    response = await client.put(path, content=body)
    took = time.process_time() - began
    assert await asyncio.to_thread(rows) == known
    return response, took


@pytest.mark.parametrize("name", BODIES)
async def test_a_bad_job_is_refused_soon_and_clearly(name, programs):
    body, status, text = BODIES[name]
    async with programs() as client:
        response, took = await refused(client, "/v1/jobs", body)
    assert (response.status_code, text in response.text) == (status, True), response.text[:300]
    assert len(response.content) < 400_000
    assert took < PATIENCE_S


@pytest.mark.parametrize("name", FILES)
async def test_a_bad_job_file_is_refused_soon_and_clearly(name, programs):
    async with programs() as client:
        response, took = await refused(client, "/v1/jobs/parse", hcl(FILES[name]))
    assert response.status_code == 400, response.text[:300]
    assert response.text.startswith("Failed to parse job: ")
    assert len(response.content) < 400_000
    assert took < PATIENCE_S


async def test_every_problem_of_a_job_is_named(programs):
    async with programs() as client:
        response = await client.put("/v1/jobs", content=BODIES["everything"][0])
    for part in ("ID contains a space", "type", "priority", "count", "name"):
        assert part in response.text.lower() or part in response.text, part


@pytest.mark.parametrize(
    "where",
    ["/v1/job/%00", "/v1/jobs?prefix=%00", "/v1/jobs?namespace=%00", "/v1/evaluation/%00",
     "/v1/job/%ff%fe", "/v1/jobs?prefix=%ff", "/v1/node/pool/%00", "/v1/namespace/%00",
     "/v1/jobs?filter=" + "(" * 5000, "/v1/jobs?next_token=%00", "/v1/evaluations?job=%00"],
)  # fmt: skip
async def test_addresses_made_to_hurt_get_a_4xx_or_nothing(where, programs):
    async with programs() as client:
        response = await client.get(where)
    assert response.status_code in (200, 400, 404)


@pytest.mark.parametrize("coding", ["application/json", "application/msgpack"])
@pytest.mark.parametrize(
    "body",
    [b"", b"\xff\xfe", b'"\xff"', b"[" * 100_000, b"\x91" * 200_000, b"\x81\xa4Node\xa1\xff",
     b'{"Node": {"ID": "\xff"}}', b'{"Node": ' + b"[" * 100_000],
)  # fmt: skip
async def test_agents_that_talk_nonsense_are_told_so(coding, body, site, store):
    async with site(headers={"Content-Type": coding, "X-Bivouac-Node": "x"}) as client:
        for path in ("register", "beat", "allocations/fetch", "report", "events"):
            response = await client.post(f"/v1/fleet/{path}", content=body)
            assert response.status_code in (400, 403, 404), path


async def test_a_body_over_the_limit_is_not_even_kept(site, store):
    """Before anybody is asked who they are."""
    async with site() as client:
        for path in ("/v1/jobs", "/login/", "/v1/fleet/report"):
            response = await client.post(path, content=b"x" * (9 * MIB))
            assert response.status_code == 413, path
