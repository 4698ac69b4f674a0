"""The glossary: every state and trigger, who sets it and what it means. Text only, no reads."""

from collections.abc import Mapping
from typing import Any

from cluster.store.ports import RecordReader
from dashboard.graphs.lifecycle_map import lifecycle_map
from dashboard.graphs.mermaid import graph_mermaid
from dashboard.outcomes import TRIGGER_WORDS
from dashboard.viewer import Viewer

#: State, whether it is stored, who sets it, what it means.
EVALUATION_STATES = (
    (
        "pending",
        "stored",
        "whoever makes it",
        (
            "Waits in the queue for a worker, behind more important ones and behind the one"
            " evaluation of its job that is at work."
        ),
    ),
    (
        "delayed",
        "step",
        "broker",
        (
            "Waits for a time: a follow-up after a failure, a planned replacement, the next"
            " batch of a rollout."
        ),
    ),
    (
        "scheduling",
        "step",
        "worker",
        "A worker compares what is wanted with what there is and looks for places.",
    ),
    (
        "applying",
        "step",
        "applier",
        (
            "Its plan is checked against the newest state; nodes that no longer fit refuse "
            "their part."
        ),
    ),
    (
        "blocked",
        "stored",
        "worker",
        (
            "Not everything found a place. Runs again by itself as soon as capacity of a "
            "fitting kind appears."
        ),
    ),
    (
        "complete",
        "stored",
        "worker",
        (
            "The work is done. What could not be placed waits in a blocked evaluation; read"
            " the outcome, not the word."
        ),
    ),
    (
        "failed",
        "stored",
        "worker or leader",
        "Its attempts are used up. Another evaluation tries again: later, or once there is room.",
    ),
    (
        "canceled",
        "stored",
        "leader",
        "Another evaluation of the same job made it superfluous. Not the same as finished.",
    ),
    (
        "deleted",
        "step",
        "garbage collection",
        "Old and no longer needed. A stub keeps its place in the chain.",
    ),
)
ALLOCATION_STATES = (
    ("pending", "Placed; none of its tasks runs: its node is to start it, or to start it again."),
    ("running", "At least one of its tasks runs."),
    ("stopping", "Wanted gone; its node has not stopped it yet."),
    ("complete", "Ended as it should."),
    (
        "failed",
        (
            "It could not be set up, or a task failed for good; a replacement follows the"
            " group's rules."
        ),
    ),
    (
        "lost",
        "Its node went down, fell silent or is gone; a replacement follows the group's rules.",
    ),
    ("unknown", "Its node fell silent and has not told of it since; it may still come back."),
    ("stopped", "Ended because it was no longer wanted here."),
    ("evicted", "Ended to make room for a more important job."),
)
NODE_STATES = (
    ("ready", "Answers, and takes new allocations."),
    ("ineligible", "Answers, keeps what it has, takes nothing new."),
    ("draining", "Takes nothing new; what is on it moves elsewhere or ends."),
    (
        "disconnected",
        "Silent: it missed its heartbeat. Its unknown allocations may still come back.",
    ),
    ("down", "Lost: it missed its heartbeat. Its allocations are lost, too."),
    ("initializing", "Has registered and not reported ready."),
)


def states_page(_reader: RecordReader, _viewer: Viewer) -> Mapping[str, Any]:
    """The context of the page."""
    graph = lifecycle_map({}, {})
    return {
        "map": graph,
        "map_mermaid": graph_mermaid(graph),
        "evaluation_states": EVALUATION_STATES,
        "allocation_states": ALLOCATION_STATES,
        "node_states": NODE_STATES,
        "triggers": sorted((str(key), text) for key, text in TRIGGER_WORDS.items()),
    }
