"""Where in a JSON text a value stands.

In: a JSON text that parses, and the way to a value. Out: line and column of the value's first
character. Read only when there is something to complain about; names match without regard to
case, the last wins.
"""

import re
from bisect import bisect_right

from cluster.jobspec.request_form import Place, Steps

_TOKEN = re.compile(
    r'[\s,:]*(?:(?P<open>[{\[])|(?P<close>[}\]])|(?P<text>"(?:[^"\\]|\\.)*")|(?P<word>[^\s,:{}\[\]"]+))'
)


class Places:
    """The places of all values of one text."""

    def __init__(self, text: str) -> None:
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._offsets: dict[tuple[str | int, ...], int] = {}
        self._walk(text)

    def of(self, steps: Steps) -> Place:
        """1-based line and column.

        Of the nearest known surrounding value where the way ends early.
        """
        key = tuple(step.casefold() if isinstance(step, str) else step for step in steps)
        while key and key not in self._offsets:
            key = key[:-1]
        offset = self._offsets.get(key)
        if offset is None:
            return None, None
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def _walk(self, text: str) -> None:
        way: list[str | int] = []
        expects_name: list[bool] = []
        for match in _TOKEN.finditer(text):
            if match["close"]:
                if not way:
                    return
                way.pop()
                expects_name.pop()
                self._after_value(way, expects_name)
                continue
            if expects_name and expects_name[-1] and match["text"]:
                way[-1] = _name(match["text"])
                expects_name[-1] = False
                continue
            start = match.start("open") if match["open"] else match.start(match.lastgroup or 0)
            self._offsets[tuple(way)] = start
            if match["open"]:
                way.append("" if match["open"] == "{" else 0)
                expects_name.append(match["open"] == "{")
            else:
                self._after_value(way, expects_name)

    def _after_value(self, way: list[str | int], expects_name: list[bool]) -> None:
        if not way:
            return
        last = way[-1]
        if isinstance(last, int):
            way[-1] = last + 1
        else:
            expects_name[-1] = True


def _name(quoted: str) -> str:
    return quoted[1:-1].casefold()


def places(text: str) -> Places:
    """The places of a text."""
    return Places(text)
