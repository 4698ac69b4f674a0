"""One connection's line to PostgreSQL, for statements that are said for every job.

In: statements with `%s` for every value. Out: libpq's results. A statement that is said a second
time is prepared and stays so. What nobody reads the result of waits and goes out with the next
message (`say`), so that beginning a transaction, savepoints, rows and the commit are not a round
trip each; whoever reads, commits or leaves a savepoint sends what waits. libpq's calls are used
as they are: the cursors over them cost more than most of the statements do.
"""

import select
from collections import OrderedDict
from collections.abc import Sequence
from itertools import count
from typing import Any, NamedTuple

import psycopg
from psycopg import errors, pq

from cluster.store.postgresql.values import dumped

Result = pq.abc.PGresult

#: Statements that a connection remembers; a plan takes some 20 to 100 KB of the server's memory.
KEPT = 256
#: Statements in one message at most: the server's answers to them fit into a socket's buffer, so
#: that neither side waits for the other to read.
AT_ONCE = 256

_BINARY = pq.Format.BINARY
_IDLE = pq.TransactionStatus.IDLE
_OK = pq.ConnStatus.OK
_FAILED = (pq.ExecStatus.FATAL_ERROR, pq.ExecStatus.BAD_RESPONSE)
_SYNC = pq.ExecStatus.PIPELINE_SYNC


class Said(NamedTuple):
    """A statement with its values, as libpq is given them."""

    statement: str
    values: list[bytes | None]
    formats: list[int]
    #: It is said once, or by many names: nothing to prepare.
    is_plain: bool


def said(statement: str, parameters: Sequence[Any] = ()) -> Said:
    """A statement on its way. Raises DataError for a text that no column can hold."""
    return Said(statement, *dumped(parameters), is_plain=False)


def plainly(statement: str) -> Said:
    """A statement that is not kept: those of transactions."""
    return Said(statement, [], [], is_plain=True)


class _Known:
    """What a connection knows of a statement it has heard before."""

    __slots__ = ("name", "sql", "types")

    def __init__(self, sql: bytes) -> None:
        self.sql = sql
        #: Empty until it is said again.
        self.name = b""
        #: Of its values, once they were asked for.
        self.types: tuple[int, ...] = ()


class PostgresLine:
    """For one thread at a time, as the connection is."""

    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self._connection = connection
        self._line = connection.pgconn
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._numbers = count(1)
        #: To be said with the next message.
        self._waiting: list[Said] = []
        #: The answer to a farewell is still to be read.
        self._is_unread = False
        self._readable, self._movable = select.poll(), select.poll()
        self._readable.register(self._line.socket, select.POLLIN)
        self._movable.register(self._line.socket, select.POLLIN | select.POLLOUT)

    def say(self, what: Said) -> None:
        """Say this with the next message. Its errors come then."""
        self._waiting.append(what)
        if len(self._waiting) >= AT_ONCE:
            self.settle()

    def ask(self, what: Said) -> Result:
        """Say this and what waits; its result. Raises psycopg's errors."""
        if self._waiting or self._is_unread or self._has_to_begin():
            return self.ask_all([what])[0]
        sql, name = self._recall(what)
        if name:
            self._line.send_query_prepared(name, what.values, what.formats, _BINARY)
        else:
            self._line.send_query_params(sql, what.values, None, what.formats, _BINARY)
        results = self._collect(until=None)
        return results[0]

    def ask_all(self, asked: Sequence[Said]) -> list[Result]:
        """Say what waits and these, in one message; the results of these."""
        self._read_farewell()
        waiting, self._waiting = self._waiting, []
        everything = [*waiting, *asked]
        if self._has_to_begin():
            everything.insert(0, plainly("BEGIN"))
        if not everything:
            return []
        results = self._exchange(everything)
        return results[len(results) - len(asked) :]

    def settle(self) -> None:
        """Send what waits, and hear that it was done."""
        if self._waiting:
            self.ask_all(())
        else:
            self._read_farewell()

    def commit(self) -> None:
        """Send what waits and the commit."""
        self._read_farewell()
        if self._waiting or self._line.transaction_status != _IDLE:
            self.say(plainly("COMMIT"))
            self.settle()

    def rollback(self) -> None:
        """Forget what waits, and undo what was said since the transaction began."""
        self._waiting.clear()
        self._read_farewell()
        if self._line.transaction_status != _IDLE:
            self._exchange([plainly("ROLLBACK")])

    def forget_after(self, statement: str) -> bool:
        """Forget what waits after this statement; False when it was said already.

        Then nothing waits any more: all of it came after.
        """
        for place, waiting in enumerate(self._waiting):
            if waiting.statement == statement:
                del self._waiting[place + 1 :]
                return True
        self._waiting.clear()
        return False

    def take_back(self, statement: str) -> bool:
        """Leave unsaid what would be said last; False when it is not this."""
        if self._waiting and self._waiting[-1].statement == statement:
            del self._waiting[-1]
            return True
        return False

    def types_of(self, statement: str) -> tuple[int, ...]:
        """The types that the server takes a statement's values for."""
        self._read_farewell()
        what = Said(statement, [], [], is_plain=False)
        self._recall(what)
        self._recall(what)
        known = self._known[statement]
        if not known.types:
            found = self._line.describe_prepared(known.name)
            if found.status in _FAILED:
                raise _error_of(found)
            known.types = tuple(found.param_type(n) for n in range(found.nparams))
        return known.types

    def leave(self) -> None:
        """End a transaction that has only read: its end is sent and not waited for."""
        self._waiting.clear()
        if self._is_unread or self._line.transaction_status == _IDLE:
            return
        self._line.enter_pipeline_mode()
        try:
            self._line.send_query_params(b"COMMIT", [])
            self._line.pipeline_sync()
            self._flush()
        except BaseException:
            self.hang_up()
            raise
        self._is_unread = True

    def hang_up(self) -> None:
        """End the connection: what is on its way can no longer be told apart."""
        self._line.finish()

    def _has_to_begin(self) -> bool:
        """As psycopg has it: what is said outside of autocommit begins a transaction."""
        return not self._connection.autocommit and self._line.transaction_status == _IDLE

    def _read_farewell(self) -> None:
        if self._is_unread:
            self._is_unread = False
            self._collect(until=_SYNC)

    def _exchange(self, everything: Sequence[Said]) -> list[Result]:
        """One message, one answer; the results of all that was said."""
        named = [(each, *self._recall(each)) for each in everything]
        line = self._line
        line.enter_pipeline_mode()
        try:
            for each, sql, name in named:
                if name:
                    line.send_query_prepared(name, each.values, each.formats, _BINARY)
                else:
                    line.send_query_params(sql, each.values, None, each.formats, _BINARY)
            line.pipeline_sync()
        except BaseException:
            self.hang_up()
            raise
        return self._collect(until=_SYNC)

    def _collect(self, until: pq.ExecStatus | None) -> list[Result]:
        """The results up to the end of a message. Raises the first error, once all is read."""
        line = self._line
        results: list[Result] = []
        failed: Result | None = None
        try:
            self._flush()
            while True:
                # Not libpq's own waiting: no signal would be heard in it.
                while line.is_busy():
                    self._readable.poll()
                    line.consume_input()
                result = line.get_result()
                if result is None:
                    if until is None:
                        break
                    if line.status != _OK:
                        raise psycopg.OperationalError("the connection is lost")
                elif result.status == until:
                    line.exit_pipeline_mode()
                    break
                else:
                    results.append(result)
                    if failed is None and result.status in _FAILED:
                        failed = result
        except BaseException:
            self.hang_up()
            raise
        if failed is not None:
            raise _error_of(failed)
        return results

    def _flush(self) -> None:
        while self._line.flush():
            self._movable.poll()
            self._line.consume_input()

    def _recall(self, what: Said) -> tuple[bytes, bytes]:
        """The statement as the server knows it, and the name it is prepared under, if it is."""
        if what.is_plain:
            return what.statement.encode(), b""
        known = self._known.get(what.statement)
        if known is None:
            known = self._known[what.statement] = _Known(numbered(what.statement))
            if len(self._known) > KEPT:
                self._drop_oldest()
            return known.sql, b""
        self._known.move_to_end(what.statement)
        if not known.name:
            self._prepare(known)
        return known.sql, known.name

    def _prepare(self, known: _Known) -> None:
        name = b"bv%d" % next(self._numbers)
        result = self._line.prepare(name, known.sql)
        if result.status in _FAILED:
            raise _error_of(result)
        known.name = name

    def _drop_oldest(self) -> None:
        _, oldest = self._known.popitem(last=False)
        if oldest.name:
            self._line.exec_(b"DEALLOCATE " + oldest.name)


def numbered(statement: str) -> bytes:
    """The statement with `$1`, `$2` for its values."""
    first, *others = statement.split("%s")
    return (first + "".join(f"${n}{part}" for n, part in enumerate(others, 1))).encode()


def _error_of(result: Result) -> psycopg.Error:
    """What psycopg would raise; a connection that broke has no code."""
    if result.error_field(pq.DiagnosticField.SQLSTATE) is None:
        return psycopg.OperationalError(result.get_error_message())
    return errors.error_from_result(result)
