"""Makes a small record of this version with something in every state, for later ones to migrate.

`python -m tests.keep_record FILE` runs a Bivouac of its own with a simulated fleet, has it do a
little of everything, and keeps its SQLite file, compressed. Done once, at the release.
"""

import lzma
import sqlite3
import sys
import tempfile
from pathlib import Path

import django
from django.conf import settings

SECOND = 1_000_000_000
EXAMPLES = Path(settings.BASE_DIR) / "examples"


def job(job_id: str, kind: str, run_for: str, **more: object) -> dict[str, object]:
    config = {"run_for": run_for, **more.pop("config", {})}
    task = {
        "Name": "task", "Driver": "mock_driver", "Config": config,
        "Resources": {"CPU": 100, "MemoryMB": 64},
    }  # fmt: skip
    group = {"Name": "group", "Count": more.pop("count", 1), "Tasks": [task], **more}
    return {"ID": job_id, "Type": kind, "Datacenters": ["*"], "TaskGroups": [group]}


class Maker:
    """One Bivouac, told what to do."""

    def __init__(self, client, until) -> None:
        self.client = client
        self.until = until

    def put(self, path: str, body: object) -> object:
        answer = self.client.put(f"/v1/{path}", json=body)
        assert answer.is_success, (path, answer.text)
        return answer.json() if answer.content else None

    def get(self, path: str):
        answer = self.client.get(f"/v1/{path}")
        assert answer.is_success, (path, answer.text)
        return answer.json()

    def parsed(self, name: str) -> dict[str, object]:
        text = (EXAMPLES / f"{name}.nomad.hcl").read_text()
        return self.put("jobs/parse", {"JobHCL": text, "Canonicalize": True})

    def run(self, form: object) -> None:
        self.put("jobs", {"Job": form})

    def statuses(self, job_id: str) -> list[str]:
        return [each["ClientStatus"] for each in self.get(f"job/{job_id}/allocations")]

    def wait(self, job_id: str, status: str, count: int = 1) -> None:
        self.until(
            lambda: self.statuses(job_id).count(status) >= count, 60, f"{job_id} is {status}"
        )

    def deployment(self, job_id: str, status: str) -> None:
        newest = lambda: (self.get(f"job/{job_id}/deployment") or {}).get("Status")  # noqa: E731 - asked once
        self.until(lambda: newest() == status, 60, f"the deployment of {job_id} is {status}")

    def everything(self) -> None:
        self.put("quota/small", {"Name": "small", "Limits": {"CPU": 1000}})
        self.put("namespace/team", {"Name": "team", "Quota": "small"})
        for example in sorted(EXAMPLES.iterdir()):
            self.run(self.parsed(example.name.removesuffix(".nomad.hcl")))
        self.run(job("done", "batch", "1s"))
        self.run(
            job(
                "failing", "batch", "1s", config={"exit_code": 1},
                RestartPolicy={"Attempts": 0, "Mode": "fail"},
                ReschedulePolicy={"Attempts": 3, "Interval": 24 * 3600 * SECOND,
                                  "Delay": 3600 * SECOND, "DelayFunction": "constant"},
            )
        )  # fmt: skip
        for name in ("stopped", "purged", "moving"):
            self.run(job(name, "service", "24h", count=2))
            self.wait(name, "running", 2)
        self.run(job("everywhere", "system", "24h"))
        self.client.delete("/v1/job/stopped")
        self.client.delete("/v1/job/purged", params={"purge": "true"})
        self.wait("done", "complete")
        self.wait("failing", "failed")
        self.deployment("mock-web", "successful")
        second = self.parsed("mock-web")
        second["TaskGroups"][0]["Tasks"][0]["Env"] = {"VERSION": "2"}
        self.run(second)
        self.wait("mock-web", "running", 7)
        left = self.get("job/moving/allocations")[0]["NodeID"]
        self.put(f"node/{left}/drain", {"DrainSpec": {"Deadline": 3600 * SECOND}})
        self.until(
            lambda: self.get(f"node/{left}")["DrainStrategy"] is None, 60, "a node is drained"
        )


def keep(file: Path) -> None:
    # Not before Django is set up.
    from cluster.bench.stack import Stack
    from tests.live.fleet_process import fleet
    from tests.live.side_process import until

    with tempfile.TemporaryDirectory() as folder:
        data_dir = Path(folder) / "data"
        with (
            Stack(data_dir=data_dir) as stack,
            fleet(stack, nodes=4, cpu=4000, memory=8192),
            stack.client() as client,
        ):
            Maker(client, until).everything()
        small = Path(folder) / "small.sqlite3"
        with sqlite3.connect(data_dir / "state.sqlite3") as record:
            record.execute("VACUUM INTO ?", (str(small),))
        file.write_bytes(lzma.compress(small.read_bytes(), preset=9))


if __name__ == "__main__":
    django.setup()
    keep(Path(sys.argv[1]))
