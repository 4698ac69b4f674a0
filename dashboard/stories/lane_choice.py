"""How a story is drawn: by which lanes, with which fold open and which evaluation chosen.

Said by its address and by its topic.
"""

from typing import NamedTuple, Self

#: By where nodes stand, instead of by how badly jobs are off.
BY_PLACE = "place"
#: The evaluation that has waited longest, else the newest that failed.
WORST = "worst"
_CHOSEN = "eval:"


class LaneChoice(NamedTuple):
    """How the lanes of a story are chosen, and what of it is told beside the drawing."""

    opened: str = ""
    by: str = ""
    #: The id of an evaluation, or `WORST`; "" for none.
    chosen: str = WORST

    @property
    def text(self) -> str:
        """As it stands in a topic: `place`, `eval:<id>` and `<fold>`, what there is, in order."""
        named = "" if self.chosen in ("", WORST) else f"{_CHOSEN}{self.chosen}"
        return "/".join(part for part in (self.by, named, self.opened) if part)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The inverse of `text`, of what a page chose."""
        by, chosen = "", WORST
        if text == BY_PLACE or text.startswith(f"{BY_PLACE}/"):
            by, text = BY_PLACE, text.partition("/")[2]
        if text.startswith(_CHOSEN):
            named, _, text = text.removeprefix(_CHOSEN).partition("/")
            chosen = named or WORST
        return cls(text, by, chosen)


#: As a file has it: nothing is told beside the drawing.
BY_HARM = LaneChoice(chosen="")
