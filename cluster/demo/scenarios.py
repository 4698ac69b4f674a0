"""What can be let happen in a demo: names, titles, what there is to see and where.

Values only, for pages and commands; `scenes` carries them out.
"""

from typing import NamedTuple


class DemoScenario(NamedTuple):
    """One thing that is let happen."""

    #: As `manage.py demo` takes it.
    name: str
    #: On its button.
    title: str
    #: One sentence: what happens then.
    shows: str
    #: The page to watch it on.
    path: str


SCENARIOS = (
    DemoScenario(
        "fits",
        "A job that fits",
        "Twelve allocations find their nodes at once, four on each rack.",
        "/jobs/default/demo-fits/",
    ),
    DemoScenario(
        "blocked",
        "Blocked by memory",
        "Three allocations want more memory than any node has: they wait, and the page says why.",
        "/jobs/default/demo-blocked/",
    ),
    DemoScenario(
        "canary",
        "A rollout that fails",
        "Two canaries of a broken version fail; the job goes back to the one before by itself.",
        "/jobs/default/demo-canary/",
    ),
    DemoScenario(
        "silent",
        "A missed heartbeat",
        "A node with work falls silent: it counts as lost, its allocations move, it comes back.",
        "/nodes/",
    ),
    DemoScenario(
        "flapping",
        "Two flapping nodes",
        "Two nodes go and come back twice; each time all that ran there is looked at again.",
        "/nodes/",
    ),
    DemoScenario(
        "preemption",
        "Preemption",
        "An urgent system job evicts what fills rack r2; the evicted wait for room.",
        "/jobs/default/demo-urgent/",
    ),
    DemoScenario(
        "conflict",
        "A plan conflict",
        "Ten jobs want the room of one node at the same moment: two get it, the others wait, and"
        " where two workers decided at once a plan is refused.",
        "/evaluations/",
    ),
    DemoScenario(
        "drain",
        "A drain at capacity",
        "Two nodes of rack r3 are drained while its job fills the rack: what leaves the first"
        " finds no place, so what is on the second stays.",
        "/drains/",
    ),
    DemoScenario(
        "storm",
        "A storm",
        "The whole fleet goes and comes back beside many system jobs: thousands of evaluations.",
        "/",
    ),
    DemoScenario(
        "clear",
        "Clear up",
        "Purges every job of the demo, ends its drains and brings every node back.",
        "/",
    ),
)

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
