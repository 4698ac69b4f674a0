"""What people and programs do to a cluster, chosen by a seed: for pages that are kept open.

Each act is one request of the API, of which some are refused for what they ask: that is told as
well, and counts. No act leaves anything on its way: see `settle`.
"""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.live.world import MOCK, SECOND, World, job

#: Versions that are rolled out: one by one, healthy soon; every third behind a canary.
ROLLING = {
    "MaxParallel": 1,
    "HealthCheck": "task_states",
    "MinHealthyTime": SECOND // 10,
    "HealthyDeadline": 60 * SECOND,
    "ProgressDeadline": 120 * SECOND,
}
SPACE = "acts"


class Acts:
    """Acts on the jobs `names`, the nodes and the rest of one world."""

    def __init__(self, world: World, names: list[str], seed: int) -> None:
        self.world = world
        self.names = names
        self.random = random.Random(seed)  # noqa: S311 - the same acts every time
        self.version = 0
        #: How often each was done, and was refused.
        self.done: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()

    def some(self, count: int) -> None:
        """Every act at least once as far as `count` allows, in an order of the seed."""
        acts = [*_ACTS, *self.random.choices(_ACTS, k=max(0, count - len(_ACTS)))]
        self.random.shuffle(acts)
        for act in acts:
            act(self)

    def settle(self) -> None:
        """Bring to an end what would go on or wait: drains, rollouts, closed nodes."""
        for node in self.world.get("nodes"):
            self._drain(node, None)
            self._put(f"node/{node['ID']}/eligibility", {"Eligibility": "eligible"})
        for rollout in self.world.get("deployments"):
            if rollout["Status"] in ("running", "paused"):
                self._put(f"deployment/fail/{rollout['ID']}", {})
        self._put("operator/scheduler/configuration", {"SchedulerAlgorithm": "binpack"})

    def _put(self, path: str, body: dict[str, Any], method: str = "PUT") -> bool:
        answer = self.world.api.request(method, f"/v1/{path}", json=body)
        verb = f"{method} {path.partition('/')[0]}"
        assert answer.status_code < 500, f"{verb}: {answer.text}"
        counted = self.done if answer.is_success else self.refused
        counted[verb] += 1
        return answer.is_success

    def _job(self) -> str:
        return self.random.choice(self.names)

    def _node(self) -> dict[str, Any]:
        return self.random.choice(self.world.get("nodes"))

    def _drain(self, node: dict[str, Any], deadline_s: int | None) -> None:
        spec = None if deadline_s is None else {"Deadline": deadline_s * SECOND}
        self._put(f"node/{node['ID']}/drain", {"DrainSpec": spec, "MarkEligible": spec is None})

    def register(self) -> None:
        """A new version of a job, or the job again after it was stopped."""
        self.version += 1
        canary = {"Canary": 1} if self.version % 3 == 0 else {}
        count = self.random.randint(1, 4)
        self._put("jobs", {"Job": rolled(self._job(), self.version, count, **canary)})

    def scale(self) -> None:
        count = self.random.randint(0, 5)
        self._put(f"job/{self._job()}/scale", {"Count": count, "Target": {"Group": "group"}})

    def stop(self) -> None:
        self._put(f"job/{self._job()}", {}, "DELETE")

    def evaluate(self) -> None:
        name = self._job()
        self._put(f"job/{name}/evaluate", {"JobID": name})

    def revert(self) -> None:
        name = self._job()
        self._put(f"job/{name}/revert", {"JobID": name, "JobVersion": 0})

    def dispatch(self) -> None:
        self._put(f"job/{LAUNCHED}/dispatch", {})

    def roll(self) -> None:
        """Promote, pause, go on with or fail a rollout that is under way."""
        running = [each for each in self.world.get("deployments") if "ing" in each["Status"]]
        for rollout in running[:1]:
            verb = self.random.choice(("promote", "pause", "fail"))
            body = {"All": True} if verb == "promote" else {"Pause": self.random.random() < 0.5}
            self._put(f"deployment/{verb}/{rollout['ID']}", {} if verb == "fail" else body)

    def stop_one(self) -> None:
        """One allocation is stopped, and replaced."""
        placed = [each for each in self.world.get("allocations") if each["JobID"] in self.names]
        if placed:
            self._put(f"allocation/{self.random.choice(placed)['ID']}/stop", {})

    def drain(self) -> None:
        self._drain(self._node(), self.random.choice((None, 5, 60)))

    def close(self) -> None:
        chosen = self.random.choice(("eligible", "ineligible"))
        self._put(f"node/{self._node()['ID']}/eligibility", {"Eligibility": chosen})

    def drain_staged(self) -> None:
        nodes = [node["ID"] for node in self.world.get("nodes")][:2]
        self._put("drains", {"NodeIDs": nodes, "AtOnce": 1, "Spec": {"Deadline": 5 * SECOND}})

    def keep_variable(self) -> None:
        path = f"acts/{self.random.randint(1, 4)}"
        self._put(f"var/{path}", {"Path": path, "Items": {"a": str(self.random.random())}})

    def drop_variable(self) -> None:
        self._put(f"var/acts/{self.random.randint(1, 4)}", {}, "DELETE")

    def keep_volume(self) -> None:
        name = f"disk-{self.random.randint(1, 3)}"
        node = self._node()["ID"]
        path = f"/srv/{name}"
        volume = {"Name": name, "NodeID": node, "HostPath": path, "PluginID": "mkdir"}
        self._put("volume/host/register", {"Volume": volume})

    def drop_volume(self) -> None:
        for volume in self.world.get("volumes?type=host")[:1]:
            self._put(f"volume/host/{volume['ID']}", {}, "DELETE")

    def limit(self) -> None:
        """A quota, and a namespace that counts against it or does not any more."""
        most = {"Region": "global", "RegionLimit": {"CPU": self.random.randint(1, 9) * 500}}
        self._put("quota", {"Name": SPACE, "Limits": [most]})
        self._put("namespace", {"Name": SPACE, "Quota": self.random.choice(("", SPACE))})

    def pool(self) -> None:
        told = f"version {self.random.randint(1, 9)}"
        self._put("node/pools", {"Name": SPACE, "Description": told})

    def elsewhere(self) -> None:
        """A job of another namespace."""
        asked = rolled("there", 1, self.random.randint(1, 4))
        self._put("jobs", {"Job": {**asked, "Namespace": SPACE}})

    def set_scheduler(self) -> None:
        chosen = self.random.choice(("binpack", "spread"))
        self._put("operator/scheduler/configuration", {"SchedulerAlgorithm": chosen})


LAUNCHED = "launched"
_ACTS: tuple[Callable[[Acts], None], ...] = (
    Acts.register, Acts.scale, Acts.stop, Acts.evaluate, Acts.revert, Acts.dispatch, Acts.roll,
    Acts.stop_one, Acts.drain, Acts.close, Acts.drain_staged, Acts.keep_variable,
    Acts.drop_variable, Acts.keep_volume, Acts.drop_volume, Acts.limit, Acts.pool, Acts.elsewhere,
    Acts.set_scheduler,
)  # fmt: skip


def rolled(name: str, version: int, count: int, **update: Any) -> dict[str, Any]:
    """A version of a job, which is told from others by what its task is given."""
    task = {**MOCK, "Env": {"VERSION": str(version)}, "Resources": {"CPU": 100, "MemoryMB": 10}}
    asked = job(name, count=count, task=task, Migrate={**ROLLING, "HealthCheck": "checks"})
    return {**asked, "Update": {**ROLLING, **update}}


def launched() -> dict[str, Any]:
    """A job of which each dispatch makes a child that ends soon."""
    task = {**MOCK, "Config": {"run_for": "300ms"}, "Resources": {"CPU": 50, "MemoryMB": 10}}
    asked = job(LAUNCHED, task=task)
    del asked["Update"]
    return {**asked, "Type": "batch", "ParameterizedJob": {"Payload": "optional"}}
