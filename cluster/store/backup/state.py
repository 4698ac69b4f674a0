"""The state inside a backup: a heading, then one row behind another.

In: tables with their columns, rows. Out: the bytes of `state.bin`, and from them the rows again.
It lies as the state in a snapshot of the reference does: a MessagePack value for the heading, then
for each row one byte for its kind and one value. So its command line counts and weighs the rows of
each kind (`operator snapshot inspect`); what is in a row is ours, and a value of bytes to it.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

import msgspec

ROWS_AT_ONCE = 200
#: Kinds that the reference has too, by our tables.
REFERENCE_KINDS = {
    "node": 0, "job": 1, "table_index": 2, "evaluation": 3, "allocation": 4, "periodic_launch": 6,
    "job_summary": 7, "job_version": 9, "deployment": 10, "acl_policy": 11, "acl_token": 12,
    "scheduler_settings": 13, "scaling_policy": 16, "scaling_event": 19,
    "service_registration": 21, "variable": 22, "acl_role": 25, "acl_auth_method": 26,
    "acl_binding_rule": 27, "node_pool": 28, "job_submission": 29, "root_key": 30,
    "host_volume": 31, "namespace": 64,
}  # fmt: skip
#: Kinds of ours begin here; the reference has none so high.
_OURS = 128
#: A map of one pair, the heading's, and the mark of bytes whose length is told in four.
_BEGIN, _BYTES = b"\x81\xa6Tables", b"\xc6"
_LENGTH = struct.Struct(">I")
_ENCODER = msgspec.msgpack.Encoder()


class RowsOfTable(msgspec.Struct, frozen=True, array_like=True):
    """Some rows of one table: values in the order of the columns."""

    table: str
    columns: list[str]
    rows: list[list[object]]


class _Table(msgspec.Struct, frozen=True, array_like=True):
    """Of the heading: what rows of a kind are."""

    kind: int
    table: str
    columns: list[str]


class StateWriter:
    """Writes the heading at once, then rows."""

    def __init__(self, state: BinaryIO, columns: Mapping[str, Sequence[str]]) -> None:
        """`columns`: of every table that rows will be written of."""
        ours = (table for table in columns if table not in REFERENCE_KINDS)
        self._kinds = REFERENCE_KINDS | {table: _OURS + at for at, table in enumerate(ours)}
        assert max(self._kinds.values()) < 256, "a kind is one byte"
        self._state = state
        state.write(_BEGIN)
        self._write(
            [_Table(self._kinds[table], table, list(named)) for table, named in columns.items()]
        )

    def write_row(self, table: str, values: Sequence[object]) -> None:
        self._state.write(bytes((self._kinds[table],)))
        self._write(values)

    def _write(self, value: object) -> None:
        body = _ENCODER.encode(value)
        self._state.write(_BYTES + _LENGTH.pack(len(body)) + body)


def read_pieces(state: BinaryIO) -> Iterator[RowsOfTable]:
    """The rows in their order, some at once. Raises ValueError where it breaks off."""
    head = state.read(_LENGTH.size)
    if head != _BEGIN[: _LENGTH.size]:
        yield from _pieces_of_old(state, head)
        return
    if state.read(len(_BEGIN) - _LENGTH.size) != _BEGIN[_LENGTH.size :]:
        raise ValueError("the state has another heading")
    tables = {each.kind: each for each in msgspec.msgpack.decode(_body(state), type=list[_Table])}
    decoder = msgspec.msgpack.Decoder(list[object])
    last, rows = -1, list[list[object]]()
    while kind := state.read(1):
        if kind[0] not in tables:
            raise ValueError(f"the state has rows of an unknown kind: {kind[0]}")
        if rows and (kind[0] != last or len(rows) == ROWS_AT_ONCE):
            yield RowsOfTable(tables[last].table, tables[last].columns, rows)
            rows = []
        last = kind[0]
        rows.append(decoder.decode(_body(state)))
    if rows:
        yield RowsOfTable(tables[last].table, tables[last].columns, rows)


def _body(state: BinaryIO) -> bytes:
    head = state.read(1 + _LENGTH.size)
    if len(head) != 1 + _LENGTH.size or head[:1] != _BYTES:
        raise ValueError("the state breaks off")
    return _read(state, _LENGTH.unpack(head[1:])[0])


def _pieces_of_old(state: BinaryIO, head: bytes) -> Iterator[RowsOfTable]:
    """Of backups until 2026-11-23: pieces of many rows, each behind its length."""
    decoder = msgspec.msgpack.Decoder(RowsOfTable)
    while head:
        if len(head) != _LENGTH.size:
            raise ValueError("the state breaks off")
        yield decoder.decode(_read(state, _LENGTH.unpack(head)[0]))
        head = state.read(_LENGTH.size)


def _read(state: BinaryIO, length: int) -> bytes:
    body = state.read(length)
    if len(body) != length:
        raise ValueError("the state breaks off")
    return body
