"""The file that stands for `/etc/resolv.conf` where a job or a plugin says who resolves names.

In: a task's directories, what was said. Out: the file, or None: the task has the host's.
"""

from pathlib import Path

from cluster.agent.drivers.driver import TaskDirectories
from scheduler.structs.network import DNSConfig

_HOST_FILE = Path("/etc/resolv.conf")
_WORDS = {"servers": "nameserver", "searches": "search", "options": "options"}


def resolver_file(directories: TaskDirectories, dns: DNSConfig | None) -> Path | None:
    """Write the task's `resolv.conf` where the task cannot; None: it has the host's."""
    if dns is None:
        return None
    # The task could put a link in the place of a file of its own directory.
    file = directories.private / "resolv.conf"
    file.write_text(resolver_text(dns, host_resolver_lines()))
    file.chmod(0o644)
    return file


def resolver_text(dns: DNSConfig, host_lines: list[str]) -> str:
    """The lines of the file; kinds of lines that the job does not give are those of the host."""
    lines = ["# of the job's block dns"]
    for field, word in _WORDS.items():
        values: tuple[str, ...] = getattr(dns, field)
        if not values:
            lines += [line for line in host_lines if line.split()[:1] == [word]]
        elif field == "servers":
            lines += [f"{word} {value}" for value in values]
        else:
            lines.append(f"{word} {' '.join(values)}")
    return "\n".join(lines) + "\n"


def host_resolver_lines() -> list[str]:
    """Of the host's own file; none where there is none."""
    try:
        return _HOST_FILE.read_text().splitlines()
    except OSError:
        return []
