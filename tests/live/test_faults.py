"""kill -9 of each process amid 200 registrations: nothing acknowledged is lost or doubled."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from cluster.bench.stack import Stack
from tests.live.fleet_process import fleet

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

JOB_COUNT = 200
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


def kill_each(stack: Stack, done: threading.Event) -> None:
    for name in VICTIMS:
        time.sleep(0.7)
        stack.kill(name)
    done.set()


def test_nothing_acknowledged_is_lost_or_placed_twice():
    with (
        Stack(environment={"BIVOUAC_NACK_TIMEOUT": "10"}) as stack,
        fleet(stack, **FLEET) as nodes,
    ):
        acknowledged: set[str] = set()
        killed = threading.Event()
        killer = threading.Thread(target=kill_each, args=(stack, killed))
        killer.start()
        with ThreadPoolExecutor(8) as pool:
            for number in range(JOB_COUNT):
                pool.submit(register, stack, number, acknowledged)
                time.sleep(0.025)
            nodes.kill()
        killer.join()
        assert killed.is_set()
        assert len(acknowledged) >= JOB_COUNT // 4, "the web server was away for too long"
        deadline = time.monotonic() + SETTLE_S
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
