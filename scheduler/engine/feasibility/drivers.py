"""Task drivers and secrets providers that a node must offer (placement.md 6.4, 6.5).

In: a FeasibilityAsk. Out: the rows that lack one.
"""

from collections.abc import Iterator

from scheduler.engine.feasibility.check import FeasibilityAsk, RefusedRows
from scheduler.engine.measure.operands import TRUE_TEXTS
from scheduler.state.node_table import Reader
from scheduler.structs.node import Node

_OFFERED = "yes"


class Drivers:
    """Every driver of the group's tasks must be detected and healthy."""

    name = "drivers"

    def refusals(self, ask: FeasibilityAsk) -> Iterator[RefusedRows]:
        """All under one reason, whichever driver it is."""
        for driver in sorted({task.driver for task in ask.group.tasks}):
            column = ask.table.derived_column(f"driver {driver}", _driver_reader(driver))
            yield RefusedRows(~column.equal_to(_OFFERED), "missing drivers")


class Secrets:
    """Every secrets provider of the group's tasks must be installed."""

    name = "secrets providers"

    def refusals(self, ask: FeasibilityAsk) -> Iterator[RefusedRows]:
        """All under one reason, whichever provider it is."""
        providers = {secret.provider for task in ask.group.tasks for secret in task.secrets}
        for provider in sorted(providers):
            column = ask.table.column(f"${{attr.plugins.secrets.{provider}.version}}")
            yield RefusedRows(column.codes < 0, "missing secrets provider")


def _driver_reader(driver: str) -> Reader:
    def read(node: Node) -> str | None:
        reported = node.drivers.get(driver)
        if driver in node.drivers:
            offered = reported is not None and reported.detected and reported.healthy
        else:
            offered = node.attributes.get(f"driver.{driver}") in TRUE_TEXTS
        return _OFFERED if offered else None

    return read
