"""Decide, node by node, what of a system or sysbatch job to stop, keep, change or add.

In: a `NodeSituation`: the job, its allocations, the nodes that take new ones. Out: `NodeResults`.
Each name runs once on each ready node; whether there is room is not looked at here.
"""

from collections import defaultdict

from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.alloc_set import by_index
from scheduler.engine.reconcile.history import (
    is_expired,
    is_wanted,
    needs_reconnect,
    ran_successfully,
    with_state,
)
from scheduler.engine.reconcile.node_results import NodeEntry, NodeResults, NodeSituation
from scheduler.engine.reconcile.node_rollout import NodeRollout, rolls_by_stagger
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.job import Job, JobType
from scheduler.structs.node import Node, NodeStatus
from scheduler.structs.task_group import TaskGroup


def reconcile_node(situation: NodeSituation) -> NodeResults:
    """What must change so that the job runs on every node it should (reconciler.md 20).

    Visits the ready nodes and those that hold live allocations, by id.
    """
    return _NodeReconciler(situation).run()


class _NodeReconciler:
    def __init__(self, situation: NodeSituation) -> None:
        self._situation = situation
        self._required = _required_names(situation)
        self._rollout = NodeRollout(situation)
        self._results = NodeResults()
        self._live: defaultdict[str, list[Allocation]] = defaultdict(list)
        self._ended: defaultdict[str, dict[str, Allocation]] = defaultdict(dict)
        for alloc in sorted(situation.allocations, key=by_index):
            if not alloc.is_terminal:
                self._live[alloc.node_id].append(alloc)
                continue
            newest = self._ended[alloc.node_id].get(alloc.name)
            if newest is None or newest.create_index < alloc.create_index:
                self._ended[alloc.node_id][alloc.name] = alloc

    def run(self) -> NodeResults:
        """Visit every node."""
        for node_id in sorted({*self._live, *self._situation.ready}):
            self._rollout.triage()
            self._visit(node_id)
        self._rollout.settle()
        results = self._results
        results.deployment = self._rollout.current
        results.deployment_updates = self._rollout.updates
        return results

    def _visit(self, node_id: str) -> None:
        updates_before = len(self._results.update)
        live = self._live.get(node_id, [])
        for alloc in live:
            self._judge_live(alloc)
        held = {alloc.name for alloc in live}
        for name, group in self._required.items():
            if name not in held and not self._fill(node_id, name, group):
                continue
            has_updates = len(self._results.update) > updates_before
            self._extend_rollout(node_id, group, has_updates=has_updates)

    def _judge_live(self, alloc: Allocation) -> None:
        group = self._required.get(alloc.name)
        kind, changed = _judge(alloc, group, self._situation)
        if kind == "ignore" and changed is alloc and not _waits_unknown(alloc):
            self._rollout.is_version_present = True
        entry = NodeEntry(
            name=alloc.name,
            node_id=alloc.node_id,
            task_group=group,
            alloc=changed,
            is_canary=kind == "update" and group is not None and self._becomes_canary(group),
        )
        getattr(self._results, kind).append(entry)

    def _becomes_canary(self, group: TaskGroup) -> bool:
        job, update = self._situation.job, group.update
        if job is None or update is None or update.max_parallel == 0 or update.canary == 0:
            return False
        if rolls_by_stagger(job, group):
            return False
        state = self._rollout.state_of(group)
        return state is not None and not state.promoted

    def _fill(self, node_id: str, name: str, group: TaskGroup) -> bool:
        """Decide about a name nothing live bears on the node; whether it is to be placed."""
        job = self._situation.job
        assert job is not None, "a stopped job requires no names"
        ended = self._ended.get(node_id, {}).get(name)
        entry = NodeEntry(name=name, node_id=node_id, task_group=group, alloc=ended)
        if ended is not None and job.type == JobType.SYSBATCH:
            has_changed = _spec_index(ended, self._situation) != job.job_modify_index
            (self._results.update if has_changed else self._results.ignore).append(entry)
            return False
        if node_id in self._situation.tainted or node_id not in self._situation.ready:
            return False
        self._results.place.append(entry)
        return True

    def _extend_rollout(self, node_id: str, group: TaskGroup, *, has_updates: bool) -> None:
        job = self._situation.job
        assert job is not None, "a stopped job requires no names"
        if job.type != JobType.SYSTEM:
            return
        runs_version = any(_is_of(job, alloc) for alloc in self._live.get(node_id, ()))
        if runs_version:
            self._rollout.is_version_present = True
        ran_version = any(_is_of(job, alloc) for alloc in self._ended.get(node_id, {}).values())
        self._rollout.extend(
            group, has_version=runs_version or ran_version, has_updates=has_updates
        )


def _required_names(situation: NodeSituation) -> dict[str, TaskGroup]:
    job = situation.job
    if job is None or job.stop:
        return {}
    return {
        f"{job.name}.{group.name}[{index}]": group
        for group in job.task_groups
        for index in range(group.count)
    }


def _judge(
    alloc: Allocation, group: TaskGroup | None, situation: NodeSituation
) -> tuple[str, Allocation]:
    """The list a live allocation goes to, and the copy that goes there (reconciler.md 20.3)."""
    if group is None:
        return "stop", alloc
    if alloc.desired_transition.migrate:
        return "migrate", alloc
    if is_expired(alloc, situation.origin(alloc), situation.now) and needs_reconnect(alloc):
        return "lost", alloc
    if _waits_unknown(alloc):
        return "ignore", alloc
    if alloc.node_id in situation.tainted:
        return _judge_on_tainted(alloc, situation.tainted[alloc.node_id], situation)
    if alloc.client_status is ClientStatus.RUNNING and needs_reconnect(alloc):
        return "reconnecting", with_state(alloc, alloc.client_status, situation.now)
    has_changed = situation.job is not None and (
        _spec_index(alloc, situation) != situation.job.job_modify_index
    )
    if alloc.node_id in situation.not_ready:
        return ("stop" if has_changed else "ignore"), alloc
    if alloc.node_id not in situation.ready:
        return "stop", alloc
    return ("update" if has_changed else "ignore"), alloc


def _judge_on_tainted(
    alloc: Allocation, node: Node | None, situation: NodeSituation
) -> tuple[str, Allocation]:
    origin = situation.job_of(alloc)
    is_sysbatch = origin is not None and origin.type == JobType.SYSBATCH
    if is_sysbatch and ran_successfully(alloc):
        return "ignore", alloc
    if node is None or node.status is NodeStatus.DOWN:
        return "lost", alloc
    if node.status is NodeStatus.DISCONNECTED and alloc.client_status is ClientStatus.RUNNING:
        return "disconnecting", with_state(alloc, ClientStatus.UNKNOWN, situation.now).changed(
            client_status=ClientStatus.UNKNOWN, client_description=reasons.UNKNOWN
        )
    return "ignore", alloc


def _waits_unknown(alloc: Allocation) -> bool:
    return alloc.client_status is ClientStatus.UNKNOWN and is_wanted(alloc)


def _spec_index(alloc: Allocation, situation: NodeSituation) -> int:
    job = situation.job_of(alloc)
    return job.job_modify_index if job else 0


def _is_of(job: Job, alloc: Allocation) -> bool:
    return alloc.job_version == job.version and alloc.job_create_index == job.create_index
