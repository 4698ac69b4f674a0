"""kill -9 of each process amid 200 registrations: nothing acknowledged is lost or doubled."""

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from cluster.bench.stack import Stack
from tests.live.fleet_process import fleet
from tests.live.world import PATIENCE

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

JOB_COUNT = 200
#: The next process is killed once so many more jobs were acknowledged, however fast that goes.
BETWEEN_KILLS = 15
#: Large enough that the fleet holds about three quarters of them: the rest must block.
ASK = {"CPU": 500, "MemoryMB": 256}
FLEET = {"nodes": 10, "cpu": 8000, "memory": 16384}
SETTLE_S = 60
VICTIMS = ("workers", "applier", "leader", "web", "redis")


def job(number: int) -> dict:
    return {
        "ID": f"fault-{number}",
        "Name": f"fault-{number}",
        "Type": "service",
        "Datacenters": ["*"],
        "TaskGroups": [
            {
                "Name": "group",
                "Count": 1,
                "Tasks": [
                    {
                        "Name": "task",
                        "Driver": "mock_driver",
                        "Config": {"run_for": "1h"},
                        "Resources": ASK,
                    }
                ],
            }
        ],
    }


def register(stack: Stack, number: int, acknowledged: set[str]) -> None:
    """Once: a request that failed is not sent again, for nobody knows what became of it."""
    with stack.client() as client:
        try:
            answer = client.put("/v1/jobs", json={"Job": job(number)}, timeout=10)
        except httpx.HTTPError:
            return
    if answer.status_code == httpx.codes.OK:
        acknowledged.add(f"fault-{number}")


def unsettled(client: httpx.Client, acknowledged: set[str]) -> dict[str, str]:
    """Acknowledged jobs that are neither placed once nor waiting for a reason."""
    allocations = client.get("/v1/allocations").json()
    evaluations = client.get("/v1/evaluations").json()
    live: dict[str, int] = {}
    for alloc in allocations:
        if alloc["DesiredStatus"] == "run" and alloc["ClientStatus"] in {"pending", "running"}:
            live[alloc["JobID"]] = live.get(alloc["JobID"], 0) + 1
    waiting = {
        item["JobID"]
        for item in evaluations
        if (item["Status"] == "blocked" and item.get("FailedTGAllocs"))
        or (item["Status"] == "pending" and item["TriggeredBy"] == "failed-follow-up")
    }
    found = {}
    for name in acknowledged:
        count = live.get(name, 0)
        if count > 1 or (count == 0 and name not in waiting):
            statuses = [e["Status"] for e in evaluations if e["JobID"] == name]
            found[name] = f"{count} live allocations, evaluations {statuses}"
    return found


def oversubscribed(client: httpx.Client) -> list[str]:
    found = []
    for node in client.get("/v1/nodes").json():
        full = client.get(f"/v1/node/{node['ID']}").json()
        allocs = client.get(f"/v1/node/{node['ID']}/allocations").json()
        live = [
            alloc
            for alloc in allocs
            if alloc["DesiredStatus"] == "run"
            and alloc["ClientStatus"] not in {"complete", "failed", "lost"}
        ]
        used = sum(a["AllocatedResources"]["Tasks"]["task"]["Cpu"]["CpuShares"] for a in live)
        if used > full["NodeResources"]["Cpu"]["CpuShares"]:
            found.append(f"{node['Name']}: {used} MHz")
    return found


def kill_each(stack: Stack, acknowledged: set[str], ended: threading.Event) -> None:
    """One victim after the other, as registrations go on between them."""
    for name in VICTIMS:
        before = len(acknowledged)
        while len(acknowledged) < before + BETWEEN_KILLS and not ended.is_set():
            time.sleep(0.01)
        stack.kill(name)


def register_until_there_are(count: int, stack: Stack, acknowledged: set[str]) -> None:
    """New names until so many were acknowledged; while the web server is away, none is."""
    numbers = itertools.count()

    def work() -> None:
        while len(acknowledged) < count:
            time.sleep(0.1)
            register(stack, next(numbers), acknowledged)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work) for _ in range(8)]:
            done.result()


def test_nothing_acknowledged_is_lost_or_placed_twice():
    with (
        Stack(environment={"BIVOUAC_NACK_TIMEOUT": "10"}) as stack,
        fleet(stack, **FLEET) as nodes,
    ):
        acknowledged: set[str] = set()
        ended = threading.Event()
        killer = threading.Thread(target=kill_each, args=(stack, acknowledged, ended))
        killer.start()
        register_until_there_are(JOB_COUNT, stack, acknowledged)
        nodes.kill()
        ended.set()
        killer.join()
        deadline = time.monotonic() + PATIENCE * SETTLE_S
        left: dict[str, str] = {"": "not looked at"}
        while left and time.monotonic() < deadline:
            time.sleep(0.5)
            try:
                with stack.client() as client:
                    left = unsettled(client, acknowledged)
            except (httpx.HTTPError, ValueError):
                continue
        assert left == {}
        with stack.client() as client:
            assert oversubscribed(client) == []
