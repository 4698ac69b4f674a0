"""The extrapolated seed example at full size: a hundred nodes with 50 jobs each, down and up once.

Real processes throughout (control-plane.md 15.4); the nodes are a simulated fleet in one process,
which is stopped until all of its nodes are down and then goes on. Part of the long tests.
"""

import contextlib
import signal
from collections.abc import Iterator

import httpx
import pytest

from cluster.bench.job_forms import job_form
from cluster.bench.stack import Stack
from tests.live.fleet_process import FleetProcess, fleet
from tests.live.side_process import until

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(1500)]

NODES, SYSTEM_JOBS, SERVICE_JOBS = 100, 10, 40
#: Long enough that nobody is missed only because the machine is busy.
SILENCE = {"BIVOUAC_MIN_HEARTBEAT_TTL": "5", "BIVOUAC_HEARTBEAT_GRACE": "20"}
PATIENCE_S = 600


class Cluster:
    """A server with a fleet, asked over HTTP."""

    def __init__(self, api: httpx.Client) -> None:
        self.api = api

    def get(self, path: str):
        answer = self.api.get(path)
        assert answer.is_success, (path, answer.text)
        return answer.json()

    def put(self, path: str, body: dict) -> None:
        answer = self.api.put(path, json=body)
        assert answer.is_success, (path, answer.text)

    def set_broker(self, *, is_paused: bool) -> None:
        path = "/v1/operator/scheduler/configuration"
        kept = self.get(path)["SchedulerConfig"]
        self.put(path, kept | {"PauseEvalBroker": is_paused})

    def counted(self) -> dict[str, int]:
        """Evaluations that nodes have made so far, by type."""
        return {
            kind: self.count(f'TriggeredBy == "node-update" and Type == "{kind}"')
            for kind in ("service", "system")
        }

    def count(self, wanted: str) -> int:
        answer = self.api.get("/v1/evaluations/count", params={"filter": wanted})
        assert answer.is_success, answer.text
        return answer.json()["Count"]

    def is_through(self) -> bool:
        return self.count('Status == "pending"') == 0

    def wait_until_all_run(self) -> None:
        wanted = NODES * (SYSTEM_JOBS + SERVICE_JOBS)
        until(lambda: self.running() == wanted, PATIENCE_S, "every allocation runs")

    def check_exports(self) -> None:
        """The chain of an evaluation of each kind is there as text."""
        for job in ("sys1", "web1"):
            made = self.get(f"/v1/job/{job}/evaluations")
            chosen = [item for item in made if item["TriggeredBy"] == "node-update"]
            assert len(chosen) >= NODES
            answer = self.api.get(f"/chains/{chosen[0]['ID']}.mmd")
            assert answer.status_code == 200, answer.text
            assert answer.text.startswith("flowchart LR\n%% Chain of evaluations\n"), answer.text
            # Shown for itself, however many of its kind are folded into one node beside it.
            assert f"<br/>{chosen[0]['ID'][:8]}<br/>" in answer.text, answer.text

    def are_nodes(self, status: str) -> bool:
        return [node["Status"] for node in self.get("/v1/nodes")] == [status] * NODES

    def running(self) -> int:
        summaries = [job["JobSummary"]["Summary"] for job in self.get("/v1/jobs")]
        return sum(group["Running"] for groups in summaries for group in groups.values())

    def are_deployed(self) -> bool:
        statuses = [item["Status"] for item in self.get("/v1/deployments")]
        return set(statuses) == {"successful"}


def jobs() -> list[dict]:
    system = [
        job_form(f"sys{n}", cpu=10, memory_mb=10, kind="system") for n in range(1, SYSTEM_JOBS + 1)
    ]
    service = [
        job_form(f"web{n}", count=NODES, cpu=10, memory_mb=10)
        | {"Constraints": [{"Operand": "distinct_hosts", "RTarget": "true"}]}
        for n in range(1, SERVICE_JOBS + 1)
    ]
    return system + service


@contextlib.contextmanager
def busy() -> Iterator[tuple[Cluster, FleetProcess]]:
    """A cluster that runs one allocation of each job on each node, and has nothing left to do."""
    with (
        Stack(environment=SILENCE) as stack,
        fleet(stack, nodes=NODES, cpu=4000, memory=8192) as nodes,
        stack.client() as api,
    ):
        cluster = Cluster(api)
        for form in jobs():
            cluster.put("/v1/jobs", {"Job": form})
        cluster.wait_until_all_run()
        until(cluster.are_deployed, PATIENCE_S, "every deployment is through")
        assert cluster.counted() == {"service": 0, "system": 0}
        yield cluster, nodes


def silence(cluster: Cluster, nodes: FleetProcess) -> None:
    nodes.process.send_signal(signal.SIGSTOP)
    until(lambda: cluster.are_nodes("down"), PATIENCE_S, "every node is down")


def resume(cluster: Cluster, nodes: FleetProcess) -> None:
    nodes.process.send_signal(signal.SIGCONT)
    until(lambda: cluster.are_nodes("ready"), PATIENCE_S, "every node is back")


def test_while_nothing_is_scheduled_it_makes_eight_thousand_and_two_thousand():
    with busy() as (cluster, nodes):
        cluster.set_broker(is_paused=True)
        silence(cluster, nodes)
        assert cluster.counted() == {"service": 4000, "system": 1000}
        resume(cluster, nodes)
        assert cluster.counted() == {"service": 8000, "system": 2000}
        # What was left waiting is worked off, and all that ran runs again.
        cluster.set_broker(is_paused=False)
        until(cluster.is_through, PATIENCE_S, "every evaluation has ended")
        cluster.wait_until_all_run()
        assert cluster.counted() == {"service": 8000, "system": 2000}
        cluster.check_exports()


def test_what_is_scheduled_at_once_makes_half_of_the_services_evaluations():
    with busy() as (cluster, nodes):
        silence(cluster, nodes)
        until(cluster.is_through, PATIENCE_S, "every evaluation has ended or waits for room")
        assert cluster.counted() == {"service": 4000, "system": 1000}
        resume(cluster, nodes)
        cluster.wait_until_all_run()
        until(cluster.is_through, PATIENCE_S, "every evaluation has ended")
        assert cluster.counted() == {"service": 4000, "system": 2000}
        cluster.check_exports()
