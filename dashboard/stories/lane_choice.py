"""Which lanes a story is drawn in, and which fold is open: what its address and its topic say."""

from typing import NamedTuple, Self

#: By where nodes stand, instead of by how badly jobs are off.
BY_PLACE = "place"


class LaneChoice(NamedTuple):
    """How the lanes of a story are chosen."""

    opened: str = ""
    by: str = ""

    @property
    def text(self) -> str:
        """As it stands in a topic: `place`, `place/<fold>`, `<fold>`."""
        return "/".join(part for part in (self.by, self.opened) if part)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The inverse of `text`."""
        if text == BY_PLACE or text.startswith(f"{BY_PLACE}/"):
            return cls(text.partition("/")[2], BY_PLACE)
        return cls(text)


BY_HARM = LaneChoice()
