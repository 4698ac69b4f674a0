"""A tree of things wrong with a job, as the checks find them.

In: messages with the field they concern, and subtrees under a heading. Out: one nested text for
each entry of the top, or every leaf with its own path. Knows nothing of jobs.
"""

from collections.abc import Iterator

from cluster.jobspec.problems import Problem, error_text


class Findings:
    """What is wrong with one object at `path`."""

    def __init__(self, path: str = "") -> None:
        self.path = path
        self._entries: list[tuple[str, str, Findings | None]] = []

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, message: str, field: str = "") -> None:
        """A fault of this object, or of the field of it that is named."""
        self._entries.append((message, field, None))

    def below(self, field: str) -> "Findings":
        """An empty tree for a part of this object; hand it back with `nest`."""
        return Findings(self._path_of(field))

    def nest(self, part: "Findings", heading: str = "", *, closing: str = "") -> None:
        """Take a part's faults under a heading; a part without faults leaves no trace."""
        if part:
            self._entries.append((heading, closing, part))

    def take(self, part: "Findings") -> None:
        """Take a part's faults as this object's own."""
        self._entries.extend(
            (text, field, inner)
            if inner or part.path == self.path
            else (text, _relative(part, field, self), None)
            for text, field, inner in part._entries
        )

    def messages(self) -> list[str]:
        """The text of each entry, parts in the multi-error form."""
        return [
            text if inner is None else text + error_text(inner.messages()) + field
            for text, field, inner in self._entries
        ]

    def problems(self) -> list[Problem]:
        """One problem for each entry at the top, nested texts within."""
        places = [
            self._path_of(field) if inner is None else inner.path
            for _, field, inner in self._entries
        ]
        return [Problem(path, text) for path, text in zip(places, self.messages(), strict=True)]

    def leaves(self) -> Iterator[Problem]:
        """Every single fault at its own path."""
        for text, field, inner in self._entries:
            if inner is None:
                yield Problem(self._path_of(field), text)
            else:
                yield from inner.leaves()

    def _path_of(self, field: str) -> str:
        if not field or not self.path or field.startswith("["):
            return self.path + field
        return f"{self.path}.{field}"


def _relative(part: Findings, field: str, whole: Findings) -> str:
    path = part._path_of(field)
    return path.removeprefix(whole.path).removeprefix(".")
