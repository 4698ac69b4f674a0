"""A cluster at rest, driven as the simulator drives one: workers act in an order of chance."""

import numpy as np

from cluster.control_plane.plane import ControlPlane
from cluster.jobspec.parse import parse_job
from cluster.operations.jobs import JobRegistration, register_job
from cluster.rehearsal.helps import with_helps
from cluster.rehearsal.paces import with_paces
from cluster.rehearsal.report import report
from cluster.rehearsal.run import Rehearsal
from cluster.rehearsal.scenario_form import read_scenario
from cluster.rehearsal.stage import ScenarioStage
from cluster.simulation.catalogue import machine
from cluster.simulation.clients import Client
from cluster.simulation.cluster import Cluster
from scheduler.access.caller import CLUSTER
from scheduler.broker.places import BrokerStats
from tests.builders import SECOND


def job_document(name, *, count=3, cpu=200, memory=64, kind="service", priority=50, **group):
    task = {
        "Name": "main",
        "Driver": "mock_driver",
        "Resources": {"CPU": cpu, "MemoryMB": memory},
    }
    whole = {"Name": "main", "Count": count, "Tasks": [task], **group}
    if kind == "service":
        moved = {"MaxParallel": 1, "MinHealthyTime": SECOND, "HealthyDeadline": 30 * SECOND}
        whole = {"Migrate": moved, **whole}
    return {"ID": name, "Type": kind, "Priority": priority, "TaskGroups": [whole]}


class QuietCluster:
    """Nodes of the simulator and what runs on them."""

    def __init__(self, nodes=6, *, workers=1, seed=0, store=None, round_s=1.0):
        """`round_s`: seconds between two acts of everybody."""
        self.plane = ControlPlane(store=store)
        self.round_s = round_s
        clients = [
            Client(machine(number), secret=f"secret-{number}") for number in range(1, nodes + 1)
        ]
        self.cluster = Cluster(self.plane, clients, [])
        self.cluster.workers = [self.cluster.new_worker() for _ in range(workers)]
        self.cluster.begin_step(np.random.default_rng(seed))
        self.rest()

    @property
    def store(self):
        return self.plane.store

    def node_id(self, number):
        return self.cluster.clients[number - 1].node.id

    def run(self, document):
        registration = JobRegistration(job=parse_job(document))
        register_job(
            self.store, registration, by=CLUSTER, now=self.plane.clock.now(), ids=self.plane.ids
        )

    def rest(self, seconds=400):
        """Time passes until nothing moves."""
        still = 0
        for _ in range(round(seconds / self.round_s)):
            before = self.store.index
            self.cluster.round(self.round_s)
            is_still = (
                self.store.index == before
                and self.cluster.is_idle
                and self.plane.leader.broker.stats() == BrokerStats()
            )
            still = still + 1 if is_still else 0
            if still >= 15 / self.round_s:
                return
        raise AssertionError("it never came to rest")

    def rehearse(self, *changes, **options):
        return self.rehearse_by(lambda: 0.0, *changes, **options)

    def rehearse_by(self, seconds, *changes, **options):
        """With real time told by a function."""
        now, snapshot = self.plane.clock.now(), self.store.snapshot()

        def rehearsed(scenario):
            rehearsal = Rehearsal(snapshot, now=now, seconds=seconds, **options)
            rehearsal.run(scenario)
            return report(rehearsal)

        scenario = read_scenario(list(changes))
        return with_paces(scenario, rehearsed(scenario), rehearsed)

    def helped(self, *changes, is_late=lambda: False):
        """With what would help those that wait."""
        now, snapshot = self.plane.clock.now(), self.store.snapshot()

        def run(scenario):
            rehearsal = Rehearsal(snapshot, now=now, seconds=lambda: 0.0)
            rehearsal.run(scenario)
            return rehearsal

        scenario = read_scenario(list(changes))
        first = run(scenario)
        return with_helps(
            scenario, report(first), first, lambda other: report(run(other)), is_late
        )

    def do(self, *changes):
        """The same in earnest."""
        stage = ScenarioStage(self.store, self.plane.clock, self.plane.ids)
        stage.set_up(read_scenario(list(changes)))
        self.rest()

    def live_ids(self):
        return {alloc.id for alloc in self.store.allocations() if not alloc.is_terminal}

    def new_places(self, before):
        """Where what runs now and did not then is: job, group, node."""
        return [
            ((alloc.job_id, alloc.task_group), alloc.node_name)
            for alloc in self.store.allocations()
            if not alloc.is_terminal and alloc.id not in before
        ]

    def places(self):
        """By job and group: the nodes of what runs, sorted."""
        found = {}
        for alloc in self.store.allocations():
            if not alloc.is_terminal:
                key = alloc.job_id, alloc.task_group
                found.setdefault(key, []).append(alloc.node_name)
        return {key: sorted(names) for key, names in found.items()}
