"""Real agents that fall silent, die and drain: work moves, comes back, and is never done twice."""

import contextlib
import signal
from collections import Counter
from collections.abc import Iterator

import pytest

from cluster.bench.stack import Stack
from tests.live.side_process import MANAGE, SideProcess, beside, running, until

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(150)]

SECOND = 1_000_000_000
FOR_EVER = {"command": "/bin/sh", "args": ["-c", "exec sleep 3600"]}
MIGRATE = {
    "MaxParallel": 1,
    "HealthCheck": "checks",
    "MinHealthyTime": SECOND,
    "HealthyDeadline": 30 * SECOND,
}


class Site:
    """A stack and its agents, by name."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.agents: dict[str, SideProcess] = {}

    def add(self, name: str) -> SideProcess:
        join_token = (self.stack.data_dir / "join-token").read_text().strip()
        self.agents[name] = beside(
            self.stack,
            f"agent-{name}",
            *MANAGE,
            "runagent",
            BIVOUAC_NODE_NAME=name,
            BIVOUAC_JOIN_TOKEN=join_token,
            BIVOUAC_AGENT_DIR=str(self.stack.data_dir / name),
            BIVOUAC_RAW_EXEC="1",
            BIVOUAC_CPU_MHZ="4000",
            BIVOUAC_MEMORY_MB="4000",
        )
        return self.agents[name]

    def get(self, path: str):
        with self.stack.client() as client:
            answer = client.get(path)
        assert answer.status_code == 200, (path, answer.text)
        return answer.json()

    def put(self, path: str, body: object):
        with self.stack.client() as client:
            answer = client.put(path, json=body)
        assert answer.status_code == 200, (path, answer.text)
        return answer.json()

    def run(self, name: str, kind: str = "service", *, on: str = "", **group) -> None:
        task = {
            "Name": "task",
            "Driver": "raw_exec",
            "Config": FOR_EVER,
            "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1},
            "Resources": {"CPU": 100, "MemoryMB": 10},
        }
        form = {"Name": "group", "EphemeralDisk": {"SizeMB": 10}, "Tasks": [task], **group}
        target = {"LTarget": "${node.unique.name}", "RTarget": on, "Operand": "="}
        job = {"ID": name, "Type": kind, "Datacenters": ["*"], "TaskGroups": [form]}
        self.put("/v1/jobs", {"Job": job | ({"Constraints": [target]} if on else {})})

    def node(self, name: str) -> dict:
        listed = next(node for node in self.get("/v1/nodes") if node["Name"] == name)
        return self.get(f"/v1/node/{listed['ID']}")

    def drain(self, name: str, *, eligible: bool = False, **spec) -> None:
        body = {"DrainSpec": spec or None, "MarkEligible": eligible}
        self.put(f"/v1/node/{self.node(name)['ID']}/drain", body)

    def is_drained(self, name: str) -> bool:
        return self.node(name)["DrainStrategy"] is None

    def open(self, name: str) -> None:
        node_id = self.node(name)["ID"]
        self.put(f"/v1/node/{node_id}/eligibility", {"Eligibility": "eligible"})

    def allocs(self, job: str) -> list[dict]:
        return self.get(f"/v1/job/{job}/allocations")

    def places(self, job: str) -> Counter[str]:
        """How many allocations of the job run on each node."""
        return Counter(
            alloc["NodeName"]
            for alloc in self.allocs(job)
            if (alloc["DesiredStatus"], alloc["ClientStatus"]) == ("run", "running")
        )

    def until_running(self, job: str, count: int, limit_s: float = 20) -> None:
        until(lambda: self.places(job).total() == count, limit_s, f"{count} of {job} run")

    def triggers(self, job: str) -> Counter[str]:
        return Counter(each["TriggeredBy"] for each in self.get(f"/v1/job/{job}/evaluations"))


@contextlib.contextmanager
def site(nodes: int, **environment: str) -> Iterator[Site]:
    with Stack(environment=environment) as stack, contextlib.ExitStack() as agents:
        made = Site(stack)
        for number in range(1, nodes + 1):
            agents.enter_context(running(made.add(f"n{number}")))
        ready = lambda: [each["Status"] for each in made.get("/v1/nodes")] == ["ready"] * nodes  # noqa: E731 - asked once
        until(ready, 40, "all nodes are ready")
        try:
            yield made
        finally:
            # Tasks outlive their agents.
            with stack.client() as client:
                jobs = [job["ID"] for job in client.get("/v1/jobs").json()]
                for job in jobs:
                    client.delete(f"/v1/job/{job}")
            for job in jobs:
                until(lambda job=job: made.places(job).total() == 0, 20, f"{job} is stopped")


def test_silent_nodes_lose_their_work_and_come_back_without_it():
    quick = {"BIVOUAC_MIN_HEARTBEAT_TTL": "2", "BIVOUAC_HEARTBEAT_GRACE": "2"}
    with site(3, **quick) as cluster:
        cluster.run("web", Count=3)
        cluster.run("daemon", "system")
        cluster.run("pinned", on="n2", Count=1)
        cluster.run("patient", on="n1", Count=2, MaxClientDisconnect=600 * SECOND)
        for job, count in (("web", 3), ("daemon", 3), ("pinned", 1), ("patient", 2)):
            cluster.until_running(job, count)
        before = {alloc["ID"] for alloc in cluster.allocs("patient")}
        for name in ("n1", "n2"):
            cluster.agents[name].send(signal.SIGSTOP)
        until(lambda: cluster.node("n2")["Status"] == "down", 20, "n2 is down")
        until(lambda: cluster.node("n1")["Status"] == "disconnected", 20, "n1 is disconnected")
        until(lambda: cluster.places("web") == {"n3": 3}, 20, "its work is replaced")
        assert cluster.places("daemon") == {"n3": 1}
        assert [alloc["ClientStatus"] for alloc in cluster.allocs("pinned")] == ["lost"]
        assert {alloc["ClientStatus"] for alloc in cluster.allocs("patient")} == {"unknown"}
        assert "blocked" in {e["Status"] for e in cluster.get("/v1/job/pinned/evaluations")}
        assert cluster.triggers("web")["node-update"] == 2
        for name in ("n1", "n2"):
            cluster.agents[name].send(signal.SIGCONT)
        for name in ("n1", "n2"):
            until(lambda name=name: cluster.node(name)["Status"] == "ready", 20, "it is back")
        for job, count in (("daemon", 3), ("pinned", 1), ("patient", 2)):
            cluster.until_running(job, count)
        assert cluster.places("web") == {"n3": 3}
        assert {alloc["ID"] for alloc in cluster.allocs("patient")} == before
        stopped = [a for a in cluster.allocs("web") if a["DesiredStatus"] == "stop"]
        until(
            lambda: (
                {
                    a["TaskStates"]["task"]["State"]
                    for a in cluster.allocs("web")
                    if a["DesiredStatus"] == "stop"
                }
                == {"dead"}
            ),
            20,
            "what was lost has been stopped there",
        )
        assert stopped


def test_a_killed_agent_finds_its_tasks_again():
    with site(1) as cluster:
        cluster.run("web", Count=2)
        cluster.until_running("web", 2)

        def starts() -> dict[str, int]:
            states = {alloc["ID"]: alloc["TaskStates"]["task"] for alloc in cluster.allocs("web")}
            return {key: state["StartedAt"] for key, state in states.items()}

        before = starts()
        agent = cluster.agents["n1"]
        agent.process.kill()
        agent.process.wait()
        agent.start()
        alloc_id = next(iter(before))

        def usage() -> dict:
            return cluster.get(f"/v1/client/allocation/{alloc_id}/stats")["Tasks"]

        until(lambda: _answers(usage), 40, "the agent knows its tasks")
        assert starts() == before
        assert cluster.places("web") == {"n1": 2}


def test_drains_move_services_a_few_at_a_time_and_spare_what_they_are_told_to():
    with site(3) as cluster:
        cluster.run("web", Count=4, Migrate=MIGRATE)
        cluster.run("daemon", "system")
        cluster.until_running("web", 4)
        cluster.until_running("daemon", 3)
        first = cluster.places("web").most_common(1)[0][0]
        lowest = 4
        cluster.drain(first, Deadline=60 * SECOND)
        while not cluster.is_drained(first):
            lowest = min(lowest, cluster.places("web").total())
        # One at a time may be on its way.
        assert lowest >= 3
        cluster.until_running("web", 4)
        assert first not in cluster.places("web") + cluster.places("daemon")
        assert cluster.node(first)["SchedulingEligibility"] == "ineligible"
        cluster.open(first)
        cluster.until_running("daemon", 3)

        second = cluster.places("web").most_common(1)[0][0]
        cluster.drain(second, Deadline=60 * SECOND, IgnoreSystemJobs=True)
        until(lambda: cluster.is_drained(second), 40, "it is drained")
        cluster.until_running("web", 4)
        assert (second in cluster.places("web"), second in cluster.places("daemon")) == (
            False,
            True,
        )
        cluster.open(second)

        third = cluster.places("web").most_common(1)[0][0]
        cluster.drain(third, Deadline=60 * SECOND)
        cluster.drain(third, eligible=True)
        node = cluster.node(third)
        assert (node["DrainStrategy"], node["SchedulingEligibility"]) == (None, "eligible")
        assert node["LastDrain"]["Status"] == "canceled"
        cluster.until_running("web", 4)

        forced = cluster.places("web").most_common(1)[0][0]
        cluster.drain(forced, Deadline=-1)
        until(lambda: cluster.is_drained(forced), 10, "it is drained at once")
        cluster.until_running("web", 4)
        assert forced not in cluster.places("web") + cluster.places("daemon")


def _answers(question) -> bool:
    try:
        return bool(question())
    except AssertionError:
        return False
