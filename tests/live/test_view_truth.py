"""Pages stay open while every process is killed: in the end each shows what is in the record.

Nothing is loaded again. What a page has put together from frames is compared with the record,
with what the server answers under its address, and with the same page in a second tab.
"""

import contextlib
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from playwright.sync_api import Page, expect

from cluster.bench.stack import Stack
from tests.live.fleet_process import fleet
from tests.live.likeness import seconds_until_alike, seconds_until_one
from tests.live.random_acts import LAUNCHED, SPACE, Acts, launched, rolled
from tests.live.truth import Truth
from tests.live.world import MOCK, SECOND, World, job, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

#: First the one whose work nobody takes up for some seconds, so that the others die meanwhile.
VICTIMS = ("leader", "workers", "web", "applier", "redis")
#: Sent around each death. Two nodes hold about two thirds of them: the rest must block.
BURST, PAUSE_S = 12, 0.04
NODES, NODE_CPU, ASK = 3, 1600, 100
#: Known to be healthy soon: a change that comes long after all was quiet would be a surprise.
SOON = {
    "MaxParallel": 1,
    "HealthCheck": "checks",
    "MinHealthyTime": SECOND // 10,
    "HealthyDeadline": 300 * SECOND,
}
#: Placed by one write, which pages must order as the record does.
SEVERAL = 4
SETTLE_S = 40
#: Pages are to be current within 2 s of quiet (about 1 s here); the rest is for a busy machine.
LIMIT_S = 10.0
#: Which random acts are done, how many in a row, and how often all is compared after them.
SEED, ACTS, ROUNDS = 31, 30, 2
#: What a browser says when nobody listens, or whoever did has died.
OUTAGE = ("WebSocket", "ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")


@pytest.fixture(scope="module")
def world():
    """Soon to take up what a dead worker held."""
    with (
        Stack(environment={"BIVOUAC_NACK_TIMEOUT": "5"}) as stack,
        fleet(stack, nodes=NODES, cpu=NODE_CPU, memory=8192),
    ):
        world = World(stack)
        try:
            yield world
        finally:
            world.api.close()


def small(name: str, node: str, operand: str = "=", count: int = 1) -> dict:
    """A job that only pretends, on this node or (`!=`) any other."""
    target = {"LTarget": "${node.unique.name}", "Operand": operand, "RTarget": node}
    task = {
        **MOCK,
        "Resources": {"CPU": ASK, "MemoryMB": 10},
        "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1},
    }
    disk = {"SizeMB": 10}
    return job(
        name, count=count, task=task, Constraints=[target], EphemeralDisk=disk, Migrate=SOON
    )


def send(world: World, prefix: str, elsewhere: str) -> list[str]:
    """Register a burst of jobs; those that were acknowledged. Others are not sent again."""
    sent = []
    with world.stack.client() as client:
        for number in range(BURST):
            time.sleep(PAUSE_S)
            body = {"Job": small(f"{prefix}-{number}", elsewhere, "!=")}
            with contextlib.suppress(httpx.HTTPError):
                if client.put("/v1/jobs", json=body, timeout=10).is_success:
                    sent.append(body["Job"]["ID"])
    return sent


def answers(world: World) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return world.api.get("/v1/status/leader", timeout=2).is_success
    return False


def storm(world: World, elsewhere: str) -> list[str]:
    """kill -9 of one process after the other amid registrations."""
    sent = []
    with ThreadPoolExecutor(1) as pool:
        for victim in VICTIMS:
            burst = pool.submit(send, world, victim, elsewhere)
            world.stack.kill(victim)
            sent += burst.result()
            until(lambda: answers(world), "the API answers")
    return sent


def unsettled(world: World, jobs: list[str]) -> dict[str, str]:
    """What is still under way, and jobs that neither run once nor wait blocked."""
    placed = world.get("allocations")
    running = [item["JobID"] for item in placed if item["ClientStatus"] == "running"]
    evaluations = {(item["JobID"], item["Status"]) for item in world.get("evaluations")}
    found = {name: status for name, status in evaluations if status == "pending"}
    for name in jobs:
        if running.count(name) != 1 and (name, "blocked") not in evaluations:
            found[name] = f"{running.count(name)} run"
    return found


def quiet(world: World, jobs: list[str]) -> bool:
    """Whether all is settled and nothing is written any more."""
    before = newest(world)
    return not unsettled(world, jobs) and newest(world) == before


def newest(world: World) -> int:
    return int(world.api.get("/v1/evaluations").headers["X-Nomad-Index"])


def stored_status(world: World, eval_id: str) -> str:
    """From the file itself: nobody is there to ask."""
    with contextlib.closing(sqlite3.connect(world.stack.data_dir / "state.sqlite3")) as record:
        row = record.execute("SELECT status FROM evaluation WHERE id = ?", (eval_id,)).fetchone()
    return row[0]


def decide_unseen(world: World, node: dict, eval_id: str) -> None:
    """What waits for the node is decided while there is no web server to tell it."""
    with contextlib.ExitStack() as outage:
        with world.frozen("workers"):
            world.open(node)
            outage.enter_context(world.down("web"))
        until(lambda: stored_status(world, eval_id) == "complete", "it is decided")
    until(lambda: answers(world), "the API answers")


def make_room(world: World, jobs: list[str]) -> list[str]:
    """Purge a job that runs, so that one that is blocked takes its place; those that are left."""
    placed = {item["JobID"] for item in world.get("allocations")}
    gone = next(name for name in jobs if name in placed)
    world.purge(gone)
    return [name for name in jobs if name != gone]


def expect_live(page: Page) -> None:
    expect(page.locator("[data-live-badge]")).to_contain_text("live")


def opened(visitor, address: str) -> Page:
    """A live tab of its own, which must not be loaded again."""
    page = visitor.context.new_page()
    page.goto(address)
    expect_live(page)
    page.evaluate("window.untouched = true")
    return page


def test_open_pages_end_with_what_is_in_the_record(world, visitor):
    visitor.sign_in(world)
    closed = min(world.get("nodes"), key=lambda node: node["Name"])
    world.close(closed)
    with world.frozen("workers"):
        first = world.register(small("waits", closed["Name"], count=SEVERAL))
        addresses = {
            "list": "/evaluations/",
            "overview": "/",
            "nodes": "/nodes/",
            "sorted": "/evaluations/?sort=job&status=complete",
            "narrowed": "/evaluations/?sort=-priority&filter=JobID+matches+%22[0-5]$%22",
            "jobs": "/jobs/?sort=-name&status=running",
            "placed": "/allocations/?sort=-changed&filter=ClientStatus+!=+lost",
            "job": "/jobs/default/waits/",
            "decided": "/jobs/default/waits/?tab=evaluations",
            "runs": "/jobs/default/waits/?tab=allocations",
            "first": f"/evaluations/{first}/",
            "chain": f"/chains/{first}/",
            "stories": "/stories/",
            "story": f"/stories/{world.get(f'evaluation/{first}')['Story']}/",
        }
        pages = {name: opened(visitor, address) for name, address in addresses.items()}
    waiting = world.evaluation("waits", "queued-allocs", "blocked")["ID"]
    addresses["waiting"] = f"/evaluations/{waiting}/"
    pages["waiting"] = opened(visitor, addresses["waiting"])
    with visitor.forgiving(*OUTAGE):
        sent = storm(world, closed["Name"])
        until(lambda: not unsettled(world, sent), "the storm is settled", SETTLE_S)
        decide_unseen(world, closed, waiting)
        world.running("waits", SEVERAL)
        for page in pages.values():
            expect_live(page)
        # What comes now is followed by pages that have come back.
        with world.frozen("workers"):
            late = world.register(small("late", closed["Name"]))
            addresses["late"] = f"/evaluations/{late}/"
            pages["late"] = opened(visitor, addresses["late"])
            sent = [*make_room(world, sent), "late"]
        until(lambda: quiet(world, sent), "all is quiet", SETTLE_S)
        took = seconds_until_alike(pages, LIMIT_S)
    print(f"all pages were current {took:.2f} s after quiet")  # noqa: T201 - seen with -s
    truth = Truth(world)
    assert truth.statuses["blocked"], "some jobs found no room"
    truth.check_list(pages["list"])
    truth.check_overview(pages["overview"])
    truth.check_nodes(pages["nodes"])
    truth.check_job(pages["job"], "waits")
    truth.check_job_evaluations(pages["decided"], "waits")
    truth.check_job_allocations(pages["runs"], "waits")
    truth.check_chain(pages["chain"], "waits")
    for name, eval_id in (("first", first), ("waiting", waiting), ("late", late)):
        truth.check_evaluation(pages[name], eval_id)
    for name, page in pages.items():
        second = opened(visitor, addresses[name])
        seconds_until_one(page, second, LIMIT_S)
        assert page.evaluate("window.untouched") is True, f"{name} was loaded again"
        second.close()
    assert visitor.problems == []


def objects(world: World, names: list[str]) -> dict[str, str]:
    """One of everything that has a page of its own, which random acts change."""
    for name in names:
        world.register(rolled(name, 0, 2))
    world.register(launched())
    unfit = {**MOCK, "Resources": {"CPU": 90_000, "MemoryMB": 64}}
    world.register(job("unfit", task=unfit))
    world.register(job("stays", task=MOCK))
    waits = world.evaluation("unfit", "queued-allocs", "blocked")
    acts = Acts(world, names, SEED)
    acts.limit()
    acts.pool()
    acts.keep_variable()
    alloc = world.running(names[0], 2)[0]
    rollout = next(each for each in world.get("deployments") if each["JobID"] == names[0])
    decided = world.evaluation(names[0], "job-register", "complete")
    # Not of a job whose rollout may be under way: that one may not be scaled.
    world.rehearsed({"Scale": {"JobID": "stays", "Group": "group", "Count": 4}})
    return {
        "alloc": alloc["ID"],
        "stays": world.running("stays", 1)[0]["ID"],
        "node": alloc["NodeID"],
        "rollout": rollout["ID"],
        "eval": decided["ID"],
        "story": world.get(f"evaluation/{decided['ID']}")["Story"],
        "waits": waits["ID"],
        "rehearsal": world.get("rehearsals")[0]["ID"],
    }


def live_pages(names: list[str], found: dict[str, str]) -> dict[str, str]:
    """Every kind of page that is kept current, by a name."""
    first = names[0]
    return {
        "now": "/",
        "now of one": f"/?namespace={SPACE}",
        "moves of an hour": "/?moved=1h",
        "jobs": "/jobs/",
        "job": f"/jobs/default/{first}/",
        "other job": f"/jobs/default/{names[1]}/",
        "versions": f"/jobs/default/{first}/?tab=versions",
        "launched": f"/jobs/default/{LAUNCHED}/",
        "evaluation": f"/evaluations/{found['eval']}/",
        "waiting": f"/evaluations/{found['waits']}/",
        "explain": f"/explain/{found['eval']}/",
        "every node": f"/explain/{found['eval']}/?rows=each",
        "explain waiting": f"/explain/{found['waits']}/",
        "chain": f"/chains/{found['eval']}/",
        "timeline": f"/chains/{found['eval']}/?view=timeline",
        "allocations": "/allocations/",
        "allocation": f"/allocations/{found['alloc']}/",
        "another allocation": f"/allocations/{found['stays']}/",
        "deployments": "/deployments/",
        "deployment": f"/deployments/{found['rollout']}/",
        "stories": "/stories/",
        "story": f"/stories/{found['story']}/",
        "nodes": "/nodes/",
        "node": f"/nodes/{found['node']}/",
        "drains": "/drains/",
        "drain": f"/drains/{found['node']}/",
        "topology": "/topology/",
        "topology of a job": f"/topology/?job={first}&node={found['node']}",
        "topology as a table": "/topology/?view=table",
        "scheduler": "/scheduler/",
        "variables": "/variables/",
        "services": "/services/",
        "volumes": "/volumes/",
        "events": "/events/",
        "what if": f"/what-if/{found['rehearsal']}/",
        "namespaces": "/namespaces/",
        "namespace": f"/namespaces/{SPACE}/",
        "pools": "/pools/",
        "pool": f"/pools/{SPACE}/",
        "quotas": "/quotas/",
        "quota": f"/quotas/{SPACE}/",
    }


def test_pages_of_every_kind_stay_what_they_would_be_if_loaded_anew(world, visitor):
    visitor.sign_in(world)
    names = [f"acted-{number}" for number in range(1, 4)]
    addresses = live_pages(names, objects(world, names))
    pages = {name: opened(visitor, address) for name, address in addresses.items()}
    acts = Acts(world, names, SEED)
    for _ in range(ROUNDS):
        acts.some(ACTS)
        acts.settle()
        until(lambda: quiet(world, []), "all is quiet", SETTLE_S)
        took = seconds_until_alike(pages, LIMIT_S)
        print(f"{len(pages)} pages were current {took:.2f} s after quiet")  # noqa: T201
    for name, page in pages.items():
        assert page.evaluate("window.untouched") is True, f"{name} was loaded again"
    assert visitor.problems == []
