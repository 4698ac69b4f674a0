"""A control plane of the simulation, with short ways to write what a test needs in its record."""

import re

import msgspec

from cluster.control_plane.plane import TYPES, ControlPlane
from cluster.jobspec.parse import parse_job
from cluster.operations.jobs import JobRegistration, register_job
from scheduler.commands import Command
from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job
from scheduler.structs.node import Node
from scheduler.watchers.drains import Drains
from scheduler.watchers.heartbeats import Heartbeats
from scheduler.watchers.stages import Stages
from scheduler.watchers.watcher import Watcher
from tests.builders import make_evaluation
from tests.callers import MANAGER

__all__ = ["TYPES", "Patterns", "World"]


class Patterns:
    """Patterns without RE2: tests use plain ones only."""

    def search(self, pattern: str, text: str) -> bool:
        return re.search(pattern, text) is not None


class World(ControlPlane):
    """Rollouts are not watched over, and nothing is collected, unless a test asks for it."""

    matcher = Patterns()
    collection = None

    def new_watchers(self) -> tuple[Watcher, ...]:
        self.heartbeats = Heartbeats()
        return self.heartbeats, Drains(), Stages()

    def tick(self, seconds: float = 0.0) -> list[Command]:
        """Core evaluations are worked off at once."""
        commands = super().tick(seconds)
        self.collect()
        self.follow()
        return commands

    def put_nodes(self, *nodes: Node) -> None:
        def work(change: Change) -> None:
            for node in nodes:
                create_index = node.create_index if change.node(node.id) else change.index
                put_found(
                    change,
                    msgspec.structs.replace(
                        node, create_index=create_index, modify_index=change.index
                    ),
                )

        self.store.write(WriteKind.NODE_REGISTRATION, work, now=self.clock.now())
        self.follow()

    def put_job(self, job: Job) -> Evaluation:
        """Store a job and the evaluation that its registration makes."""
        evaluation = make_evaluation(
            id=self.ids.next_id(),
            namespace=job.namespace,
            job_id=job.id,
            type=job.type,
            priority=job.priority,
            create_time=self.clock.now(),
            modify_time=self.clock.now(),
        )

        def work(change: Change) -> None:
            stored = change.job(job.key)
            change.put_job(
                msgspec.structs.replace(
                    job,
                    version=stored.version + 1 if stored else 0,
                    create_index=stored.create_index if stored else change.index,
                    modify_index=change.index,
                    job_modify_index=change.index,
                )
            )
            write_evaluations(change, [evaluation])

        self.store.write(WriteKind.JOB_REGISTERED, work, now=self.clock.now())
        self.follow()
        return self.stored(evaluation)

    def register(self, group: dict[str, object] | None = None, **fields: object) -> None:
        """A job `web` as a person would, through the operation that keeps versions and counts."""
        task = {"Name": "web", "Driver": "mock_driver", "Resources": {"CPU": 3000}}
        whole = {"Name": "web", "Count": 2, "Tasks": [task], **(group or {})}
        document = {"ID": "web", "Type": "service", "TaskGroups": [whole], **fields}
        registration = JobRegistration(job=parse_job(document))
        register_job(self.store, registration, by=MANAGER, now=self.clock.now(), ids=self.ids)
        self.follow()

    def put_evaluations(self, *evaluations: Evaluation) -> None:
        self.store.write(
            WriteKind.EVALUATION_UPDATED,
            lambda change: write_evaluations(change, evaluations),
            now=self.clock.now(),
        )
        self.follow()

    def stored(self, evaluation: Evaluation) -> Evaluation:
        found = self.store.evaluation(evaluation.id)
        assert found is not None
        return found
