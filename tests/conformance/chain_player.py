"""Plays one recorded scenario against the whole control plane on virtual time.

In: a scenario (`tests/vectors/chains/README.md`). Out: the store as it stands once nothing moves
any more, what each request was answered, and the index at every mark.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from cluster.jobspec.canonicalize import canonicalize
from cluster.jobspec.durations import read_duration
from cluster.jobspec.launch_times import next_due
from cluster.jobspec.parse import decode_job
from cluster.jobspec.patterns import Re2Matcher
from cluster.operations.errors import OperationRefused
from cluster.operations.garbage import demand_collection
from cluster.operations.jobs import JobRegistration, register_job
from cluster.operations.nodes import DrainRequest, drain_node, set_node_eligibility
from scheduler.ports import IDSource
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.deployment import DeploymentStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.node import DrainStrategy
from scheduler.watchers.deployments import Deployments
from scheduler.watchers.drains import Drains
from scheduler.watchers.heartbeats import Heartbeats, HeartbeatSettings
from scheduler.watchers.periodic import Launches
from scheduler.watchers.stages import Stages
from scheduler.worker import Batch, WorkerTools
from tests.builders import SECOND
from tests.callers import MANAGER
from tests.conformance.chain_agents import (
    GRACE,
    MIN_TTL,
    LoopClock,
    SimulatedAgent,
    VirtualLoop,
)
from tests.conformance.chain_calls import Reply, call
from tests.conformance.chain_refusals import RefusingStore
from tests.conformance.chain_stores import DatabaseRecord
from tests.simulation.world import TYPES, World

#: Seconds without any change after which nothing moves any more: longer than a deployment
#: collects its news. While a verdict is awaited, the time that it takes comes on top.
STILLNESS = 1.1
#: The control plane looks around at least this often.
LOOK = 0.25
PATIENCE = 60.0
MATCHER = Re2Matcher()


class ChainWorld(World):
    """A control plane with agents that call it, on one virtual clock."""

    def __init__(
        self, loop: VirtualLoop, record: DatabaseRecord | None = None, ids: IDSource | None = None
    ) -> None:
        self.beats: dict[str, tuple[int, int]] = {}
        self.record = record
        self._news = asyncio.Event()
        super().__init__(clock=LoopClock(loop), store=record, ids=ids)

    def new_watchers(self):
        self.heartbeats = Heartbeats(HeartbeatSettings(min_ttl=MIN_TTL, grace=GRACE))
        return self.heartbeats, Drains(), Stages(), Deployments(), Launches(next_due)

    def tell(self) -> None:
        """Something was written: whoever waits looks again."""
        self._news.set()
        self._news = asyncio.Event()

    async def next_news(self, deadline: float) -> None:
        """Return at the next write, or at the deadline."""
        left = max(0.0, deadline - self.clock.monotonic())
        try:
            await asyncio.wait_for(self._news.wait(), left)
        except TimeoutError:
            return

    def new_batch(self, process: str, limit: int = 1, types: tuple[str, ...] = TYPES) -> Batch:
        """One evaluation at a time, so that no plan conflicts by chance."""
        deliveries = self.leader.dequeue(process, types, 1, self.moment)
        if self.record is not None:
            self.record.begin_batch()
        tools = WorkerTools(
            snapshot=self._snapshot_at,
            ids=self.ids,
            matcher=MATCHER,
            factory=self.factory,
        )
        return Batch(tools, deliveries)

    def _snapshot_at(self, index: int):
        return self.record.snapshot_at(index) if self.record else self.store.snapshot()

    def judge(self, queued):
        return self.applier.apply(RefusingStore(self.store), queued, self.moment)

    def settle(self) -> None:
        """Let leader, workers and applier do what there is to do at this moment."""
        while True:
            before = self.store.index
            self.heartbeats.hear(self.beats, monotonic=self.clock.monotonic())
            self.tick()
            self.work_off()
            if self.store.index == before:
                return
            self.tell()


@dataclass
class Played:
    """What a scenario left behind."""

    world: ChainWorld
    #: Node id to its name in the scenario.
    node_names: dict[str, str]
    replies: dict[str, Reply] = field(default_factory=dict)
    #: Each mark with the index that the record had then.
    marks: list[tuple[str, int]] = field(default_factory=list)


class Player:
    """One play of one scenario."""

    def __init__(
        self,
        scenario: dict,
        loop: VirtualLoop,
        record: DatabaseRecord | None = None,
        ids: IDSource | None = None,
    ) -> None:
        self.scenario = scenario
        self.world = ChainWorld(loop, record, ids)
        self.agents = {
            form["name"]: SimulatedAgent(self.world, number, form)
            for number, form in enumerate(scenario["Nodes"])
        }
        names = {agent.node.id: agent.name for agent in self.agents.values()}
        self.played = Played(self.world, names)

    async def play(self) -> Played:
        """All steps, one after another. Raises NotBuilt for a request nobody serves yet."""
        try:
            for form in self.scenario["Nodes"]:
                if form.get("start", True):
                    self.agents[form["name"]].start()
                    await self._wait({"node": form["name"], "status": "ready"})
            for number, step in enumerate(self.scenario["Steps"]):
                await self._step(number, step)
        finally:
            for agent in self.agents.values():
                await agent.close()
        return self.played

    async def _step(self, number: int, step: dict) -> None:
        if "wait" in step:
            await self._wait(step["wait"])
        elif "mark" in step:
            self.played.marks.append((step["mark"], self.world.store.index))
        elif "node" in step:
            await self._do(self.agents[step["node"]], step["do"])
        else:
            self.played.replies[f"step {number}"] = self._ask(step)
            self.world.tell()

    async def _do(self, agent: SimulatedAgent, what: str) -> None:
        done = {"start": agent.start, "pause": agent.pause, "resume": agent.resume}
        if what == "stop":
            await agent.stop()
        else:
            done[what]()

    # Requests.

    def _ask(self, step: dict) -> Reply:
        try:
            if "register" in step:
                return self._register(step["register"], step.get("options") or {})
            if "drain" in step:
                return self._drain(step["drain"])
            if "eligibility" in step:
                asked = step["eligibility"]
                node_id = self.agents[asked["node"]].node.id
                written = set_node_eligibility(
                    self.world.store, node_id, asked["to"], **self._means
                )
                return Reply(eval_ids=written.eval_ids)
            return self._call(*step["call"])
        except OperationRefused as refused:
            return Reply(error=str(refused))

    @property
    def _means(self) -> dict:
        return {"by": MANAGER, "now": self.world.clock.now(), "ids": self.world.ids}

    def _register(self, document: dict, options: dict) -> Reply:
        assert not options, "no scenario uses options of a registration"
        form, _ = decode_job(document)
        form["Namespace"] = form["Namespace"] or "default"
        form["Region"] = "global"
        for group in form["TaskGroups"]:
            # Held twice all the same, as the recorded scheduler let them: see RefusingStore.
            for volume in (group["Volumes"] or {}).values():
                volume["AccessMode"] = "single-node-multi-writer"
        request = JobRegistration(job=canonicalize(form))
        written = register_job(self.world.store, request, **self._means)
        return Reply(eval_id=written.eval_id)

    def _drain(self, asked: dict) -> Reply:
        strategy = None
        if not asked.get("off"):
            text = asked.get("deadline", "1h")
            deadline = -1 if text == "force" else read_duration(text)
            ignores = asked.get("ignore_system", False)
            strategy = DrainStrategy(deadline=deadline, ignore_system_jobs=ignores)
        request = DrainRequest(strategy=strategy, mark_eligible=asked.get("eligible", False))
        node_id = self.agents[asked["node"]].node.id
        written = drain_node(self.world.store, node_id, request, **self._means)
        return Reply(eval_ids=written.eval_ids)

    def _call(self, method: str, path: str, body: dict | None = None) -> Reply:
        parts = urlsplit(self._with_ids(path))
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        body = body or {}
        if parts.path == "/v1/client/metadata":
            node_id = self._with_ids(body["NodeID"])
            self.agents[self.played.node_names[node_id]].set_meta(body["Meta"])
            return Reply()
        if parts.path == "/v1/system/gc":
            demand_collection(self.world.store, by=MANAGER, now=self.world.clock.now())
            return Reply()
        return call(self.world, method, parts.path, query, body)

    def _with_ids(self, text: str) -> str:
        return re.sub(r"\{(\w+):([^}]+)\}", lambda found: self._newest(*found.groups()), text)

    def _newest(self, kind: str, name: str) -> str:
        store = self.world.store
        found: Callable[[], list[str]] = {
            "node": lambda: [self.agents[name].node.id],
            "alloc": lambda: [
                alloc.id for alloc in store.allocations() if f"{alloc.job_id}/{alloc.name}" == name
            ],
            "deployment": lambda: [d.id for d in store.deployments() if d.job_id == name],
            "eval": lambda: [e.id for e in store.evaluations() if e.job_id == name],
            "child": lambda: [j.id for j in store.jobs() if j.parent_id == name],
        }[kind]
        return found()[-1]

    # Waiting.

    async def _wait(self, wanted: dict) -> None:
        if "seconds" in wanted:
            await self._pass(lambda: False, wanted["seconds"])
            return
        patience = wanted.get("timeout", PATIENCE)
        if wanted.get("evals_final"):
            settled = await self._pass(Stillness(self.world), patience)
        else:
            settled = await self._pass(lambda: self._holds(wanted), patience)
        assert settled, f"waited in vain for {wanted}"

    async def _pass(self, is_over: Callable[[], bool], patience: float) -> bool:
        """Let time pass until something holds; False when it did not within the patience."""
        end = self.world.clock.monotonic() + patience
        while True:
            self.world.settle()
            if is_over():
                return True
            now = self.world.clock.monotonic()
            if now >= end:
                return False
            due = self.world.leader.next_deadline(self.world.moment) or now + LOOK
            await self.world.next_news(min(end, now + LOOK, max(due, now + 0.01)))

    def _holds(self, wanted: dict) -> bool:
        store = self.world.store
        if "node" in wanted:
            node = store.node(self.agents[wanted["node"]].node.id)
            return node is not None and (
                wanted.get("status", node.status) == node.status
                and wanted.get("drain", node.drain_strategy is not None)
                is (node.drain_strategy is not None)
                and wanted.get("eligibility", node.scheduling_eligibility)
                == node.scheduling_eligibility
            )
        if "evals" in wanted:
            found = [e for e in store.evaluations() if _is_like(e, wanted["evals"])]
            return len(found) >= wanted.get("count", 1)
        if "deployment" in wanted:
            return self._deployment_holds(wanted)
        return self._job_holds(wanted)

    def _deployment_holds(self, wanted: dict) -> bool:
        newest = [d for d in self.world.store.deployments() if d.job_id == wanted["job"]][-1:]
        return any(
            deployment.status == wanted["deployment"]
            and wanted.get("version", deployment.job_version) == deployment.job_version
            and sum(g.healthy_allocs for g in deployment.task_groups.values())
            >= wanted.get("healthy", 0)
            and sum(g.placed_allocs for g in deployment.task_groups.values())
            >= wanted.get("placed", 0)
            for deployment in newest
        )

    def _job_holds(self, wanted: dict) -> bool:
        store, job_id = self.world.store, wanted["job"]
        if "status" in wanted and [job.status for job in store.jobs() if job.id == job_id] != [
            wanted["status"]
        ]:
            return False
        allocs = [
            alloc
            for alloc in store.allocations()
            if (alloc.job_id == job_id or alloc.job_id.startswith(f"{job_id}/"))
            and wanted.get("version", alloc.job_version) == alloc.job_version
        ]
        return all(
            wanted[status] == sum(1 for alloc in allocs if _counts(alloc, status))
            for status in set(ClientStatus) & set(wanted)
        )


class Stillness:
    """No evaluation is pending, delayed ones excepted, and nothing has changed for a while."""

    def __init__(self, world: ChainWorld, stillness: float = STILLNESS) -> None:
        self.world = world
        self._stillness = stillness
        self._seen: object = None
        self._since = 0.0

    def __call__(self) -> bool:
        store = self.world.store
        now = self.world.clock.monotonic()
        seen = tuple(
            max((row.modify_index for row in rows), default=0)
            for rows in (store.evaluations(), store.allocations(), store.deployments())
        )
        if seen != self._seen:
            self._seen, self._since = seen, now
        is_pending = any(
            e.status is EvalStatus.PENDING and not (e.wait or e.wait_until)
            for e in store.evaluations()
        )
        return not is_pending and now >= self._since + self._stillness + self._awaited()

    def _awaited(self) -> float:
        """Seconds until the slowest verdict that a running deployment waits for."""
        store = self.world.store
        spans = [0]
        for alloc in store.allocations():
            deployment = store.deployment(alloc.deployment_id)
            if deployment is None or deployment.status is not DeploymentStatus.RUNNING:
                continue
            health, job = alloc.deployment_status, store.job_of(alloc)
            group = job and job.task_group(alloc.task_group)
            is_open = health is None or health.healthy is None
            if is_open and not alloc.is_terminal and group and group.update:
                spans.append(group.update.min_healthy_time)
        return max(spans) / SECOND


def _counts(alloc, status: str) -> bool:
    wanted = status != ClientStatus.RUNNING or alloc.desired_status is DesiredStatus.RUN
    return alloc.client_status == status and wanted


def _is_like(evaluation, fields: dict) -> bool:
    have = {
        "TriggeredBy": evaluation.triggered_by,
        "JobID": evaluation.job_id,
        "Status": evaluation.status,
    }
    return all(have[key] == value for key, value in fields.items())


def play(
    scenario: dict, record: DatabaseRecord | None = None, ids: IDSource | None = None
) -> Played:
    """Play a scenario from its beginning, on a loop and a clock of its own.

    On a record in memory, unless another, empty one is given; with ids that are counted, unless
    they come from elsewhere.
    """
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(_play(scenario, loop, record, ids))
    finally:
        loop.close()


async def _play(
    scenario: dict, loop: VirtualLoop, record: DatabaseRecord | None, ids: IDSource | None
) -> Played:
    return await Player(scenario, loop, record, ids).play()
