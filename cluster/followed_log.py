"""What a process writes to its log from now on, line by line, for those who follow it.

In: a level and a form. Out: a stream that begins at once and never ends. Lines are those that the
log itself gets, so no secret of a link is in them, and those that followers alone are told. What
is written faster than it is read is left out and counted. `written_so_far` is the log of before.
"""

import asyncio
import base64
import logging
import os
import stat
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from cluster.log_lines import FOR_FOLLOWERS, REQUESTS, HideLinks, without_links
from scheduler.structs.wire import Wire

HEARTBEAT_S = 10.0
#: Lines that wait for a reader; more are left out.
_MOST = 512
#: Bytes of a log that are read at once.
_PIECE = 64 * 1024
LEVELS = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
}
_SHOWN = {"WARNING": "WARN", "CRITICAL": "ERROR"}
#: At `debug`, libraries tell of each frame of the very stream that tells it, secrets included.
_OURS = ("cluster", "dashboard", "scheduler", "http", "client")


class Form(Wire, frozen=True):
    """Which lines, and how they are written: a key of `LEVELS`, and switches."""

    level: str = "info"
    json: bool = False
    plain: bool = False
    location: bool = False


async def followed(form: Form) -> AsyncIterator[bytes]:
    """Lines as bytes, or in frames; between them signs of life: `{}`, or nothing where plain."""
    level = LEVELS[form.level]
    listener = _Listener(level)
    loggers = [logging.getLogger(), FOR_FOLLOWERS]
    loggers += [REQUESTS] if level <= logging.DEBUG else []
    for logger in loggers:
        logger.addHandler(listener)
    try:
        yield b"" if form.plain else b"{}"
        while True:
            try:
                record = await asyncio.wait_for(listener.waiting.get(), HEARTBEAT_S)
            except TimeoutError:
                yield b"" if form.plain else b"{}"
                continue
            text = line_of(record, is_json=form.json, has_location=form.location)
            if listener.left_out:
                text += f"({listener.left_out} lines left out)\n"
                listener.left_out = 0
            yield text.encode() if form.plain else frame(text.encode())
    finally:
        for logger in loggers:
            logger.removeHandler(listener)


class _Listener(logging.Handler):
    """Hands records to the loop of a reader, from whatever thread they come."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.addFilter(HideLinks())
        self.addFilter(_is_told)
        self._loop = asyncio.get_running_loop()
        self.waiting: asyncio.Queue[logging.LogRecord] = asyncio.Queue(_MOST)
        self.left_out = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Queue it; a loop that is gone reads nothing more."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._take, record)

    def _take(self, record: logging.LogRecord) -> None:
        if self.waiting.full():
            self.left_out += 1
        else:
            self.waiting.put_nowait(record)


def _is_told(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.INFO or record.name.partition(".")[0] in _OURS


def line_of(
    record: logging.LogRecord, *, is_json: bool = False, has_location: bool = False
) -> str:
    """A record as the reference writes a line."""
    at = datetime.fromtimestamp(record.created, UTC)
    stamp = f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"
    level = _SHOWN.get(record.levelname, record.levelname)
    text = record.getMessage()
    place = f"{'/'.join(Path(record.pathname).parts[-2:])}:{record.lineno}" if has_location else ""
    if is_json:
        told = {
            "@level": level.lower(), "@message": text, "@module": record.name, "@timestamp": stamp,
            **({"@caller": place} if place else {}),
        }  # fmt: skip
        return msgspec.json.encode(told).decode() + "\n"
    return f"{stamp} [{level}] {f'{place}: ' if place else ''}{record.name}: {text}\n"


def frame(data: bytes) -> bytes:
    """A piece of a log as the reference frames it."""
    return msgspec.json.encode({"Data": base64.b64encode(data).decode()})


def log_file() -> int | None:
    """A descriptor of the file that this process writes its log to, to be closed by the caller.

    None where its log goes elsewhere: to a terminal, or to whoever started it.
    """
    try:
        if not stat.S_ISREG(os.fstat(2).st_mode):
            return None
        return os.open("/proc/self/fd/2", os.O_RDONLY)
    except OSError:
        return None


async def written_so_far(descriptor: int, *, is_plain: bool) -> AsyncIterator[bytes]:
    """What a log holds now, in whole lines without secrets of links; closes it."""
    try:
        left = os.fstat(descriptor).st_size
        begun = b""
        while left > 0:
            data = await asyncio.to_thread(os.read, descriptor, min(_PIECE, left))
            if not data:
                break
            left -= len(data)
            lines, newline, begun = (begun + data).rpartition(b"\n")
            if newline:
                yield _told(lines + newline, is_plain=is_plain)
        if begun:
            yield _told(begun, is_plain=is_plain)
    finally:
        os.close(descriptor)


def _told(lines: bytes, *, is_plain: bool) -> bytes:
    data = without_links(lines.decode(errors="replace")).encode()
    return data if is_plain else frame(data)
