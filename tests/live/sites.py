"""A stack with a few real agents, by name: what jobs do on several machines."""

import contextlib
from collections import Counter
from collections.abc import Iterator

from cluster.bench.stack import Stack
from tests.live.side_process import MANAGE, SideProcess, beside, running, until

SECOND = 1_000_000_000
FOR_EVER = {"command": "/bin/sh", "args": ["-c", "exec sleep 3600"]}


class Site:
    """A stack and its agents, by name."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.agents: dict[str, SideProcess] = {}

    def add(self, name: str, **settings: str) -> SideProcess:
        join_token = (self.stack.data_dir / "join-token").read_text().strip()
        self.agents[name] = beside(
            self.stack,
            f"agent-{name}",
            *MANAGE,
            "runagent",
            BIVOUAC_NODE_NAME=name,
            BIVOUAC_AGENT_DIR=str(self.stack.data_dir / name),
            BIVOUAC_RAW_EXEC="1",
            BIVOUAC_CPU_MHZ="4000",
            BIVOUAC_MEMORY_MB="4000",
            **{"BIVOUAC_JOIN_TOKEN": join_token, **settings},
        )
        return self.agents[name]

    def get(self, path: str):
        with self.stack.client() as client:
            answer = client.get(path)
        assert answer.status_code == 200, (path, answer.text)
        return answer.json()

    def put(self, path: str, body: object, method: str = "PUT"):
        with self.stack.client() as client:
            answer = client.request(method, path, json=body)
        assert answer.status_code == 200, (path, answer.text)
        return answer.json()

    def run(
        self, name: str, kind: str = "service", *, on: str = "", config=FOR_EVER, **group
    ) -> None:
        task = {
            "Name": "task",
            "Driver": "raw_exec",
            "Config": config,
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
