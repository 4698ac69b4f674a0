"""What `up` shows: the welcome once the web server answers, then a live table of process health.

On a terminal the table is redrawn in place; elsewhere each change is one plain line.
"""

import asyncio
import contextlib
import shutil
import sys
from collections.abc import Callable, Sequence

import httpx

from cluster.runtime.child_process import ChildProcess
from cluster.runtime.embedded import write_private
from cluster.runtime.welcome import Welcome

REFRESH_S = 1.0


class HealthTable:
    """Draws the state of the children until told to stop."""

    def __init__(
        self, children: Sequence[ChildProcess], welcome: Welcome, write: Callable[[str], None]
    ) -> None:
        self.children = children
        self.welcome = welcome
        self.write = write
        self.is_terminal = sys.stdout.isatty()
        self._drawn_lines = 0
        self._last: dict[str, str] = {}

    async def run(self, stopping: asyncio.Event) -> None:
        """Redraw each second, or at each change where there is no terminal."""
        answered = False
        async with httpx.AsyncClient(timeout=2, trust_env=False) as client:
            while not stopping.is_set():
                if not answered and await self._web_answers(client):
                    answered = True
                    self._welcome()
                if self.is_terminal and answered:
                    self._redraw()
                else:
                    self._plain()
                await _pause(stopping, REFRESH_S if answered else 0.1)

    def _welcome(self) -> None:
        file = self.welcome.link_file
        if self.is_terminal:
            file.unlink(missing_ok=True)
        else:
            write_private(file, f"{self.welcome.login_link}\n")
        for line in self.welcome.lines(is_terminal=self.is_terminal):
            self.write(line)

    async def _web_answers(self, client: httpx.AsyncClient) -> bool:
        try:
            answer = await client.get(f"{self.welcome.address}/v1/status/leader")
        except httpx.HTTPError:
            return False
        return answer.status_code < 500

    def _redraw(self) -> None:
        width = shutil.get_terminal_size().columns
        rows = [f"{'PROCESS':<10}{'STATE':<12}{'PID':>8}{'UP':>10}{'RESTARTS':>10}  REASON"]
        rows.extend(
            f"{child.name:<10}{child.state:<12}{child.pid or '':>8}"
            f"{_span(child.uptime_s):>10}{child.restart_count:>10}  {child.reason}"
            for child in self.children
        )
        if self._drawn_lines:
            sys.stdout.write(f"\x1b[{self._drawn_lines}F\x1b[J")
        sys.stdout.write("\n".join(row[: width - 1] for row in rows) + "\n")
        sys.stdout.flush()
        self._drawn_lines = len(rows)

    def _plain(self) -> None:
        for child in self.children:
            line = f"{child.name}: {child.state}"
            if child.pid:
                line += f" (process {child.pid})"
            if child.reason and child.state != "running":
                line += f" - {child.reason}"
            if self._last.get(child.name) != line:
                self._last[child.name] = line
                if not self.is_terminal:
                    self.write(line)


def _span(seconds: float) -> str:
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


async def _pause(stopping: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stopping.wait()
