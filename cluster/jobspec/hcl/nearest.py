"""The known name that an unknown one was probably meant to be.

In: a name and the names there are. Out: a question for the author, or nothing. Knows no language.
"""

from collections.abc import Iterable

_LARGEST_DISTANCE = 2
_LONGEST_NAME = 64


def nearest(name: str, known: Iterable[str]) -> str:
    """` Did you mean "x"?`, or an empty text if no name comes near."""
    if len(name) > _LONGEST_NAME:
        return ""
    near = [(distance(name, each), each) for each in known]
    close = [pair for pair in near if pair[0] <= _LARGEST_DISTANCE]
    return f' Did you mean "{min(close)[1]}"?' if close else ""


def distance(left: str, right: str) -> int:
    """How many letters to insert, remove or change to make one of the other (Levenshtein)."""
    if abs(len(left) - len(right)) > _LARGEST_DISTANCE:
        return _LARGEST_DISTANCE + 1
    row = list(range(len(right) + 1))
    for count, letter in enumerate(left, start=1):
        before = row
        row = [count]
        for position, other in enumerate(right):
            changed = before[position] + (letter != other)
            row.append(min(changed, before[position + 1] + 1, row[position] + 1))
    return row[-1]
