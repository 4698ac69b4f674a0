"""The page of states: each meaning it gives is held against everything that is in that state.

In: a lived history. Out: its sentences; fails where something bears a mark whose meaning is not
true of it, or one that the page does not explain.
"""

from collections.abc import Callable, Collection, Iterator

from dashboard.queries import nodes
from dashboard.queries.allocations import state_of as state_of_alloc
from dashboard.queries.progress import state_of as state_of_evaluation
from dashboard.queries.states import states_page
from dashboard.viewer import Viewer
from scheduler.structs.allocation import Allocation, ClientStatus, DesiredStatus
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.node import Node, NodeEligibility, NodeStatus
from tests.callers import MANAGER
from tests.properties.histories import History


def told_of_states(history: History, were_lost: Collection[str]) -> Iterator[tuple[str, str]]:
    viewer = Viewer(name="kim", now=history.now, caller=MANAGER, namespaces=None)
    page = states_page(history.record, viewer)
    of_evaluations = {word: text for word, _, _, text in page["evaluation_states"]}
    of_allocs, of_nodes = dict(page["allocation_states"]), dict(page["node_states"])
    facts = Facts(history, were_lost)
    # A meaning without a check here could say anything.
    assert of_evaluations.keys() == facts.of_evaluations.keys()
    assert of_allocs.keys() == facts.of_allocs.keys()
    assert of_nodes.keys() == facts.of_nodes.keys()
    stored = {word for word, kind, _, _ in page["evaluation_states"] if kind == "stored"}
    assert stored == {status.value for status in EvalStatus}
    facts.check()
    triggers = dict(page["triggers"])
    assert {item.triggered_by for item in history.record.evaluations()} <= triggers.keys()
    for texts in (of_evaluations, of_allocs, of_nodes, triggers):
        yield from ((f"states, {word}", text) for word, text in texts.items())


class Facts:
    """What each meaning claims, by its word."""

    def __init__(self, history: History, were_lost: Collection[str]) -> None:
        self.record, self.now = history.record, history.now
        self.were_lost = were_lost
        self.of_evaluations: dict[str, Callable[[Evaluation], bool]] = {
            "pending": lambda item: not item.is_terminal,
            "delayed": lambda item: not item.is_terminal,
            "scheduling": lambda item: not item.is_terminal,
            "applying": lambda item: not item.is_terminal,
            "blocked": lambda item: (
                bool(item.failed_task_groups or item.quota_limit_reached) or not item.is_terminal
            ),
            "complete": lambda item: not item.failed_task_groups or self.waits_further(item),
            "failed": lambda item: bool(item.next_eval or item.blocked_eval),
            "canceled": self.is_superseded,
            # Its row is gone.
            "deleted": lambda item: False,
        }
        self.of_allocs: dict[str, Callable[[Allocation], bool]] = {
            "pending": lambda alloc: not self.tasks(alloc, "running"),
            "running": lambda alloc: bool(self.tasks(alloc, "running")),
            "stopping": lambda alloc: alloc.is_server_terminal and not alloc.is_client_terminal,
            "complete": lambda alloc: alloc.desired_status is DesiredStatus.RUN,
            "failed": lambda alloc: any(state.failed for state in alloc.task_states.values()),
            "lost": self.is_on_a_lost_node,
            "unknown": lambda alloc: alloc.node_id in self.were_lost,
            "stopped": lambda alloc: (
                alloc.client_status is ClientStatus.COMPLETE
                and alloc.desired_status is DesiredStatus.STOP
            ),
            "evicted": lambda alloc: alloc.desired_status is DesiredStatus.EVICT,
        }
        self.of_nodes: dict[str, Callable[[Node], bool]] = {
            "ready": lambda node: node.status is NodeStatus.READY and self.takes_new(node),
            "ineligible": lambda node: (
                node.status is NodeStatus.READY and not self.takes_new(node)
            ),
            "draining": lambda node: not self.takes_new(node),
            "disconnected": lambda node: node.id not in self.lost_now(),
            "down": lambda node: node.id in self.lost_now() and self.has_lost_all(node),
            "initializing": lambda node: node.status is NodeStatus.INITIALIZING,
        }

    def check(self) -> None:
        steps = self.record.newest_steps()
        for item in self.record.evaluations():
            word = state_of_evaluation(item, steps.get(item.id), self.now)
            assert self.of_evaluations[word](item), (word, item)
        for alloc in self.record.allocations():
            word = state_of_alloc(alloc)
            assert self.of_allocs[word](alloc), (word, alloc)
        for node in self.record.nodes():
            word = nodes.node_state(node)
            assert self.of_nodes[word](node), (word, node)

    def waits_further(self, item: Evaluation) -> bool:
        """In an evaluation that it names, or that names it: those of system jobs, one per node."""
        return bool(item.blocked_eval) or any(
            other.previous_eval == item.id for other in self.record.evaluations()
        )

    def is_superseded(self, item: Evaluation) -> bool:
        return any(
            other.job_key == item.job_key and other.id != item.id
            for other in self.record.evaluations()
        )

    @staticmethod
    def tasks(alloc: Allocation, state: str) -> list[str]:
        return [name for name, task in alloc.task_states.items() if task.state == state]

    def is_on_a_lost_node(self, alloc: Allocation) -> bool:
        return self.record.node(alloc.node_id) is None or alloc.node_id in self.were_lost

    @staticmethod
    def takes_new(node: Node) -> bool:
        is_eligible = node.scheduling_eligibility is NodeEligibility.ELIGIBLE
        return is_eligible and node.drain_strategy is None

    def lost_now(self) -> set[str]:
        return {node.id for node in self.record.nodes() if node.status is NodeStatus.DOWN}

    def has_lost_all(self, node: Node) -> bool:
        here = self.record.allocations_by_node(node.id)
        return all(alloc.is_terminal for alloc in here)
