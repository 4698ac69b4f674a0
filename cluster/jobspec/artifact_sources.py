"""How the source of an artifact says what reads it: `https://...`, `git::...`, `s3::...`.

In: a source as a job has it. Out: the name of its getter. One place for planning and for nodes.
"""

import re
from urllib.parse import urlsplit

#: What sources are read here; the reference reads `hg`, `s3` and `gcs` too.
SCHEMES = ("http", "https", "git")
#: Repositories there may be written without a scheme.
REPOSITORY_HOSTS = ("github.com/", "gitlab.com/", "bitbucket.org/")
_FORCED = re.compile(r"^([A-Za-z0-9]+)::(.+)$", re.DOTALL)
_BY_SSH = re.compile(r"^[\w.-]+@[\w.-]+:(?!//).+$")


def forced_getter(source: str) -> tuple[str, str]:
    """`("git", "https://x")` for `git::https://x`; ("", source) where nothing is forced."""
    forced = _FORCED.match(source)
    return (forced[1].lower(), forced[2]) if forced else ("", source)


def is_by_ssh(address: str) -> bool:
    """Whether it is written as ssh's own tools have it: `git@host:owner/name`."""
    return _BY_SSH.match(address) is not None


def getter_of(source: str) -> str:
    """What would read the source: `http`, `git`, `s3`, ...; "" for one that nothing tells of."""
    getter, address = forced_getter(source)
    if getter:
        return getter
    if address.startswith(REPOSITORY_HOSTS) or is_by_ssh(address):
        return "git"
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    scheme = parts.scheme.lower()
    is_repository = parts.path.partition("//")[0].endswith(".git")
    if scheme == "ssh" or (scheme in ("http", "https") and is_repository):
        return "git"
    return scheme


def is_fetched(source: str) -> bool:
    """Whether a node fetches it, as far as can be said before `${...}` in it is filled in."""
    return "${" in source.partition("/")[0] or getter_of(source) in SCHEMES
