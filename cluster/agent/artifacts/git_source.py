"""One repository, cloned by the host's `git`: over http, https, ssh alone, without submodules."""

import base64
import binascii
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from cluster.agent.artifacts.addresses import reachable_address
from cluster.agent.artifacts.order import ArtifactRefused, FetchOrder

_PORTS = {"http": 80, "https": 443, "ssh": 22}


def clone(order: FetchOrder, into: Path, workplace: Path) -> None:
    """The wanted state of the repository in `into`, history included. Raises ArtifactRefused."""
    git = shutil.which("git")
    if git is None:
        raise ArtifactRefused("git must be available and on the PATH")
    ref, depth = order.options.get("ref", ""), order.options.get("depth", "")
    if ref.startswith("-") or order.url.startswith("-"):
        raise ArtifactRefused("a ref or an address cannot begin with a dash")
    if depth and not (depth.isdecimal() and int(depth) > 0):
        raise ArtifactRefused(f"depth must be a number above 0, not {depth!r}")
    settings, environment = _safe(order, workplace)
    command = [git, *settings, "clone", "--quiet", "--no-recurse-submodules"]
    if depth:
        command += ["--depth", depth]
        command += ["--branch", ref] if ref else []
    _run([*command, "--", order.url, str(into)], environment)
    if ref and not depth:
        inside = [git, *settings, "-C", str(into)]
        _run([*inside, "checkout", "--quiet", ref, "--"], environment)


def _safe(order: FetchOrder, workplace: Path) -> tuple[list[str], dict[str, str]]:
    """Settings and environment under which it asks nobody and runs nothing of the repository."""
    parts = urlsplit(order.url)
    host, private = parts.hostname or "", order.limits.private_addresses
    port = parts.port or _PORTS[parts.scheme]
    address = reachable_address(host, port, private=private)
    settings = {
        "core.hooksPath": "/dev/null",
        "core.symlinks": "true",
        "protocol.allow": "never",
        f"protocol.{parts.scheme}.allow": "always",
        "http.curloptResolve": f"{host}:{port}:{address}",
        # A redirection could lead to where the first address may not.
        "http.followRedirects": "initial" if private else "false",
    }
    if order.insecure:
        settings["http.sslVerify"] = "false"
    ssh = ["ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=accept-new"]
    ssh += ["-o", f"HostName={address}", "-o", f"HostKeyAlias={host}"]
    if key := order.options.get("sshkey"):
        ssh += ["-o", "IdentitiesOnly=yes", "-i", str(_kept_key(key, workplace))]
    environment = {
        **os.environ,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_SSH_COMMAND": " ".join(f"'{part}'" for part in ssh),
    }
    return [text for name, value in settings.items() for text in ("-c", f"{name}={value}")], (
        environment
    )


def _kept_key(encoded: str, workplace: Path) -> Path:
    try:
        key = base64.b64decode(encoded, validate=True)
    except binascii.Error as problem:
        raise ArtifactRefused("sshkey must be base64") from problem
    file = workplace / "key"
    with os.fdopen(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as opened:
        opened.write(key)
    return file


def _run(command: list[str], environment: Mapping[str, str]) -> None:
    done = subprocess.run(  # noqa: S603 - no shell, and the address was looked at
        command, env=dict(environment), capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = [line for line in done.stderr.strip().splitlines() if line.strip()]
        raise ArtifactRefused(f"git exited with {done.returncode}: {' '.join(said[-3:])}")
