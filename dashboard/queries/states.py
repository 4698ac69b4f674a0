"""The glossary: every state and trigger, who sets it and what it means. Text only, no reads."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext, gettext_noop

from cluster.store.ports import RecordReader
from dashboard.graphs.lifecycle_map import lifecycle_map
from dashboard.graphs.mermaid import graph_mermaid
from dashboard.viewer import Viewer
from dashboard.work_words import TRIGGER_WORDS

#: State, whether it is stored, who sets it, what it means.
EVALUATION_STATES = (
    (
        "pending",
        "stored",
        gettext_noop("whoever makes it"),
        (
            gettext_noop(
                "Waits in the queue for a worker, behind more important ones and behind the one"
                " evaluation of its job that is at work."
            )
        ),
    ),
    (
        "delayed",
        "step",
        "broker",
        (
            gettext_noop(
                "Waits for a time: a follow-up after a failure, a planned replacement, the next"
                " batch of a rollout."
            )
        ),
    ),
    (
        "scheduling",
        "step",
        "worker",
        gettext_noop("A worker compares what is wanted with what there is and looks for places."),
    ),
    (
        "applying",
        "step",
        "applier",
        (
            gettext_noop(
                "Its plan is checked against the newest state; nodes that no longer fit refuse "
                "their part."
            )
        ),
    ),
    (
        "blocked",
        "stored",
        "worker",
        (
            gettext_noop(
                "Not everything found a place. Runs again by itself as soon as capacity of a "
                "fitting kind appears."
            )
        ),
    ),
    (
        "complete",
        "stored",
        "worker",
        (
            gettext_noop(
                "The work is done. What could not be placed waits in a blocked evaluation; read"
                " the outcome, not the word."
            )
        ),
    ),
    (
        "failed",
        "stored",
        gettext_noop("worker or leader"),
        gettext_noop(
            "Its attempts are used up. Another evaluation tries again: later, or once there"
            " is room."
        ),
    ),
    (
        "canceled",
        "stored",
        "leader",
        gettext_noop(
            "Another evaluation of the same job made it superfluous. Not the same as finished."
        ),
    ),
    (
        "deleted",
        "step",
        gettext_noop("garbage collection"),
        gettext_noop("Old and no longer needed. A stub keeps its place in the chain."),
    ),
)
ALLOCATION_STATES = (
    (
        "pending",
        gettext_noop(
            "Placed; none of its tasks runs: its node is to start it, or to start it again."
        ),
    ),
    ("running", gettext_noop("At least one of its tasks runs.")),
    ("stopping", gettext_noop("Wanted gone; its node has not stopped it yet.")),
    ("complete", gettext_noop("Ended as it should.")),
    (
        "failed",
        (
            gettext_noop(
                "It could not be set up, or a task failed for good; a replacement follows the"
                " group's rules."
            )
        ),
    ),
    (
        "lost",
        gettext_noop(
            "Its node went down, fell silent or is gone; a replacement follows the group's rules."
        ),
    ),
    (
        "unknown",
        gettext_noop("Its node fell silent and has not told of it since; it may still come back."),
    ),
    ("stopped", gettext_noop("Ended because it was no longer wanted here.")),
    ("evicted", gettext_noop("Ended to make room for a more important job.")),
)
NODE_STATES = (
    ("ready", gettext_noop("Answers, and takes new allocations.")),
    ("ineligible", gettext_noop("Answers, keeps what it has, takes nothing new.")),
    ("draining", gettext_noop("Takes nothing new; what is on it moves elsewhere or ends.")),
    (
        "disconnected",
        gettext_noop(
            "Silent: it missed its heartbeat. Its unknown allocations may still come back."
        ),
    ),
    ("down", gettext_noop("Lost: it missed its heartbeat. Its allocations are lost, too.")),
    ("initializing", gettext_noop("Has registered and not reported ready.")),
)


def states_page(_reader: RecordReader, _viewer: Viewer) -> Mapping[str, Any]:
    """The context of the page."""
    graph = lifecycle_map({}, {})
    return {
        "map": graph,
        "map_mermaid": graph_mermaid(graph),
        "evaluation_states": [
            (word, kind, gettext(actor), gettext(text))
            for word, kind, actor, text in EVALUATION_STATES
        ],
        "allocation_states": [(word, gettext(text)) for word, text in ALLOCATION_STATES],
        "node_states": [(word, gettext(text)) for word, text in NODE_STATES],
        "triggers": sorted((str(key), gettext(text)) for key, text in TRIGGER_WORDS.items()),
    }
