"""Writes one stream of a task into numbered files and keeps the newest ones (node-agent.md 12.2).

Standard library only: the small process beside each task imports it. Numbers only grow; a writer
that starts again goes on with the highest one.
"""

import os
from pathlib import Path

#: How far back a line end is looked for, so that a line is not cut in two files.
LINE_WINDOW = 32 * 1024


class RotatingLog:
    """`<directory>/<name>.<number>`, each at most `max_bytes` long."""

    def __init__(self, directory: Path, name: str, max_files: int, max_bytes: int) -> None:
        self.directory = directory
        self.name = name
        self.max_files = max(1, max_files)
        self.max_bytes = max(1, max_bytes)
        numbers = log_numbers(directory, name)
        self.number = numbers[-1] if numbers else 0
        self._file = self._open()
        self._size = os.fstat(self._file).st_size

    def write(self, data: bytes) -> None:
        """Append, starting new files as needed. What is written is in the file at once."""
        while data:
            room = self.max_bytes - self._size
            if len(data) <= room:
                self._append(data)
                return
            cut = _line_end(data[:room]) if room > 0 else 0
            if cut < 0:
                # A file that already ends a line takes no piece of a longer one.
                cut = 0 if self._size and self._ends_line() and room < LINE_WINDOW else room
            self._append(data[:cut])
            data = data[cut:]
            self._rotate()

    def close(self) -> None:
        """Close the current file."""
        os.close(self._file)

    def _append(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            written = os.write(self._file, view)
            self._size += written
            view = view[written:]

    def _rotate(self) -> None:
        os.close(self._file)
        self.number += 1
        self._file = self._open()
        self._size = os.fstat(self._file).st_size
        for number in log_numbers(self.directory, self.name):
            if number <= self.number - self.max_files:
                self._path(number).unlink(missing_ok=True)

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        return os.open(self._path(self.number), flags, 0o644)

    def _path(self, number: int) -> Path:
        return self.directory / f"{self.name}.{number}"

    def _ends_line(self) -> bool:
        return os.pread(self._file, 1, self._size - 1) == b"\n"


def log_numbers(directory: Path, name: str) -> list[int]:
    """The numbers of a stream's files, oldest first."""
    if not directory.is_dir():
        return []
    ends = (path.name.removeprefix(f"{name}.") for path in directory.glob(f"{name}.*"))
    return sorted(int(end) for end in ends if end.isdecimal())


def _line_end(data: bytes) -> int:
    """Where the last line within the window ends; -1 when none does."""
    found = data.rfind(b"\n", max(0, len(data) - LINE_WINDOW))
    return found + 1 if found >= 0 else -1
