"""One artifact of a task as it is to be fetched: `${...}` filled in, the source taken apart.

In: an artifact of a job, the task's variables and directories. Out: a `FetchOrder`, which is all
that the process that fetches it is told. Touches no file and no network.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec

from cluster.agent.alloc_directories import place_in
from cluster.agent.drivers.driver import TaskDirectories
from cluster.jobspec.artifact_sources import (
    REPOSITORY_HOSTS,
    SCHEMES,
    forced_getter,
    getter_of,
    is_by_ssh,
)
from scheduler.structs.task_group import Artifact

#: Options that say how to fetch, and are no part of the address.
_OPTIONS = ("checksum", "archive", "filename", "ref", "depth", "sshkey")


class ArtifactRefused(Exception):
    """It cannot be fetched as it is asked for; the text is shown to people."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a node grants to one artifact (node-agent-2.md 3)."""

    #: Seconds for all of it; bytes of one download, and of what is unpacked from it.
    timeout_s: float = 1800.0
    max_size: int = 100_000_000_000
    max_files: int = 4096
    max_unpacked: int = 100_000_000_000
    #: Loopback, link-local and private addresses, where a node's and a cloud's own doors are.
    private_addresses: bool = False


class FetchOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the process that fetches has to know."""

    #: As it is shown to people: without passwords and keys.
    shown: str
    #: One of `cluster.jobspec.artifact_sources.SCHEMES`.
    getter: str
    url: str
    #: The part of the repository or archive that is wanted; "": all of it.
    part: str = ""
    options: dict[str, str] = {}
    headers: dict[str, str] = {}
    mode: str = "any"
    insecure: bool = False
    destination: str
    #: The allocation's directory: nothing is written outside.
    bounds: str
    #: Where it is kept until it is whole and looked through.
    staging: str
    #: Whose it becomes; "" stays the agent's.
    owner: str = ""
    limits: Limits = Limits()

    @property
    def key(self) -> str:
        """Stands for what was asked for, so that nothing is fetched twice for one task."""
        asked = (self.getter, self.url, self.part, self.options, self.headers, self.mode)
        told = msgspec.json.encode((*asked, self.destination), order="deterministic")
        return hashlib.sha256(told).hexdigest()[:32]


def fetch_order(
    artifact: Artifact,
    fill_in: Callable[[str], str],
    directories: TaskDirectories,
    *,
    user: str = "",
    limits: Limits,
) -> FetchOrder:
    """The order for this artifact. Raises ArtifactRefused, naming the source and why."""
    source = fill_in(artifact.getter_source).strip()
    try:
        getter, url, part = _taken_apart(source)
        url, options = _without_options(url)
        options |= {fill_in(k): fill_in(v) for k, v in artifact.getter_options.items()}
        # What is no option of ours goes to the server, as in the reference.
        foreign = {key: options.pop(key) for key in list(options) if key not in _OPTIONS}
        bounds = directories.root.parent
        destination = place_in(directories, fill_in(artifact.relative_dest) or "local/")
        if destination is None:
            raise ArtifactRefused("artifact destination path escapes alloc directory")
        return FetchOrder(
            shown=shown(source),
            getter=getter,
            url=_with_query(url, foreign),
            part=part,
            options=options,
            headers={k: fill_in(v) for k, v in artifact.getter_headers.items()},
            mode=artifact.getter_mode or "any",
            insecure=artifact.getter_insecure,
            destination=str(destination),
            bounds=str(bounds),
            staging="",
            owner=user if artifact.chown else "",
            limits=limits,
        )
    except (ArtifactRefused, ValueError) as problem:
        raise ArtifactRefused(failure(shown(source), str(problem))) from problem


def failure(source: str, why: str) -> str:
    """The sentence of a failed download, as people read it among the task's events."""
    return f'failed to download artifact "{source}": {why}'


def shown(source: str) -> str:
    """The source without the secrets that may stand in it."""
    forced, address = forced_getter(source)
    parts = urlsplit(address)
    place = parts.netloc
    if "@" in place and ":" in place.rpartition("@")[0]:
        user = place.partition(":")[0]
        place = f"{user}:redacted@{place.rpartition('@')[2]}"
    pairs = [
        (key, "redacted" if key in ("sshkey", "aws_access_key_secret", "aws_access_token") else v)
        for key, v in parse_qsl(parts.query, keep_blank_values=True)
    ]
    if place == parts.netloc and all(value != "redacted" for _key, value in pairs):
        return source
    clean = urlunsplit(parts._replace(netloc=place, query=urlencode(pairs, safe=":/")))
    return f"{forced}::{clean}" if forced else clean


def _taken_apart(source: str) -> tuple[str, str, str]:
    """What reads it, its address, and the part of it that is wanted."""
    if not source:
        raise ArtifactRefused("source must be specified")
    getter = getter_of(source)
    if getter not in SCHEMES:
        raise ArtifactRefused(
            f"download not supported for scheme '{getter}'" if getter else f"invalid URL: {source}"
        )
    forced, address = forced_getter(source)
    if getter == "git":
        address = _repository_address(address)
    elif forced and urlsplit(address).scheme.lower() != getter:
        address = f"{getter}://{address}"
    parts = urlsplit(address)
    if not parts.hostname:
        raise ArtifactRefused(f"invalid URL: {shown(source)}")
    path, _, part = parts.path.partition("//")
    if ".." in Path(part).parts:
        raise ArtifactRefused("the part that is wanted leads out of what is fetched")
    return getter, urlunsplit(parts._replace(path=path)), part


def _repository_address(address: str) -> str:
    if address.startswith(REPOSITORY_HOSTS):
        parts = [*address.partition("?")[0].split("/", 3), "", ""]
        host, owner, name, *rest = parts[:4]
        if not name:
            raise ArtifactRefused(f"{host} repositories are written {host}/owner/name")
        query = address.partition("?")[2]
        inner = f"/{rest[0]}" if rest and rest[0] else ""
        bare = name.removesuffix(".git")
        return f"https://{host}/{owner}/{bare}.git{inner}" + (f"?{query}" if query else "")
    if is_by_ssh(address):
        place, _, path = address.partition(":")
        return f"ssh://{place}/{path}"
    if urlsplit(address).scheme not in ("http", "https", "ssh"):
        raise ArtifactRefused("git repositories are read over http, https and ssh")
    return address


def _without_options(url: str) -> tuple[str, dict[str, str]]:
    """The address without our options, and these."""
    parts = urlsplit(url)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    options = {key: value for key, value in pairs if key in _OPTIONS}
    if not options:
        return url, {}
    rest = urlencode([(key, value) for key, value in pairs if key not in _OPTIONS])
    return urlunsplit(parts._replace(query=rest)), options


def _with_query(url: str, more: dict[str, str]) -> str:
    if not more:
        return url
    parts = urlsplit(url)
    query = "&".join(text for text in (parts.query, urlencode(more)) if text)
    return urlunsplit(parts._replace(query=query))
