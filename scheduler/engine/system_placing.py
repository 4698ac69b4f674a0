"""Place the entries of a system or sysbatch job, each on its own node.

In: the node reconciler's lists. Out: the attempt with stops and placements added, failures counted
(reconciler.md 21, steps 4 to 9; control-plane.md 2.4 and 2.5).
"""

from collections import Counter
from collections.abc import Iterable

import msgspec

from scheduler.engine.placing import exhausted_more, new_allocation
from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.history import is_canary
from scheduler.engine.reconcile.node_results import NodeEntry, NodeResults
from scheduler.engine.reconcile.node_rollout import rolls_by_stagger
from scheduler.engine.stack import RankedNode, SelectOptions
from scheduler.engine.system_work import SystemWork
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.allocation import DeploymentHealth
from scheduler.structs.evaluation import EvalTrigger
from scheduler.structs.job import Job
from scheduler.structs.plan_annotations import DesiredUpdates
from scheduler.structs.task_group import TaskGroup

_PLACEMENT_BLOCKED = "created to place remaining allocations"


class SystemPlacer:
    """Places the entries of one attempt."""

    def __init__(self, work: SystemWork, results: NodeResults) -> None:
        self._work = work
        self._attempt = work.attempt
        self._results = results
        self._to_place = list(results.place)
        #: By group, what constraints excluded, summed over nodes.
        self._filtered: dict[str, AllocMetric] = {}
        self._existing = {entry.group_name for entry in (*results.ignore, *work.inplace)}

    def annotate(self) -> None:
        """Count what is meant to happen, group by group."""
        work, results = self._work, self._results
        lists = {
            "stop": results.stop,
            "place": results.place,
            "ignore": results.ignore,
            "migrate": results.migrate,
            "in_place_update": work.inplace,
            "destructive_update": work.destructive,
            "disconnect": results.disconnecting,
            "reconnect": results.reconnecting,
        }
        tallies: dict[str, Counter[str]] = {}
        for field, entries in lists.items():
            for entry in entries:
                tallies.setdefault(entry.group_name, Counter())[field] += 1
        work.desired = {name: DesiredUpdates(**tally) for name, tally in tallies.items()}
        work.destructive_counts = _count(work.destructive)
        work.candidates = (
            _count(results.place)
            + _count(work.inplace)
            + _count(results.ignore)
            + _count(work.destructive)
        )
        work.existing_canaries = _count(
            entry for entry in results.ignore if entry.alloc is not None and is_canary(entry.alloc)
        )

    def evict(self) -> None:
        """Stop as many changed allocations as their groups' limits allow, to place them anew."""
        job = self._attempt.job
        if job is None:
            return
        limits = self._limits(job)
        left = False
        for entry in self._work.destructive:
            group = entry.task_group
            assert group is not None, "an update belongs to a group of the job"
            if limits[group.name] <= 0:
                left = left or rolls_by_stagger(job, group)
                continue
            self._attempt.stop(entry.held, reasons.UPDATING)
            self._to_place.append(entry)
            # Canaries are trimmed to their share afterwards.
            if not entry.is_canary:
                limits[group.name] -= 1
        if left:
            self._roll_on(job)

    def place(self) -> None:
        """Try each entry on its node."""
        work, attempt = self._work, self._attempt
        if not attempt.is_stopped and attempt.job is not None:
            starts_empty = work.is_sysbatch and bool(self._to_place)
            groups = () if starts_empty else attempt.job.task_groups
            attempt.queued = {group.name: 0 for group in groups}
        for entry in self._to_place:
            attempt.queued[entry.group_name] = attempt.queued.get(entry.group_name, 0) + 1
        for entry in self._to_place:
            if entry.node_id in work.ready:
                self._place_one(entry)
        if not work.is_sysbatch:
            self._correct_place_counts()

    def _limits(self, job: Job) -> Counter[str]:
        """Per group, how many changed allocations may be stopped now."""
        work = self._work
        limits: Counter[str] = Counter()
        for group in job.task_groups:
            own = group.update.max_parallel if group.update else 0
            limits[group.name] = own or job.update.max_parallel or len(work.destructive)
        if work.deployment is not None:
            for entry in self._results.ignore:
                alloc = entry.alloc
                if alloc is None or alloc.deployment_id != work.deployment.id:
                    continue
                health = alloc.deployment_status
                if health is None or health.healthy is None:
                    limits[entry.group_name] -= 1
        return limits

    def _roll_on(self, job: Job) -> None:
        stagger = max(
            (group.update or job.update).stagger
            for group in job.task_groups
            if rolls_by_stagger(job, group)
        )
        self._work.run.roll_on(stagger)

    def _place_one(self, entry: NodeEntry) -> None:
        group = entry.task_group
        assert group is not None, "only required names are placed"
        options = SelectOptions(only_node_id=entry.node_id, alloc_name=entry.name)
        option = self._work.stack.select(group, options)
        metric = self._attempt.context.metrics
        if option is not None:
            self._take(entry, group, option, metric)
            return
        work = self._work
        work.candidates[group.name] -= 1
        if entry.alloc is not None:
            work.destructive_counts[group.name] -= 1
        if metric.nodes_filtered > 0:
            self._note_filtered(group, metric)
        else:
            self._note_exhausted(group, metric, entry.node_id)

    def _take(
        self, entry: NodeEntry, group: TaskGroup, option: RankedNode, metric: AllocMetric
    ) -> None:
        attempt, deployment, job = self._attempt, self._work.deployment, self._attempt.job
        assert job is not None, "a stopped job places nothing"
        alloc = new_allocation(attempt, job, group, option).changed(
            name=entry.name,
            metrics=self._measured(metric),
            previous_allocation=entry.alloc.id if entry.alloc else "",
            deployment_id=deployment.id if deployment and deployment.is_active else "",
        )
        if entry.is_canary and deployment is not None:
            alloc = alloc.changed(deployment_status=DeploymentHealth(canary=True))
        if option.preempted:
            evicted_ids = tuple(evicted.id for evicted in option.preempted)
            alloc = alloc.changed(preempted_allocations=evicted_ids)
            self._count_preempted(group.name, len(evicted_ids))
        for evicted in option.preempted:
            attempt.preempt(evicted, alloc.id)
        attempt.place(alloc)
        attempt.decisions[group.name] = alloc.metrics
        self._work.placed.append(alloc)

    def _count_preempted(self, group_name: str, number: int) -> None:
        """Counted for dry runs only, unlike those of service and batch jobs."""
        if self._work.run.evaluation.annotate_plan:
            self._change_desired(
                group_name,
                preemptions=self._work.desired[group_name].preemptions + number,
            )

    def _note_filtered(self, group: TaskGroup, metric: AllocMetric) -> None:
        """The node is not one of the job's: it is not waited for."""
        attempt, name = self._attempt, group.name
        attempt.queued[name] -= 1
        merged = _merged(self._filtered.get(name), metric)
        self._filtered[name] = attempt.decisions[name] = merged
        if attempt.queued[name] <= 0 and name not in self._existing:
            attempt.failed[name] = merged
        if self._work.is_sysbatch:
            self._change_desired(name, place=self._work.desired[name].place - 1)

    def _note_exhausted(self, group: TaskGroup, metric: AllocMetric, node_id: str) -> None:
        """An evaluation waits for the first node without room; others are only counted."""
        attempt, name = self._attempt, group.name
        known = attempt.failed.get(name)
        if known is not None:
            coalesced = msgspec.structs.replace(
                known, coalesced_failures=known.coalesced_failures + 1
            )
            attempt.failed[name] = exhausted_more(coalesced, group)
            return
        assert attempt.job is not None, "a stopped job places nothing"
        pooled = msgspec.structs.replace(self._measured(metric), node_pool=attempt.job.node_pool)
        attempt.failed[name] = exhausted_more(pooled, group)
        attempt.decisions[name] = attempt.failed[name]
        run = self._work.run
        run.failed = attempt.failed
        run.block(
            self._work.stack.class_report(),
            EvalTrigger.QUEUED_ALLOCS,
            _PLACEMENT_BLOCKED,
            node_id=node_id,
        )

    def _measured(self, metric: AllocMetric) -> AllocMetric:
        candidates = self._work.stack.candidates
        return msgspec.structs.replace(
            metric,
            nodes_available=candidates.by_datacenter,
            nodes_in_pool=candidates.count,
        )

    def _correct_place_counts(self) -> None:
        for name in self._work.desired:
            self._change_desired(name, place=max(0, self._work.candidates[name]))

    def _change_desired(self, group_name: str, **fields: int) -> None:
        desired = self._work.desired
        desired[group_name] = msgspec.structs.replace(desired[group_name], **fields)


def _count(entries: Iterable[NodeEntry]) -> Counter[str]:
    return Counter(entry.group_name for entry in entries)


def _merged(known: AllocMetric | None, metric: AllocMetric) -> AllocMetric:
    """What two nodes were filtered for, added up."""
    if known is None:
        return metric
    return msgspec.structs.replace(
        known,
        nodes_evaluated=known.nodes_evaluated + metric.nodes_evaluated,
        nodes_filtered=known.nodes_filtered + metric.nodes_filtered,
        class_filtered=dict(Counter(known.class_filtered) + Counter(metric.class_filtered)),
        constraint_filtered=dict(
            Counter(known.constraint_filtered) + Counter(metric.constraint_filtered)
        ),
        allocation_time=known.allocation_time + metric.allocation_time,
    )
