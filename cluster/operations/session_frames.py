"""What is said during a session inside a task: JSON frames, data in base64 (doors.md 12).

In: what a caller sends. Out: the same, understood, or `ValidationError`; and the frames that a
session answers with. Callers, servers and agents speak these; both ends import this file.
"""

from typing import Annotated

import msgspec

STDOUT, STDERR = "stdout", "stderr"

_Cells = Annotated[int, msgspec.Meta(ge=0, le=65535)]


class StreamInput(msgspec.Struct, frozen=True):
    """Bytes for the command, or the end of them."""

    data: bytes = b""
    close: bool = False


class TerminalSize(msgspec.Struct, frozen=True):
    """Rows and columns of the caller's terminal."""

    height: _Cells = 0
    width: _Cells = 0


class ExecInput(msgspec.Struct, frozen=True):
    """One frame of a caller; an empty one only says that it is still there."""

    stdin: StreamInput | None = None
    tty_size: TerminalSize | None = None


class ExecResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the command ended."""

    exit_code: int = 0


class Exited(msgspec.Struct, frozen=True):
    """The last frame of a session."""

    exited: bool
    result: ExecResult


_INPUT = msgspec.json.Decoder(ExecInput)
_EXITED = msgspec.json.Decoder(Exited)
_EXITED_HEAD = b'{"exited":true'
#: The command runs: the first frame of a session, for callers who ask for it.
BEGUN = b"{}"


def read_input(frame: bytes | str) -> ExecInput:
    """A caller's frame. Raises msgspec.MsgspecError, or UnicodeDecodeError."""
    return _INPUT.decode(frame)


def output(stream: str, data: bytes) -> bytes:
    """What the command wrote on `stdout` or `stderr`."""
    return msgspec.json.encode({stream: {"data": data}})


def closed(stream: str) -> bytes:
    """Nothing more will come on a stream."""
    return msgspec.json.encode({stream: {"close": True}})


def exited(code: int) -> bytes:
    """The command has ended."""
    return msgspec.json.encode(Exited(exited=True, result=ExecResult(code)))


def exit_code_of(frame: bytes) -> int | None:
    """The code that a frame of a session tells; None for any other frame."""
    if not frame.startswith(_EXITED_HEAD):
        return None
    try:
        return _EXITED.decode(frame).result.exit_code
    except msgspec.MsgspecError:
        return None
