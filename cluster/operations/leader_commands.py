"""Performs what the leader decided as time passed: each command is one write under the lease.

A command that fails is told to the leader, which brings it again; it never stops the leader.
Time, ids and the waking of workers come in: the leader process and the simulation have their own.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatchmethod

import msgspec

from cluster.operations.allocations import mark_draining
from cluster.operations.deployments import (
    end_deployment,
    promote_by_itself,
    step_deployments,
)
from cluster.operations.nodes import complete_drain, mark_node_unresponsive
from cluster.operations.periodic import launch_due
from cluster.operations.staged_drains import advance_staged_drain
from scheduler.access.caller import CLUSTER
from scheduler.commands import (
    AdvanceDrain,
    CancelEvaluations,
    Command,
    CompleteDrain,
    DrainAllocations,
    FailDeployment,
    FailEvaluation,
    LaunchPeriodic,
    MarkNodeUnresponsive,
    PromoteDeployment,
    RecordSteps,
    StepDeployments,
    WakeWorkers,
)
from scheduler.errors import Fenced
from scheduler.leader import Leader
from scheduler.ports import Change, Clock, Fence, IDSource, StateStore
from scheduler.state.events import WriteKind
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.watchers import reaper

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Hands:
    """What commands are performed with."""

    store: StateStore
    clock: Clock
    ids: IDSource
    #: None where nobody else could lead.
    fence: Fence | None
    #: Wakes that many workers.
    wake: Callable[[int], None]


class CommandRunner:
    """The commands of one leadership."""

    def __init__(self, leader: Leader, hands: Hands) -> None:
        self.leader = leader
        self.store = hands.store
        self.fence = hands.fence
        self._clock = hands.clock
        self._ids = hands.ids
        self._wake = hands.wake

    def perform(self, command: Command) -> None:
        """Carry one command out and tell the leader. Raises Fenced only."""
        try:
            self.carry_out(command)
        except Fenced:
            raise
        except Exception:
            log.exception("action=%s failed", type(command).__name__)
            self.leader.not_performed(command)
        else:
            self.leader.performed(command, self._clock.moment())

    def carry_out(self, command: Command) -> None:
        """Carry one command out; raises what its write raises, and tells nobody."""
        self._perform(command)

    @singledispatchmethod
    def _perform(self, command: Command) -> None:
        raise AssertionError(f"nobody performs {type(command).__name__}")

    @_perform.register
    def _(self, command: WakeWorkers) -> None:
        self._wake(command.count)

    @_perform.register
    def _(self, command: RecordSteps) -> None:
        def work(change: Change) -> None:
            for step in command.steps:
                change.put(LIFECYCLE_STEPS, msgspec.structs.replace(step, index=change.index))

        self._write(WriteKind.LIFECYCLE_RECORDED, work)

    @_perform.register
    def _(self, command: FailEvaluation) -> None:
        self._write(
            WriteKind.EVALUATION_UPDATED, lambda change: reaper.write_failed(change, command)
        )

    @_perform.register
    def _(self, command: CancelEvaluations) -> None:
        self._write(
            WriteKind.EVALUATION_UPDATED, lambda change: reaper.write_canceled(change, command)
        )

    @_perform.register
    def _(self, command: MarkNodeUnresponsive) -> None:
        mark_node_unresponsive(
            self.store,
            command.node_id,
            look=command.look,
            by=CLUSTER,
            now=self._clock.now(),
            ids=self._ids,
            fence=self.fence,
        )

    @_perform.register
    def _(self, command: DrainAllocations) -> None:
        mark_draining(
            self.store,
            command.transitions,
            by=CLUSTER,
            now=self._clock.now(),
            ids=self._ids,
            fence=self.fence,
        )

    @_perform.register
    def _(self, command: CompleteDrain) -> None:
        for by_deadline in (False, True):
            node_ids = tuple(key for key, flag in command.nodes.items() if flag is by_deadline)
            if node_ids:
                complete_drain(
                    self.store,
                    node_ids,
                    by=CLUSTER,
                    now=self._clock.now(),
                    deadline_reached=by_deadline,
                    fence=self.fence,
                )

    @_perform.register
    def _(self, command: AdvanceDrain) -> None:
        advance_staged_drain(
            self.store,
            command.drain_id,
            by=CLUSTER,
            now=self._clock.now(),
            fence=self.fence,
        )

    @_perform.register
    def _(self, command: StepDeployments) -> None:
        step_deployments(
            self.store,
            command.steps,
            by=CLUSTER,
            now=self._clock.now(),
            ids=self._ids,
            fence=self.fence,
        )

    @_perform.register
    def _(self, command: PromoteDeployment) -> None:
        promote_by_itself(
            self.store,
            command.deployment_id,
            by=CLUSTER,
            now=self._clock.now(),
            ids=self._ids,
            fence=self.fence,
        )

    @_perform.register
    def _(self, command: FailDeployment) -> None:
        end_deployment(
            self.store,
            command.deployment_id,
            is_late=command.is_late,
            rolls_back=command.rolls_back,
            by=CLUSTER,
            now=self._clock.now(),
            ids=self._ids,
            fence=self.fence,
        )

    @_perform.register
    def _(self, command: LaunchPeriodic) -> None:
        launch_due(
            self.store,
            command.key,
            catches_up=command.catches_up,
            by=CLUSTER,
            now=self._clock.now(),
            ids=self._ids,
            fence=self.fence,
        )

    def _write(self, kind: str, work: Callable[[Change], None]) -> None:
        self.store.write(kind, work, now=self._clock.now(), fence=self.fence)
