"""Faults of nodes: each befalls a real agent with real tasks beside a stack of its own.

Out: figures by fault; a fault that this machine cannot be made to meet is -1, with its reason on
the error stream. Raises WrongCount where a task was lost, doubled or left behind.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from django.conf import settings

from cluster.bench.agent_faults import FAULTS, Skipped
from cluster.bench.agent_remains import require_nothing_left
from cluster.bench.agent_rig import RealAgent, Rig
from cluster.bench.scenario import Figures, Options, WrongCount
from cluster.bench.stack import Stack

#: Short, so that a silent node is missed soon.
SILENCE = {"BIVOUAC_MIN_HEARTBEAT_TTL": "1", "BIVOUAC_HEARTBEAT_GRACE": "4"}
_NAMESPACE, _OUTSIDE = "bivouac-chaos", "bivouac-out"
_INSIDE = ("ip", "netns", "exec", _NAMESPACE)
_SERVER, _AGENT = "10.213.77.1", "10.213.77.2"


def run(options: Options) -> Figures:
    """Every fault, or the one named by `only`. Raises WrongCount."""
    if options.only and options.only not in FAULTS:
        raise WrongCount(f"no fault {options.only}: there are {', '.join(FAULTS)}")
    figures: Figures = {}
    for name in [options.only] if options.only else FAULTS:
        try:
            found = befall(name, options.scale)
        except Skipped as why:
            sys.stderr.write(f"{name}: not tried: {why}\n")
            found = {"tried": -1.0}
        figures |= {f"{name}_{key}": value for key, value in found.items()}
    return figures


def befall(name: str, scale: float) -> Figures:
    """One fault, and that its tasks leave nothing behind. Raises WrongCount and Skipped."""
    with surroundings(name) as made:
        found = FAULTS[name](made, scale)
        require_nothing_left(made)
        return found


@contextlib.contextmanager
def surroundings(name: str) -> Iterator[Rig]:
    """The stack and the agent that a fault wants. Raises Skipped."""
    with contextlib.ExitStack() as stack:
        wanted: dict[str, Any] = {}
        environment = dict(SILENCE) if name == "partition" else {}
        if name == "disk":
            wanted["directory"] = stack.enter_context(_small_disk())
        if name == "partition":
            stack.enter_context(_network())
            wanted |= {"prefix": _INSIDE, "beside": _relays}
        yield stack.enter_context(_rig(environment, f"chaos-{name}", **wanted))


@contextlib.contextmanager
def _rig(
    environment: dict[str, str],
    name: str,
    *,
    beside: Callable[[int], AbstractContextManager[None]] = lambda _port: nullcontext(),
    **agent: Any,
) -> Iterator[Rig]:
    """A stack with one ready agent; nothing is left of it.

    `beside` is entered with the port of the stack, `agent` are words of RealAgent.
    """
    with Stack(environment=environment) as stack, beside(stack.port):
        real = RealAgent(stack, name, **agent)
        made = Rig(stack, real)
        real.start()
        try:
            made.ready()
            yield made
        finally:
            made.close()
            shutil.rmtree(real.directory, ignore_errors=True)


@contextlib.contextmanager
def _relays(port: int) -> Iterator[None]:
    """The loopback inside leads over the link to the loopback outside."""
    relay = [sys.executable, "-m", "cluster.bench.relay"]
    with contextlib.ExitStack() as stack:
        for command in (
            [*relay, _SERVER, "127.0.0.1", str(port)],
            [*_INSIDE, *relay, "127.0.0.1", _SERVER, str(port)],
        ):
            process = stack.enter_context(
                subprocess.Popen(command, cwd=settings.BASE_DIR)  # noqa: S603 - our own program
            )
            stack.callback(process.kill)
        yield


@contextlib.contextmanager
def _small_disk() -> Iterator[Path]:
    if os.geteuid() != 0:
        raise Skipped("only root can mount a small disk")
    with tempfile.TemporaryDirectory(prefix="bivouac-disk-") as place:
        _run("mount", "-t", "tmpfs", "-o", "size=16m", "none", place)
        try:
            yield Path(place) / "agent"
        finally:
            subprocess.run(["umount", "-l", place], check=False)  # noqa: S603, S607 - ours


@contextlib.contextmanager
def _network() -> Iterator[None]:
    """A network namespace with one link to this machine."""
    if os.geteuid() != 0:
        raise Skipped("only root can make a network namespace")
    _run("ip", "netns", "add", _NAMESPACE)
    try:
        _run("ip", "link", "add", _OUTSIDE, "type", "veth", "peer", "name", "inside",
             "netns", _NAMESPACE)  # fmt: skip
        _run("ip", "addr", "add", f"{_SERVER}/30", "dev", _OUTSIDE)
        _run("ip", "link", "set", _OUTSIDE, "up")
        _run("ip", "-n", _NAMESPACE, "addr", "add", f"{_AGENT}/30", "dev", "inside")
        for link in ("inside", "lo"):
            _run("ip", "-n", _NAMESPACE, "link", "set", link, "up")
        yield
    finally:
        subprocess.run(["ip", "netns", "del", _NAMESPACE], check=False)  # noqa: S603, S607 - ours
        subprocess.run(["ip", "link", "del", _OUTSIDE], check=False, capture_output=True)  # noqa: S603, S607 - ours


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - ours
    except (OSError, subprocess.CalledProcessError) as problem:
        raise Skipped(f"`{' '.join(command)}` does not work here: {problem}") from problem
