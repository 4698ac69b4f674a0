"""Time that moves only when told to, and identifiers that count up."""

from dataclasses import dataclass

from scheduler.structs.moment import Moment

SECOND = 1_000_000_000
#: A moment in 2025 at which simulations begin unless told otherwise.
BEGIN = 1_750_000_000 * SECOND


@dataclass
class VirtualClock:
    """`scheduler.ports.Clock`; the wall clock and the one that never jumps move together."""

    wall: int = BEGIN
    seconds: float = 1_000.0

    def now(self) -> int:
        return self.wall

    def monotonic(self) -> float:
        return self.seconds

    def moment(self) -> Moment:
        return Moment(self.wall, self.seconds)

    def advance(self, seconds: float) -> None:
        self.seconds += seconds
        self.wall += round(seconds * SECOND)

    def jump(self, seconds: float) -> None:
        """Somebody set the wall clock; nothing else moves."""
        self.wall += round(seconds * SECOND)


@dataclass
class CountedIDs:
    """`scheduler.ports.IDSource`: 00000000-0000-0000-0000-000000000001 and so on."""

    issued: int = 0
    #: Tells several sources apart; hexadecimal, at most eight digits.
    prefix: str = "0"

    def next_id(self) -> str:
        self.issued += 1
        return f"{self.prefix:0>8}-0000-0000-0000-{self.issued:012x}"
