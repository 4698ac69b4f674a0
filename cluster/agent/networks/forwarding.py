"""Lets packets through to the bridge, whatever the machine's own rules for forwarding say.

A chain that the plugin `firewall` looks through first, with one rule for each bridge. Both stay
when the last allocation has gone, as the bridge does.
"""

import os
import shlex
import subprocess
import threading

from cluster.agent.networks.cni import CniError, with_system_programs
from cluster.agent.networks.lists import ADMIN_CHAIN, NetworkSettings

_TIMEOUT_S = 30.0
#: Two that look for the rule at the same time would both add it.
_one_at_a_time = threading.Lock()


def let_through(settings: NetworkSettings) -> None:
    """Make the chain and its rule, where they are missing. Raises CniError."""
    rule = [ADMIN_CHAIN, "-o", settings.bridge_name, "-d", settings.bridge_subnet, "-j", "ACCEPT"]
    try:
        with _one_at_a_time:
            if iptables("-S", ADMIN_CHAIN):
                _require(iptables("-N", ADMIN_CHAIN))
            if iptables("-C", *rule):
                _require(iptables("-A", *rule))
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise CniError(f"failed to initialize table forwarding rules: {problem}") from problem


def forget_masquerade(container_id: str) -> None:
    """Remove rules that the plugin `bridge` leaves behind where the namespace is gone already."""
    try:
        rules = _run("-t", "nat", "-S", "POSTROUTING").stdout.splitlines()
        for rule in rules:
            words = shlex.split(rule)
            if any(f'id: "{container_id}"' in word for word in words) and "-j" in words:
                chain = words[words.index("-j") + 1]
                iptables("-t", "nat", "-D", *words[1:])
                if chain.startswith("CNI-"):
                    iptables("-t", "nat", "-F", chain)
                    iptables("-t", "nat", "-X", chain)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise CniError(f"iptables: {problem}") from problem


def iptables(*words: str) -> str:
    """Change a table, `filter` unless another is named; what is wrong, "" where nothing is.

    Raises OSError.
    """
    done = _run(*words)
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    path = with_system_programs(os.environ.get("PATH", os.defpath))
    return subprocess.run(  # noqa: S603 - our own words
        ["iptables", "-w", "10", *words],  # noqa: S607 - as the plugins find it
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={"PATH": path},
        timeout=_TIMEOUT_S,
        check=False,
    )


def _require(problem: str) -> None:
    if problem:
        raise CniError(f"failed to initialize table forwarding rules: {problem}")
