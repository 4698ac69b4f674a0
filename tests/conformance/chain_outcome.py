"""The outcome of a played scenario in the words of the recordings, and what differs from them.

In: a play. Out: the same sections as `Expect` (`tests/vectors/chains/README.md`), names for ids;
and the paths at which two outcomes differ, except those a scenario says are never compared.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobType
from tests.conformance.chain_player import Played

Form = dict[str, Any]
_ON_NODES = (JobType.SYSTEM, JobType.SYSBATCH)
_CLASS = "computed class ineligible"
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Outcome:
    """Everything a scenario left behind, by name."""

    def __init__(self, played: Played, ignored: Iterable[str]) -> None:
        self.played = played
        self.store = played.world.store
        self.is_ignored = _matcher(ignored)
        self._counts: Counter[str] = Counter()
        self._job_names = {job.key: self._job_name(job) for job in _created(self.store.jobs())}
        self.names: dict[str, str] = dict(played.node_names)
        self._name_the_rest()

    def form(self) -> Form:
        """The sections that are compared."""
        evals = [e for e in _created(self.store.evaluations()) if e.type != "_core"]
        sequence: dict[str, list[str]] = defaultdict(list)
        for evaluation in evals:
            sequence[self._job_of(evaluation)].append(self.names[evaluation.id])
        return {
            "Counts": self._count(evals),
            "Evaluations": [self._evaluation(e) for e in evals],
            "Allocations": [self._allocation(a) for a in _created(self.store.allocations())],
            "Deployments": [self._deployment(d) for d in _created(self.store.deployments())],
            "Jobs": [self._job(job) for job in _created(self.store.jobs())],
            "Nodes": [self._node(node) for node in self.store.nodes()],
            "Replies": [self._reply(step, r) for step, r in self.played.replies.items()],
            "Sequence": dict(sequence),
            "Marks": self._marks(evals),
        }

    # Names.

    def _job_name(self, job) -> str:
        name = job.id
        if job.parent_id:
            kind = "periodic" if "/periodic-" in job.id else "dispatch"
            name = self._numbered(f"{job.parent_id}/{kind}")
        return name if job.namespace == "default" else f"{job.namespace}:{name}"

    def _numbered(self, name: str) -> str:
        self._counts[name] += 1
        return f"{name}#{self._counts[name]}"

    def _job_of(self, row) -> str:
        return self._job_names.get(row.job_key, row.job_id)

    def _name_the_rest(self) -> None:
        for evaluation in _created(self.store.evaluations()):
            name = f"{self._job_of(evaluation)}/{evaluation.triggered_by}"
            if evaluation.node_id:
                name += f"@{self.names.get(evaluation.node_id, 'gone')}"
            self.names[evaluation.id] = self._numbered(name)
        for alloc in _created(self.store.allocations()):
            name = self._job_of(alloc) + alloc.name.removeprefix(alloc.job_id)
            if alloc.job_type in _ON_NODES:
                name += f"@{self.names.get(alloc.node_id, 'gone')}"
            self.names[alloc.id] = self._numbered(name)
        for deployment in _created(self.store.deployments()):
            name = f"{self._job_of(deployment)}/deployment"
            self.names[deployment.id] = self._numbered(name)

    def _name(self, identifier: str) -> str:
        return self.names.get(identifier, "gone") if identifier else ""

    def _text(self, text: str) -> str:
        return _ID.sub(lambda found: self._name(found.group()), text)

    # Rows.

    def _evaluation(self, evaluation) -> Form:
        annotations = evaluation.plan_annotations
        updates = annotations.desired_updates if annotations else {}
        return _filled(
            ID=self.names[evaluation.id],
            Type=evaluation.type,
            TriggeredBy=evaluation.triggered_by,
            Status=evaluation.status.value,
            StatusDescription=self._text(evaluation.status_description),
            Priority=evaluation.priority,
            JobID=self._job_of(evaluation),
            NodeID=self._name(evaluation.node_id),
            DeploymentID=self._name(evaluation.deployment_id),
            NextEval=self._name(evaluation.next_eval),
            PreviousEval=self._name(evaluation.previous_eval),
            BlockedEval=self._name(evaluation.blocked_eval),
            Wait=evaluation.wait > 0,
            WaitUntil=evaluation.wait_until > 0,
            QueuedAllocations=dict(evaluation.queued_allocations),
            FailedTGAllocs={
                group: _metric(metric) for group, metric in evaluation.failed_task_groups.items()
            },
            PlanAnnotations={group: _updates(counts) for group, counts in updates.items()},
        )

    def _allocation(self, alloc) -> Form:
        wanted, health = alloc.desired_transition, alloc.deployment_status
        transitions = {
            "Migrate": wanted.migrate,
            "Reschedule": wanted.reschedule,
            "ForceReschedule": wanted.force_reschedule,
            "NoShutdownDelay": wanted.no_shutdown_delay,
        }
        form = _filled(
            ID=self.names[alloc.id],
            JobID=self._job_of(alloc),
            JobVersion=alloc.job_version,
            TaskGroup=alloc.task_group,
            DesiredStatus=alloc.desired_status.value,
            DesiredDescription=self._text(alloc.desired_description),
            ClientStatus=alloc.client_status.value,
            ClientDescription=alloc.client_description,
            NodeID=self._name(alloc.node_id),
            EvalID=self._name(alloc.eval_id),
            DeploymentID=self._name(alloc.deployment_id),
            Canary=bool(health and health.canary),
            NextAllocation=self._name(alloc.next_allocation),
            PreviousAllocation=self._name(alloc.previous_allocation),
            FollowupEvalID=self._name(alloc.followup_eval_id),
            PreemptedByAllocation=self._name(alloc.preempted_by_allocation),
            PreemptedAllocations=[self._name(each) for each in alloc.preempted_allocations],
            Reschedules=len(alloc.reschedule_tracker.events) if alloc.reschedule_tracker else 0,
            Transition=sorted(name for name, is_set in transitions.items() if is_set),
        )
        if health is not None and health.healthy is not None:
            form["Healthy"] = health.healthy
        return form

    def _deployment(self, deployment) -> Form:
        form = _filled(
            ID=self.names[deployment.id],
            JobID=self._job_of(deployment),
            Status=deployment.status.value,
            StatusDescription=deployment.status_description,
            TaskGroups={
                name: _filled(
                    AutoRevert=group.auto_revert,
                    AutoPromote=group.auto_promote,
                    Promoted=group.promoted,
                    PlacedCanaries=len(group.placed_canaries),
                    DesiredCanaries=group.desired_canaries,
                    DesiredTotal=group.desired_total,
                    PlacedAllocs=group.placed_allocs,
                    HealthyAllocs=group.healthy_allocs,
                    UnhealthyAllocs=group.unhealthy_allocs,
                )
                for name, group in deployment.task_groups.items()
            },
        )
        return form | {"JobVersion": deployment.job_version}

    def _job(self, job) -> Form:
        summary = self.store.get(JOB_SUMMARIES, job.key)
        groups = summary.summary if summary else {}
        return _filled(
            ID=self._job_names[job.key],
            Type=job.type,
            Status=job.status,
            Version=job.version,
            Stop=job.stop,
            Stable=job.stable,
        ) | {
            "Summary": {
                name: _filled(
                    Queued=counts.queued,
                    Complete=counts.complete,
                    Failed=counts.failed,
                    Running=counts.running,
                    Starting=counts.starting,
                    Lost=counts.lost,
                    Unknown=counts.unknown,
                )
                for name, counts in groups.items()
            }
        }

    def _node(self, node) -> Form:
        messages = [event.message for event in node.events]
        return _filled(
            ID=self.names[node.id],
            Status=node.status.value,
            SchedulingEligibility=node.scheduling_eligibility.value,
            LastDrain=node.last_drain.status if node.last_drain else "",
            Events=list(dict.fromkeys(messages)),
        )

    def _reply(self, step: str, reply) -> Form:
        return _filled(
            ID=step,
            EvalID=self._name(reply.eval_id),
            EvalIDs=len(reply.eval_ids),
            DispatchedJobID=self._job_names.get(JobKey("default", reply.dispatched_job_id), ""),
            Error=reply.error,
        )

    # Counts.

    def _count(self, evaluations) -> Form:
        counted = [
            e for e in evaluations if not self.is_ignored(f"Evaluations/{self.names[e.id]}")
        ]
        triggers = Counter(e.triggered_by for e in counted)
        return {"Evaluations": len(counted), "ByTrigger": dict(triggers)}

    def _marks(self, evaluations) -> Form:
        marks = self.played.marks
        ends = [*(index for _, index in marks[1:]), self.store.index][: len(marks)]
        return {
            name: self._count([e for e in evaluations if begin < e.create_index <= end])
            for (name, begin), end in zip(marks, ends, strict=True)
        }


def differences(
    expected: Form, outcome: Form, ignored: Iterable[str]
) -> dict[str, tuple[Any, Any]]:
    """The paths at which an outcome is another one, each with both values, the expected first."""
    is_ignored = _matcher(ignored)
    want, have = _paths(expected), _paths(outcome)
    return {
        path: (want.get(path), have.get(path))
        for path in sorted(want.keys() | have.keys())
        if want.get(path) != have.get(path) and not is_ignored(path)
    }


def _paths(outcome: Form) -> Form:
    """Each field of each row, and each entry of the other sections, by its path."""
    paths: Form = {}
    for section, content in outcome.items():
        if isinstance(content, dict):
            paths |= {f"{section}/{key}": _comparable(value) for key, value in content.items()}
            continue
        for row in content:
            for key, value in row.items():
                paths[f"{section}/{row['ID']}/{key}"] = _comparable(value)
    return paths


def _comparable(value):
    return sorted(value) if isinstance(value, list) and value and "#" in str(value[0]) else value


def _matcher(patterns: Iterable[str]):
    """Whether a path, or anything it lies in, is among the patterns."""
    texts = [
        re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".") + "(/.*)?"
        for pattern in patterns
    ]
    whole = re.compile("|".join(texts) or "(?!)")
    return lambda path: whole.fullmatch(path) is not None


def _created(rows):
    """In order of creation; rows of one write keep the order the store lists them in."""
    return sorted(rows, key=lambda row: row.create_index)


def _filled(**fields) -> Form:
    return {key: value for key, value in fields.items() if value}


def _updates(counts) -> Form:
    return _filled(
        Ignore=counts.ignore,
        Place=counts.place,
        Migrate=counts.migrate,
        Stop=counts.stop,
        InPlaceUpdate=counts.in_place_update,
        DestructiveUpdate=counts.destructive_update,
        Canary=counts.canary,
        Preemptions=counts.preemptions,
        Disconnect=counts.disconnect,
        Reconnect=counts.reconnect,
        RescheduleNow=counts.reschedule_now,
        RescheduleLater=counts.reschedule_later,
    )


def _metric(metric) -> Form:
    filtered = dict(metric.constraint_filtered)
    reasons = [reason for reason in filtered if reason != _CLASS]
    if len(reasons) == 1:
        filtered[reasons[0]] += filtered.pop(_CLASS, 0)
    return _filled(
        NodesEvaluated=metric.nodes_evaluated,
        NodesFiltered=metric.nodes_filtered,
        NodesExhausted=metric.nodes_exhausted,
        ConstraintFiltered=filtered,
        DimensionExhausted=dict(metric.dimension_exhausted),
        CoalescedFailures=metric.coalesced_failures,
    )
