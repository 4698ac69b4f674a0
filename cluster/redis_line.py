"""One connection to Redis for what is said many times for each job, without a client's cost.

In: an address. Out: commands packed and sent, answers as plain values. The library makes the
connection, with its name, password and encryption; then commands are written and answers read as
they are, which costs a tenth. For one thread at a time.
"""

import ssl
from contextlib import suppress
from typing import Any, TypeAlias

import hiredis
import redis

Command: TypeAlias = tuple[str | bytes | int | float, ...]

_READ_AT_ONCE = 1 << 16


class RedisLine:
    """A connection that is opened when it is first used. Errors are `redis.RedisError`s.

    After one it is closed, and whatever was under way on it is lost.
    """

    def __init__(self, url: str, *, patience_s: float = 5.0, connect_s: float = 2.0) -> None:
        self._pool = redis.Redis.from_url(
            # Answers of the older protocol: what is told unasked looks like any other answer.
            url,
            protocol=2,
            socket_timeout=patience_s,
            socket_connect_timeout=connect_s,
        ).connection_pool
        self._patience_s = patience_s
        self._connection: Any = None
        self._socket: Any = None
        self._reader: Any = None
        #: Answers that nobody wants, before the next one that somebody does.
        self._unread = 0
        self._is_muted = False
        #: Packed commands that go out in one piece with the next.
        self._held: list[bytes] = []

    @property
    def is_open(self) -> bool:
        """Whether it was opened and has not failed since."""
        return self._socket is not None

    @property
    def holds_any(self) -> bool:
        """Whether something waits for what is sent next."""
        return bool(self._held)

    def open(self) -> None:
        """Connect, unless it is."""
        if self._socket is not None:
            return
        # Whatever has a socket; the library's types do not know of it.
        connection: Any = self._pool.make_connection()
        try:
            connection.connect()
            self._socket = connection._sock
        except OSError as error:
            raise redis.ConnectionError(str(error)) from error
        self._connection, self._reader, self._unread = connection, hiredis.Reader(), 0
        if self._is_muted:
            self._write(_packed(("CLIENT", "REPLY", "OFF")))

    def close(self) -> None:
        """Hang up; the next use opens it anew."""
        connection, self._connection, self._socket = self._connection, None, None
        if connection is not None:
            connection.disconnect()

    def mute(self) -> None:
        """From now on it is told nothing: for who only says things."""
        self._is_muted = True

    def fileno(self) -> int:
        """Of the open connection, to wait for it beside others."""
        return int(self._socket.fileno())

    def tell(self, *commands: Command) -> None:
        """Send commands whose answers nobody reads."""
        self.tell_with_next(*commands)
        self.send()

    def tell_with_next(self, *commands: Command) -> None:
        """As `tell`, in one piece with what is sent next: a piece wakes Redis once."""
        self._held += map(_packed, commands)

    def send(self, *commands: Command) -> None:
        """Send commands in one piece; then `read` as many answers, or look at `arrived`."""
        held, self._held = self._held, []
        self.open()
        if not self._is_muted:
            self._unread += len(held)
        self._write(b"".join([*held, *map(_packed, commands)]))

    def read(self, timeout_s: float = 0.0) -> Any:
        """The next answer, waited for that much longer than usual."""
        while True:
            answer = self._next(timeout_s)
            if self._unread:
                self._unread -= 1
                continue
            if isinstance(answer, hiredis.ReplyError):
                self.close()
                raise redis.ResponseError(str(answer))
            return answer

    def arrived(self) -> list[Any]:
        """Answers that are there already, errors among them as values."""
        # Not by `select`, which knows no file above 1023: a web process has thousands.
        self._socket.settimeout(0)
        with suppress(BlockingIOError, ssl.SSLWantReadError):
            while self._fill():
                pass
        found = []
        while (answer := self._reader.gets()) is not False:
            found.append(answer)
        return found

    def _next(self, timeout_s: float) -> Any:
        while (answer := self._reader.gets()) is False:
            if self._socket is None:
                raise redis.ConnectionError("the connection is closed")
            self._socket.settimeout(self._patience_s + timeout_s)
            self._fill()
        return answer

    def _fill(self) -> bool:
        """Take what has come; whether there may be more of it already."""
        try:
            data = self._socket.recv(_READ_AT_ONCE)
        except (BlockingIOError, ssl.SSLWantReadError):
            raise
        except OSError as error:
            self.close()
            raise redis.ConnectionError(str(error)) from error
        if not data:
            self.close()
            raise redis.ConnectionError("the server hung up")
        self._reader.feed(data)
        # An encrypted connection may hold back what its socket no longer tells of.
        return len(data) == _READ_AT_ONCE or isinstance(self._socket, ssl.SSLSocket)

    def _write(self, data: bytes) -> None:
        try:
            self._socket.settimeout(self._patience_s)
            self._socket.sendall(data)
        except OSError as error:
            self.close()
            raise redis.ConnectionError(str(error)) from error


def _packed(command: Command) -> bytes:
    packed: bytes = hiredis.pack_command(command)  # type: ignore[arg-type] # its types know one word only
    return packed
