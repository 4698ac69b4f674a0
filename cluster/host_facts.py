"""Facts about the machine and the environment of the process that is asked (doors.md 13).

In: nothing. Out: what `GET /v1/agent/host` tells, of a server as of a node's agent, with the
environment's secrets left out.
"""

import contextlib
import os
import platform
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import psutil

_MIB = 1024 * 1024
REDACTED = "<redacted>"
#: What is in a name whose value nobody else is to see.
_SECRET = re.compile(
    r"TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|LICENSE|COOKIE|PRIVATE"
    r"|(?:^|_)(?:KEY|DSN|AUTH|HEADERS)(?:_|$)"
)
#: Names that say less than their value gives away.
_SECRET_NAMES = frozenset({"AWS_METADATA_URL", "DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL"})
_LONGEST_FILE = 64 * 1024


def host_facts() -> dict[str, object]:
    """This machine, as this process sees it; takes as long as its file systems take to answer."""
    return {
        "OS": _system(),
        "Network": list(_addresses()),
        "ResolvConf": _text(Path("/etc/resolv.conf")),
        "Hosts": _text(Path("/etc/hosts")),
        "Environment": redacted(os.environ),
        "Disk": dict(_disks()),
    }


def redacted(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment, with what is secret by its name or by its form left out."""
    return {
        name: REDACTED if _is_secret(name.upper(), value) else value
        for name, value in sorted(environment.items())
    }


def _is_secret(name: str, value: str) -> bool:
    return bool(_SECRET.search(name)) or name in _SECRET_NAMES or _has_password(value)


def _has_password(value: str) -> bool:
    """Whether an address in the value tells how to sign in."""
    for word in value.split():
        with contextlib.suppress(ValueError):
            if "://" in word and "@" in urlsplit(word).netloc:
                return True
    return False


def _system() -> str:
    """What `uname -a` says, without the name of the distribution's build."""
    told = platform.uname()
    return f"{told.system} {told.node} {told.release} {told.version} {told.machine}"


def _addresses() -> Iterator[dict[str, str]]:
    stats = psutil.net_if_stats()
    for name, found in sorted(psutil.net_if_addrs().items()):
        state = "up" if name in stats and stats[name].isup else "down"
        for each in found:
            if each.family != psutil.AF_LINK:
                address = each.address.partition("%")[0]
                mask = each.netmask or ""
                yield {"name": name, "address": address, "netmask": mask, "state": state}


def _disks() -> Iterator[tuple[str, dict[str, int]]]:
    """Of each file system on a device, where it is mounted, MiB in all and in use."""
    for each in psutil.disk_partitions(all=False):
        with contextlib.suppress(OSError):
            told = psutil.disk_usage(each.mountpoint)
            size = {"DiskMB": told.total // _MIB, "UsedMB": told.used // _MIB}
            yield each.mountpoint, size


def _text(file: Path) -> str:
    with contextlib.suppress(OSError), file.open("rb") as opened:
        return opened.read(_LONGEST_FILE).decode(errors="replace")
    return ""
