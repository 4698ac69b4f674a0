"""Changes of a small cluster, drawn by chance: how each is rehearsed, and how it is done.

In: a connection, chance. Out: deeds. The cluster has room to spare, and differs little from node
to node, so that many nodes are nearly as good as the chosen one.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from time import sleep
from typing import Any

import numpy as np

from cluster.bench.connection import Connection
from cluster.bench.job_forms import job_form

NODES = 20
#: At rest, and of those that are started right before a change.
_JOBS, _NEW_JOBS = 40, 6
_SECOND = 1_000_000_000
#: Until one counts as healthy: at rest, and right after a start, seconds.
_HEALTHY_S = {"rest": 1, "start": 8}
#: From when all of it runs until the change, at most, seconds.
_LATER_S = 5.0
_LOOK_S = 0.1
_HOUR = 3600 * _SECOND


@dataclass(frozen=True)
class DrawnChange:
    """A change: its kind, as it is rehearsed, and how it is done."""

    name: str
    change: dict[str, Any]
    do: Callable[[Connection], object]


class Changes:
    """The jobs that run, and what befalls them."""

    def __init__(self, connection: Connection, chance: np.random.Generator) -> None:
        self._connection, self._chance = connection, chance
        self._forms: dict[str, dict[str, Any]] = {}
        self._kind = "rest"
        #: Those started right before a change.
        self._new: list[str] = []
        self._number = 0
        #: What was stopped, to be run again.
        self._stopped: list[str] = []

    def start(self, kind: str) -> None:
        """Register the jobs that are there from the beginning."""
        self._kind = kind
        for _ in range(_JOBS if kind == "rest" else _NEW_JOBS):
            self._register(self._form())

    def start_some(self) -> None:
        """Register jobs of which nobody knows yet whether they are well."""
        forms = [self._form() for _ in range(_NEW_JOBS)]
        for form in forms:
            self._register(form)
        self._new = [form["ID"] for form in forms]
        while any(alloc["ClientStatus"] == "pending" for alloc in self._placed(forms)):
            sleep(_LOOK_S)
        sleep(float(self._chance.random()) * _LATER_S)

    def _placed(self, forms: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """What was placed of jobs, once all of it was."""
        wanted = sum(form["TaskGroups"][0]["Count"] for form in forms)
        names = {form["ID"] for form in forms}
        while True:
            found = self._connection.get("/v1/allocations")
            placed = [alloc for alloc in found if alloc["JobID"] in names]
            if len(placed) >= wanted:
                return placed
            sleep(_LOOK_S)

    def draw(self) -> DrawnChange:
        """The next change."""
        if self._kind == "start":
            return self._drain(1)
        match int(self._chance.integers(10)):
            case 0 | 1 | 2:
                return self._drain(1)
            case 3 | 4:
                return self._drain(3)
            case 5 | 6 | 7:
                return self._update()
            case 8:
                return self._scale()
            case _:
                return self._stop()

    def tidy_up(self) -> None:
        """Open what was drained; run again what was stopped; take away what was new."""
        for node in self._connection.get("/v1/nodes"):
            if node["SchedulingEligibility"] != "eligible":
                path = f"/v1/node/{node['ID']}/eligibility"
                self._connection.put(path, {"Eligibility": "eligible"})
        for name in self._stopped:
            self._register(self._forms[name])
        for name in self._new:
            self._connection.delete(f"/v1/job/{name}?purge=true")
            del self._forms[name]
        self._stopped, self._new = [], []

    def _register(self, form: dict[str, Any]) -> None:
        self._forms[form["ID"]] = form
        self._connection.put("/v1/jobs", {"Job": form})

    def _form(self) -> dict[str, Any]:
        chance = self._chance
        self._number += 1
        form = job_form(
            f"{self._kind}-{self._number}",
            count=int(chance.integers(1, 7)),
            cpu=int(chance.choice([100, 150, 250])),
            memory_mb=int(chance.choice([64, 128, 256])),
        )
        healthy = _HEALTHY_S[self._kind] * _SECOND
        form["Priority"] = int(chance.choice([30, 50, 50, 70]))
        group = form["TaskGroups"][0]
        group["Update"] = {
            "MaxParallel": int(chance.integers(1, 3)),
            "HealthCheck": "task_states",
            "MinHealthyTime": healthy,
            "HealthyDeadline": 60 * _SECOND,
            "ProgressDeadline": 600 * _SECOND,
        }
        group["Migrate"] = {
            "MaxParallel": int(chance.integers(1, 3)),
            "HealthCheck": "task_states",
            "MinHealthyTime": healthy,
            "HealthyDeadline": 60 * _SECOND,
        }
        return form

    def _one_of(self, items: list[str]) -> str:
        return items[int(self._chance.integers(len(items)))]

    def _drain(self, many: int) -> DrawnChange:
        allocs = self._connection.get("/v1/allocations")
        used = sorted({
            alloc["NodeID"]
            for alloc in allocs
            if alloc["DesiredStatus"] == "run"
            and alloc["ClientStatus"] in ("pending", "running")
            and (not self._new or alloc["JobID"] in self._new)
        })  # fmt: skip
        chosen = [str(each) for each in self._chance.permutation(used)[:many]]
        spec = {"Deadline": _HOUR, "IgnoreSystemJobs": False}

        def do(connection: Connection) -> None:
            for node in chosen:
                connection.put(f"/v1/node/{node}/drain", {"DrainSpec": spec})

        change = {"Drain": {"NodeIDs": chosen, "Spec": spec}}
        return DrawnChange(f"drain_{many}", change, do)

    def _update(self) -> DrawnChange:
        form = deepcopy(self._forms[self._one_of(sorted(self._forms))])
        form["TaskGroups"][0]["Tasks"][0]["Resources"]["CPU"] += 50
        if form["TaskGroups"][0]["Tasks"][0]["Resources"]["CPU"] > 400:
            form["TaskGroups"][0]["Tasks"][0]["Resources"]["CPU"] = 100
        self._forms[form["ID"]] = form
        return DrawnChange("update", {"Job": form}, lambda its: its.put("/v1/jobs", {"Job": form}))

    def _scale(self) -> DrawnChange:
        form = self._forms[self._one_of(sorted(self._forms))]
        group = form["TaskGroups"][0]
        count = int(group["Count"]) % 6 + 1
        group["Count"] = count
        name = group["Name"]
        path = f"/v1/job/{form['ID']}/scale"
        return DrawnChange(
            "scale",
            {"Scale": {"JobID": form["ID"], "Group": name, "Count": count}},
            lambda its: its.put(path, {"Count": count, "Target": {"Group": name}}),
        )

    def _stop(self) -> DrawnChange:
        name = self._one_of(sorted(self._forms))
        self._stopped.append(name)
        change = {"Stop": {"JobID": name}}
        return DrawnChange("stop", change, lambda its: its.delete(f"/v1/job/{name}"))
