"""Which process started which, taken in one pass for all tasks of a node."""

import psutil


class ProcessTable:
    """The processes of this machine at one moment."""

    def __init__(self) -> None:
        self._children: dict[int, list[int]] = {}
        # The library keeps its objects from one pass to the next.
        for process in psutil.process_iter(["ppid"]):
            self._children.setdefault(process.info["ppid"], []).append(process.pid)

    def below(self, pid: int) -> list[int]:
        """The children of a process, their children, and so on; not itself."""
        found: list[int] = []
        waiting = [pid]
        while waiting:
            children = self._children.get(waiting.pop(), [])
            found += children
            waiting += children
        return found
