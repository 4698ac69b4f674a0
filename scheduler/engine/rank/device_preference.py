"""How well the devices that a node would give match what the tasks prefer (placement.md 9.2)."""

import numpy as np

from scheduler.engine.rank.room import Room
from scheduler.state.node_table import Floats

NAME = "devices"


class DevicePreference:
    """The matched share of the weights of all affinities of the requests, -1 to 1."""

    name = NAME

    def __init__(self, room: Room) -> None:
        self._room = room

    def column(self) -> Floats:
        """The share by row; NaN where no request has affinities."""
        total = self._room.device_total
        shares: Floats = np.full(total.shape, np.nan)
        np.divide(self._room.device_matched, total, out=shares, where=total != 0)
        return shares

    def row(self, row: int) -> float | None:
        """The share of one row; None when no request has affinities."""
        total = self._room.device_total[row]
        return float(self._room.device_matched[row] / total) if total else None
