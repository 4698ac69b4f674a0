"""How many files and connections a process may hold: raised as far as it may be.

In: nothing. Out: the limit from now on, and a sentence where it is low for a server.
"""

import resource

#: As much as is ever asked for: some programs keep a table of this length.
WANTED = 65_536
#: Below this a server that many people and agents use may come to its end.
ENOUGH = 4_096
#: What a web process holds beside connections: files of the record, sockets of its own.
_OWN = 100


def raise_file_limit() -> int:
    """Raise the soft limit to the hard one, at most to `WANTED`; children inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED if hard == resource.RLIM_INFINITY else min(hard, WANTED)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return soft if soft != resource.RLIM_INFINITY else WANTED


def complaint(limit: int) -> str:
    """What a limit that is low means, and how to raise it; empty for one that is enough."""
    if limit >= ENOUGH:
        return ""
    return (
        f"This shell allows {limit} open files, and no more can be had: about"
        f" {max(0, limit - _OWN)} pages and agents at once. Raise it with `ulimit -Hn {ENOUGH}`"
        " or in /etc/security/limits.conf."
    )
