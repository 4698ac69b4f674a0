"""What the audit keeps of one act: who, from where, by which door, what, with which result.

In: words of ours and names that others gave. Out: entries whose texts are short, on one line and
of printable characters. No secret has a place in one: callers hand none over.
"""

from typing import Any, NamedTuple

import msgspec

from scheduler.access.caller import ANONYMOUS, Caller, CallerKind
from scheduler.structs.wire import Nanoseconds

DONE, REFUSED, FAILED = "done", "refused", "failed"
RESULTS = (DONE, REFUSED, FAILED)
API, PAGE, ADMIN, AGENT, COMMAND = "api", "page", "admin", "agent", "command"
DOORS = (API, PAGE, ADMIN, AGENT, COMMAND)
#: Whom a door does not know.
NOBODY = "nobody"

#: Characters of a text that an entry keeps.
LONGEST = {"who_id": 64, "address": 64, "reason": 300, "missing_right": 100}
_LONGEST_OTHER = 128
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


class Actor(NamedTuple):
    """Who acts, and how they came in.

    `kind` is `person`, `token`, `agent`, `command` or `nobody`, `door` one of `DOORS`.
    """

    kind: str = NOBODY
    id: str = ""
    name: str = ""
    address: str = ""
    door: str = API


class Act(NamedTuple):
    """What was done, in words, and to what."""

    words: str
    target_kind: str = ""
    target_id: str = ""
    namespace: str = ""
    #: More about it, such as the version a job got.
    detail: str = ""


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the audit. The names are those of its columns."""

    at: Nanoseconds
    last_at: Nanoseconds = 0
    count: int = 1
    who_kind: str = NOBODY
    who_id: str = ""
    who_name: str = ""
    address: str = ""
    door: str = API
    act: str
    namespace: str = ""
    target_kind: str = ""
    target_id: str = ""
    result: str = DONE
    #: Why not; of what was done, more about it.
    reason: str = ""
    missing_right: str = ""
    #: The index that the act made; 0: none.
    made_index: int = 0
    #: Its place in the audit; 0 before it has one.
    id: int = 0

    @property
    def likeness(self) -> tuple[object, ...]:
        """Equal for entries that are told as one, with a count."""
        return (
            *(self.who_kind, self.who_id, self.who_name, self.address, self.door),
            *(self.act, self.namespace, self.target_kind, self.target_id),
            *(self.result, self.reason, self.missing_right, self.made_index),
        )


#: In the order of the table's columns; `id` is the database's to give.
COLUMNS = tuple(name for name in AuditEntry.__struct_fields__ if name != "id")
INSERT = f"INSERT INTO audit ({', '.join(COLUMNS)}) VALUES ({', '.join(['%s'] * len(COLUMNS))})"  # noqa: S608 - names of our own columns only
#: By which door callers of a kind come in, unless they say another.
_DOOR_OF_KIND = {
    CallerKind.TOKEN: API,
    CallerKind.WORKLOAD: API,
    CallerKind.PERSON: PAGE,
    CallerKind.AGENT: AGENT,
    CallerKind.COMMAND: COMMAND,
    CallerKind.CLUSTER: COMMAND,
}


def actor_of(by: Caller) -> Actor:
    """A caller as the audit names one; whoever shows no token is nobody."""
    door = by.door or _DOOR_OF_KIND[by.kind]
    if by.id == ANONYMOUS.id and by.kind is ANONYMOUS.kind:
        return Actor(NOBODY, address=by.address, door=door)
    return Actor(by.kind.value, by.id, by.name, by.address, door)


def row_of(entry: AuditEntry) -> tuple[Any, ...]:
    """The parameters of `INSERT`."""
    return msgspec.structs.astuple(entry)[:-1]


def entry_of(  # noqa: PLR0913 - the columns of one row
    who: Actor,
    act: Act,
    result: str = DONE,
    *,
    at: Nanoseconds,
    reason: str = "",
    missing_right: str = "",
    made_index: int = 0,
) -> AuditEntry:
    """An entry, its texts cut and cleaned."""
    return AuditEntry(
        at=at,
        last_at=at,
        who_kind=who.kind,
        who_id=_kept("who_id", who.id),
        who_name=_kept("who_name", who.name),
        address=_kept("address", who.address),
        door=who.door,
        act=_kept("act", act.words),
        namespace=_kept("namespace", act.namespace),
        target_kind=act.target_kind,
        target_id=_kept("target_id", act.target_id),
        result=result,
        reason=_kept("reason", reason or act.detail),
        missing_right=_kept("missing_right", missing_right),
        made_index=made_index,
    )


def _kept(field: str, text: str) -> str:
    """The text as it is stored: without what changes lines or the way letters run."""
    limit = LONGEST.get(field, _LONGEST_OTHER)
    clean = text if text.isprintable() else _printable(text[: limit + 1])
    return clean if len(clean) <= limit else clean[: limit - 1] + _ELLIPSIS


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)
