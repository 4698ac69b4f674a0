"""Writes one stream of a task into numbered files and keeps the newest ones (node-agent.md 12.2).

Standard library only: the small process beside each task imports it. Numbers only grow; a writer
that starts again goes on with the highest one.
"""

import contextlib
import os
from pathlib import Path

from cluster.agent.own_places import is_plain, open_directory

#: How far back a line end is looked for, so that a line is not cut in two files.
LINE_WINDOW = 32 * 1024


class RotatingLog:
    """`<directory>/<name>.<number>`, each at most `max_bytes` long."""

    def __init__(self, directory: Path, name: str, max_files: int, max_bytes: int) -> None:
        self.name = name
        self.max_files = max(1, max_files)
        self.max_bytes = max(1, max_bytes)
        # A task may put another one in its place.
        self._directory = open_directory(directory)
        numbers = log_numbers(self._directory, name)
        self.number = numbers[-1] if numbers else 0
        self._file = self._open(self.number)
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
        os.close(self._directory)

    def _append(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            written = os.write(self._file, view)
            self._size += written
            view = view[written:]

    def _rotate(self) -> None:
        # Where there is no room for another file, the one of before stays the current one.
        opened = self._open(self.number + 1)
        os.close(self._file)
        self._file = opened
        self.number += 1
        self._size = os.fstat(opened).st_size
        for number in log_numbers(self._directory, self.name):
            if number <= self.number - self.max_files:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._name(number), dir_fd=self._directory)

    def _open(self, number: int) -> int:
        """That file, to go on with; what is no file of ours is replaced. Raises OSError."""
        name = self._name(number)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        with contextlib.suppress(FileNotFoundError):
            if not is_plain(os.stat(name, dir_fd=self._directory, follow_symlinks=False)):
                os.unlink(name, dir_fd=self._directory)
        opened = os.open(name, flags | os.O_NOFOLLOW, 0o644, dir_fd=self._directory)
        if is_plain(os.fstat(opened)):
            return opened
        os.close(opened)
        raise FileExistsError(f"something else lies at alloc/logs/{name}")

    def _name(self, number: int) -> str:
        return f"{self.name}.{number}"

    def _ends_line(self) -> bool:
        return os.pread(self._file, 1, self._size - 1) == b"\n"


def log_numbers(directory: Path | int, name: str) -> list[int]:
    """The numbers of a stream's files, oldest first; none where there is no such directory."""
    try:
        with os.scandir(directory) as entries:
            found = [entry.name for entry in entries]
    except OSError:
        return []
    ends = (each.removeprefix(f"{name}.") for each in found if each.startswith(f"{name}."))
    return sorted(int(end) for end in ends if end.isdecimal())


def _line_end(data: bytes) -> int:
    """Where the last line within the window ends; -1 when none does."""
    found = data.rfind(b"\n", max(0, len(data) - LINE_WINDOW))
    return found + 1 if found >= 0 else -1
