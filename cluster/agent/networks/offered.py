"""Which networks beside the host's a node offers, and why not (node-agent-2.md 8.1, 12).

In: the owner's settings, this machine. Out: attributes and networks of a Node. A mode is offered
once its plugins have really made such a network here, so that no group is placed only to fail.
"""

import functools
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from cluster.agent.drivers.small_process import own_environment
from cluster.agent.networks.cni import Plugins
from cluster.agent.networks.lists import BRIDGE_PLUGINS, CNI_MODE, NetworkSettings, lists_in
from scheduler.structs.network import NetworkResource

_PROBE = ("-m", "cluster.agent.networks.probe")
_PROBE_TIMEOUT_S = 120.0
#: Says `ready`, or what is missing. Told apart by no constraint: machines lack different things.
WHY = "unique.bivouac.network.bridge"
READY = "ready"
#: Names of plugins, and when each was written.
_Marks = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Offered:
    """What is said of a node."""

    attributes: dict[str, str]
    networks: tuple[NetworkResource, ...]


def offered_networks(settings: NetworkSettings) -> Offered:
    """Look at this machine; what was tried is not tried again while the plugins are the same."""
    plugins = Plugins(settings.plugin_directories)
    marks = _marks(plugins)
    attributes = dict(_versions(settings.plugin_directories, marks))
    why = _why_no_bridge(plugins, marks, has_ipv6=bool(settings.bridge_subnet_ipv6))
    attributes[WHY] = why or READY
    networks = []
    if not why:
        attributes["nomad.bridge.hairpin_mode"] = "true" if settings.hairpin else "false"
        networks.append(NetworkResource(mode="bridge"))
    if why_no_namespaces() == "":
        names = lists_in(settings.list_directory)
        networks += [NetworkResource(mode=f"{CNI_MODE}{name}") for name in sorted(names)]
    return Offered(attributes, tuple(networks))


def why_no_namespaces() -> str:
    """What keeps this agent from giving allocations a network of their own; "": nothing."""
    if sys.platform != "linux":
        return "networks of allocations need Linux"
    return "" if os.geteuid() == 0 else "the agent is not root"


def _why_no_bridge(plugins: Plugins, marks: _Marks, *, has_ipv6: bool) -> str:
    if why := why_no_namespaces():
        return why
    missing = [name for name in BRIDGE_PLUGINS if name not in plugins.names()]
    if missing:
        places = ":".join(map(str, plugins.directories))
        which = ", ".join(missing)
        return f"missing in {places}: CNI plugin{'s' if len(missing) > 1 else ''} {which}"
    return _tried(plugins.directories, marks, has_ipv6=has_ipv6)


@functools.lru_cache(maxsize=8)
def _tried(directories: tuple[Path, ...], _marks: _Marks, *, has_ipv6: bool) -> str:
    """What a bridge of these plugins fails with on this machine; "" where it works."""
    try:
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, *_PROBE, ":".join(map(str, directories)), *["ipv6"][:has_ipv6]],
            env=own_environment(),
            capture_output=True,
            text=True,
            timeout=_PROBE_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    if done.returncode == 0:
        return ""
    last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    return done.stdout.strip() or last


@functools.lru_cache(maxsize=8)
def _versions(directories: tuple[Path, ...], marks: _Marks) -> tuple[tuple[str, str], ...]:
    plugins = Plugins(directories)
    told = [(name, plugins.version(name)) for name, _ in marks]
    return tuple((f"plugins.cni.version.{name}", text) for name, text in told if text)


def _marks(plugins: Plugins) -> _Marks:
    """Every plugin, and when it was last written."""
    return tuple((name, plugins.find(name).stat().st_mtime_ns) for name in plugins.names())
