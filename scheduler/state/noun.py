"""What a noun of the record is: all that memory, database and event log must know of one struct.

In: declarations (`scheduler.state.nouns`). Out: keys, rows and bodies of values. Knows no noun.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeAlias, TypeVar

import msgspec

from scheduler.structs.identity import JobKey
from scheduler.structs.wire import Wire

#: What names a row: a text, or a tuple of texts and numbers, which may hold a tuple once more.
AnyKey: TypeAlias = str | tuple[object, ...]
Key = TypeVar("Key", bound=AnyKey)
Value = TypeVar("Value", bound=Wire)

_ENCODER = msgspec.msgpack.Encoder()


@dataclass(frozen=True, eq=False)
class Index(Generic[Value]):
    """A question a noun's rows are found by: those that share a place."""

    #: The place of a row; None: the row is in none.
    place: Callable[[Value], AnyKey | None]
    #: The columns that hold the parts of the place, in their order.
    columns: tuple[str, ...] = ()
    #: SQL that is true for every row asked for; it lets a partial index serve.
    condition: str = ""


@dataclass(frozen=True)
class Owner:
    """A noun that owns the rows of another."""

    topic: str
    #: The index of the owned noun whose place is the key of the owner.
    index: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Noun(Generic[Key, Value]):
    """One kind of row. Declared once, as a constant of `scheduler.state.nouns`."""

    struct: type[Value]
    #: The topic of its events; "" when its rows only follow from those of another noun.
    topic: str
    #: The table of the database.
    table: str
    key: Callable[[Value], Key]
    #: The columns that hold the parts of the key, in their order.
    key_columns: tuple[str, ...] = ("name",)
    #: Further columns, to be found and sorted by; the whole value is in `body` besides.
    columns: Mapping[str, Callable[[Value], object]] = field(default_factory=dict)
    #: Columns for instants, ns since the Unix epoch and 0 where there is none; a database keeps
    #: timestamps, NULL for 0.
    instants: Mapping[str, Callable[[Value], int]] = field(default_factory=dict)
    indexes: Mapping[str, Index[Value]] = field(default_factory=dict)
    #: Its place among all rows by creation, for lists in that order; None: lists go by key.
    creation: Callable[[Value], tuple[int, str]] | None = None
    #: The namespace that owns a value; None when namespaces do not own such values.
    namespace: Callable[[Value], str] | None = None
    #: What `table_index` calls the rows; "" when they move no table's index.
    table_index: str = ""
    #: Whose rows take these along when they are deleted.
    owner: Owner | None = None
    #: A column for the hash of a secret that rows are found by: `Change.put_secret` fills it. It
    #: is in no body and in no event; "" when rows have no secrets.
    secret_column: str = ""

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        """All columns: those of the key first, the instants and `body` last."""
        return (*self.key_columns, *self.columns, *self.instants, "body")

    @cached_property
    def upserted(self) -> str:
        """The kind of a write that puts one of them, and is about nothing else."""
        return f"{self.topic}Upserted"

    @cached_property
    def deleted(self) -> str:
        """The kind of a write that deletes one of them, and is about nothing else."""
        return f"{self.topic}Deleted"

    @cached_property
    def order(self) -> Callable[[Value], AnyKey]:
        """By what lists are sorted."""
        return self.creation or self.key

    def row(
        self, value: Value, timestamp: Callable[[int], object], body: bytes | None = None
    ) -> tuple[object, ...]:
        """What a value's row holds, in the order of `column_names`.

        `timestamp` says how the database is given an instant.
        """
        return (
            *key_cells(self.key(value)),
            *[getter(value) for getter in self._getters],
            *[timestamp(getter(value)) for getter in self._instant_getters],
            body or encode(value),
        )

    def decode(self, body: bytes | memoryview) -> Value:
        """The value of a body."""
        return self._decoder.decode(body)

    @cached_property
    def _getters(self) -> tuple[Callable[[Value], object], ...]:
        return tuple(self.columns.values())

    @cached_property
    def _instant_getters(self) -> tuple[Callable[[Value], int], ...]:
        return tuple(self.instants.values())

    @cached_property
    def _decoder(self) -> msgspec.msgpack.Decoder[Value]:
        return msgspec.msgpack.Decoder(self.struct)


#: A noun whatever its struct: it must be handed values of that struct and no others.
AnyNoun: TypeAlias = Noun[AnyKey, Wire]


def encode(value: Wire) -> bytes:
    """The body of a value: msgpack with wire names."""
    return _ENCODER.encode(value)


def key_cells(key: AnyKey) -> tuple[object, ...]:
    """The parts of a key, one for each of its columns."""
    if isinstance(key, str):
        return (key,)
    return tuple(cell for part in key for cell in (part if isinstance(part, tuple) else (part,)))


def event_key(key: AnyKey) -> str:
    """How events name a row: by the part of its key that a person would use."""
    if isinstance(key, str):
        return key
    if isinstance(key, JobKey):
        return key.job_id
    first = key[0].job_id if isinstance(key[0], JobKey) else key[0]
    return f"{first}/{key[-1]}"
