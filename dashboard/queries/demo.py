"""The demo's scenarios on the page Now, for administrators.

In: what the demo's process says of itself. Out: a row for each scenario.
"""

from typing import Any

from cluster.demo.asking import Presence
from cluster.demo.scenarios import SCENARIOS


def demo_panel(presence: Presence | None) -> dict[str, Any]:
    """The context of `_demo.html`."""
    running = presence.running if presence else ()
    return {
        "is_there": presence is not None,
        "failed": presence.failed if presence else "",
        "scenarios": [
            {"scenario": scenario, "is_running": scenario.name in running}
            for scenario in SCENARIOS
        ],
    }
