"""What the process that renders is told, and what it answers.

In: nothing. Out: structs, as JSON on both ways. A dependency is called by its kind and name:
`variable a/b`, `variables a/`, `service web`, `services`.
"""

import msgspec

#: What templates can depend on.
VARIABLE, VARIABLES, SERVICE, SERVICES = "variable", "variables", "service", "services"


class FoundService(msgspec.Struct, frozen=True, kw_only=True):
    """One address of a service, as templates see it."""

    id: str
    name: str
    node: str = ""
    address: str = ""
    port: int = 0
    datacenter: str = ""
    tags: tuple[str, ...] = ()
    job_id: str = ""
    alloc_id: str = ""


class FoundData(msgspec.Struct, frozen=True, kw_only=True):
    """What the cluster said of dependencies, by their names."""

    #: None: there is no such variable.
    variables: dict[str, dict[str, str] | None] = {}
    #: Paths of the variables below a prefix.
    lists: dict[str, tuple[str, ...]] = {}
    services: dict[str, tuple[FoundService, ...]] = {}
    #: Every service of the namespace, with its tags; None: nobody asked.
    all_services: dict[str, tuple[str, ...]] | None = None


class TemplateOrder(msgspec.Struct, frozen=True, kw_only=True):
    """One template: where its text is, where it goes, how it is read."""

    #: A file, or else the text itself.
    source: str = ""
    text: str = ""
    destination: str
    mode: int = 0o644
    #: Numbers of whom it is to belong to; -1: as it is.
    uid: int = -1
    gid: int = -1
    delimiters: tuple[str, str] = ("{{", "}}")
    is_env: bool = False
    fails_on_missing_key: bool = False


class RenderOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Templates of one task, and everything they may read."""

    templates: tuple[TemplateOrder, ...]
    #: The task's own, never the agent's.
    env: dict[str, str]
    #: The allocation's directory: no file outside is read or written.
    bounds: str
    task_root: str
    namespace: str
    region: str
    found: FoundData = FoundData()
    #: Now, in seconds since 1970, for `timestamp`.
    now: float = 0.0


class Rendering(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one template."""

    #: Dependencies that it asked for and that were not in `FoundData`.
    needs: tuple[str, ...] = ()
    #: Every dependency that it asked for.
    uses: tuple[str, ...] = ()
    #: Dependencies that the cluster does not have, as people are told of them.
    missing: tuple[str, ...] = ()
    #: Whether the file was written, since it was not as it should be.
    changed: bool = False
    #: Why it cannot be rendered.
    error: str = ""
    #: What an `env` template gives.
    env: dict[str, str] = {}
