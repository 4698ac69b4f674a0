"""Lets packets through to the bridge, whatever the machine's own rules for forwarding say.

A chain that the plugin `firewall` looks through first, with one rule for each bridge. Both stay
when the last allocation has gone, as the bridge does.
"""

import os
import shlex
import subprocess
import threading
from collections.abc import Iterable

from cluster.agent.networks.cni import CniError, with_system_programs
from cluster.agent.networks.lists import ADMIN_CHAIN, NetworkSettings, subnets

#: Who changes the rules for either kind of address, as the plugins find it.
IPV4, IPV6 = "iptables", "ip6tables"
_TIMEOUT_S = 30.0
#: Two that look for the rule at the same time would both add it.
_one_at_a_time = threading.Lock()


def let_through(settings: NetworkSettings) -> None:
    """Make the chain and its rule, where they are missing. Raises CniError."""
    try:
        with _one_at_a_time:
            for subnet, _ in subnets(settings):
                program = IPV6 if ":" in subnet else IPV4
                rule = (ADMIN_CHAIN, "-o", settings.bridge_name, "-d", subnet, "-j", "ACCEPT")
                if iptables("-S", ADMIN_CHAIN, program=program):
                    _require(iptables("-N", ADMIN_CHAIN, program=program))
                if iptables("-C", *rule, program=program):
                    _require(iptables("-A", *rule, program=program))
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise CniError(f"failed to initialize table forwarding rules: {problem}") from problem


def forget_masquerade(container_id: str, programs: Iterable[str] = (IPV4,)) -> None:
    """Remove rules that the plugin `bridge` leaves behind where the namespace is gone already."""
    try:
        for program in programs:
            _forget_masquerade(container_id, program)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise CniError(f"iptables: {problem}") from problem


def _forget_masquerade(container_id: str, program: str) -> None:
    def change(*words: str) -> None:
        iptables("-t", "nat", *words, program=program)

    for rule in _run(program, "-t", "nat", "-S", "POSTROUTING").stdout.splitlines():
        words = shlex.split(rule)
        if any(f'id: "{container_id}"' in word for word in words) and "-j" in words:
            chain = words[words.index("-j") + 1]
            change("-D", *words[1:])
            if chain.startswith("CNI-"):
                change("-F", chain)
                change("-X", chain)


def iptables(*words: str, program: str = IPV4) -> str:
    """Change a table, `filter` unless another is named; what is wrong, "" where nothing is.

    Raises OSError.
    """
    done = _run(program, *words)
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"


def _run(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    path = with_system_programs(os.environ.get("PATH", os.defpath))
    return subprocess.run(  # noqa: S603 - our own words
        [program, "-w", "10", *words],
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
