"""Replays recorded commands of the reference's command line by itself, against a running server.

In: one file of `tests/vectors/cli`, a server with the two nodes of the recording, the program.
Out: for every command the lines that it did not say, or says beyond the recorded ones, and its
status. Compared after masking as the README of the recordings says: ids, instants, ages, ports,
indexes, sizes and what a machine is vary, and how often a followed thing says the same.
"""

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from tests.conformance.exchange_replay import (
    _CHILD,
    _NAMED,
    _SHORT,
    _UUID,
    CLOCK,
    Replay,
    Shapes,
    _document,
    _note_objects,
    _read,
)

#: Seconds in which what a command reads must become as recorded.
SETTLE_S = 12.0
#: A command of the recording that had to be stopped is stopped here after so many.
STOP_S = 5.0
#: A command that ended there must end here.
END_S = 90.0
#: What asks without changing anything, though it is sent by PUT.
_ASKS = re.compile(r"/v1/(?:search.*|jobs/parse|validate/job|job/.+/plan)")
_INSTANT = re.compile(r"^(?:==> )?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)", re.MULTILINE)
_ON_THE_WAY = re.compile(
    r'<time>: (?:Allocation|Alloc) "<id>" (?:status|created|modified).*'
    r"|\S+(?: true| false)?(?: \d+){3,} <time>"
)
_MASKS = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b\d+(?:h|m|s|ms|µs|d)(?:\d+[hms]+)*(?:\.\d+s)? ago|<none> ago"), "<age>"),
    (re.compile(r"\b(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?(?:ms|µs|s)\b|\b\d+h\d+m\b"), "<span>"),
    (re.compile(r"\b\d[\d.]*/(?=\d[\d.]* [KMGT]?i?B|\d[\d.]* MHz|[\d.]+ [MG]Hz)"), ""),
    (re.compile(r"\b\d[\d.]* ?(?:[KMGT]iB|[KMGT]?B|[MG]Hz)\b|\b\d[\d.]*%"), "<size>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<check>"),
    (re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?"), "<address>"),
    (re.compile(r"/\S*/(?=alloc/|alloc_mounts/)"), "<dir>/"),
    (re.compile(r"\b[\w-]+\.global\b"), "<server>"),
    (re.compile(r'^\{"(?:Events|Index)":.*'), "<event>"),
    (re.compile(r"\bnode-[12]\b"), "<node>"),
    (re.compile(r"^l?i?n?e? ?\d+$"), "<line>"),
    (re.compile(r"(Driver(?: Statu)?s) += .*"), r"\1 = <drivers>"),
    (re.compile(r"(?<=stat )/\S+/"), "<dir>/"),
    (re.compile(r"\b2\.0\.6(?:-dev)?\b"), "<version>"),
    (re.compile(r"(Index\W+)\d+"), r"\1<n>"),
    (re.compile(r"\b\d{2,}\b"), "<n>"),
)


@dataclass(frozen=True)
class Said:
    """One command: what differs in what it said; none when it is as recorded."""

    file: str
    command: str
    differences: tuple[str, ...]


class CommandReplay(Replay):
    """The commands of one file, in their order, run by the program."""

    def __init__(
        self, program: str, address: str, client: httpx.Client, shapes: Shapes, place: Path
    ) -> None:
        super().__init__(client, shapes)
        self._program, self._place = program, place
        #: Differences that waiting did not mend: they are not waited for again.
        self._lasting: set[str] = set()
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(place),
            "NOMAD_ADDR": address,
            "NOMAD_TOKEN": client.headers["X-Nomad-Token"],
            "TZ": "UTC",
        }

    def run(self, name: str, rows: list[Mapping[str, Any]]) -> Iterator[Said]:
        """Run everything; a row without a command is left to the exchanges' test."""
        for row in rows:
            for exchange in row["Exchanges"]:
                _note_objects(_document(exchange), self._recorded)
        for row in rows:
            if row["Command"]:
                yield Said(name, row["Command"], tuple(self._compared_with(row)))

    def _compared_with(self, row: Mapping[str, Any]) -> list[str]:
        end = CLOCK.monotonic() + SETTLE_S
        while True:
            status, *said = self._executed(row)
            found = _differences(row, status, *said)
            is_known = set(found) <= self._lasting
            # A write that was refused changed nothing: its time may come.
            is_done = status == 0 and not _only_asks(row)
            if is_known or is_done or CLOCK.monotonic() > end:
                self._lasting.update(found)
                return found
            time.sleep(0.5)

    def _executed(self, row: Mapping[str, Any]) -> tuple[int, str, str]:
        for name, content in (row.get("Files") or {}).items():
            (self._place / name).write_text(content)
        for recorded in _ids_named(row):
            self._find(recorded)
        said = (row.get("Stdin") or "").encode()
        words = [self._word(each) for each in shlex.split(row["Command"])]
        if "-check-index" in words and row["ExitCode"] == 0:
            words[words.index("-check-index") + 1] = self._newest_index(row)
        with subprocess.Popen(
            ["nomad", *words[1:]], executable=self._program,
            cwd=self._place, env={**self._environment, **(row.get("Env") or {})},
            stdin=subprocess.PIPE if said else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        ) as process:  # fmt: skip
            limit = STOP_S + _lasted_s(row) if row.get("Interrupted") else END_S
            try:
                out, err = process.communicate(said, timeout=limit)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGINT)
                try:
                    out, err = process.communicate(timeout=10)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    out, err = process.communicate()
        return process.returncode, out.decode(errors="replace"), err.decode(errors="replace")

    def _newest_index(self, row: Mapping[str, Any]) -> str:
        """Of the job that is written: what a check that passed was made against."""
        bodies = [_read(each.get("RequestBody") or "") for each in row["Exchanges"]]
        found = [each["Job"]["ID"] for each in bodies if isinstance(each, dict) and "Job" in each]
        job = self._client.get(f"/v1/job/{found[-1]}") if found else None
        return str(job.json()["JobModifyIndex"]) if job is not None and job.is_success else "0"

    def _word(self, word: str) -> str:
        """A word with the ids, the page tokens and the indexes of this server."""
        if re.fullmatch(r"\d+\.[0-9a-f-]{36}", word):
            listed = self._client.get("/v1/evaluations", params={"per_page": "2"})
            return listed.headers.get("X-Nomad-NextToken", word)
        return self._here(word)


def _lasted_s(row: Mapping[str, Any]) -> float:
    """Seconds from the first to the last instant that it told of, at most so many."""
    told = [datetime.fromisoformat(each) for each in _INSTANT.findall(row["Stdout"])]
    return min(END_S, (max(told) - min(told)).total_seconds()) if told else 0.0


def _ids_named(row: Mapping[str, Any]) -> list[str]:
    text = row["Command"]
    return [*_UUID.findall(text), *_SHORT.findall(text), *_CHILD.findall(text)]


def _only_asks(row: Mapping[str, Any]) -> bool:
    return all(
        each["Method"] == "GET" or _ASKS.fullmatch(each["Path"]) for each in row["Exchanges"]
    )


def _differences(row: Mapping[str, Any], status: int, out: str, err: str) -> list[str]:
    found = []
    # Stopped from outside: there is no status to compare.
    if not row.get("Interrupted") and row["ExitCode"] % 256 != status % 256:
        found.append(f"status {row['ExitCode']} was wanted, not {status}")
    for name, wanted, have in (("out", row["Stdout"], out), ("err", row["Stderr"], err)):
        found += [f"{name} {each}" for each in _apart(wanted, have)]
    return found


def _apart(wanted: str, have: str) -> list[str]:
    with contextlib.suppress(ValueError):
        keys, others = _keys(json.loads(wanted)), _keys(json.loads(have))
        return [f"- {key}" for key in sorted(keys - others)] + [
            f"+ {key}" for key in sorted(others - keys)
        ]
    told, here = _lines(wanted), _lines(have)
    if any(line.startswith("==>") for line in told):
        told, here = _ends(told), _ends(here)
    return [f"- {each}" for each in told if each not in here] + [
        f"+ {each}" for each in here if each not in told
    ]


def _keys(value: Any, path: str = "$") -> set[str]:
    """Every key of an answer; ids and names that are keys stand for one another."""
    if isinstance(value, list):
        return {path}.union(*(_keys(each, f"{path}[]") for each in value))
    if isinstance(value, dict):
        return {path}.union(*(_keys(each, f"{path}.{masked(key)}") for key, each in value.items()))
    return {path}


def _ends(lines: list[str]) -> list[str]:
    """Of a thing that was followed: without what it told on its way, which is of the moment."""
    return [line for line in lines if not _ON_THE_WAY.fullmatch(line)]


def _lines(text: str) -> list[str]:
    """The different lines, in their order."""
    return list(dict.fromkeys(filter(None, map(masked, text.splitlines()))))


def masked(line: str) -> str:
    """A line without what varies."""
    line = _SHORT.sub("<id>", _NAMED.sub("<id>", line.replace("%2F", "/")))
    for pattern, instead in _MASKS:
        line = pattern.sub(instead, line)
    line = re.sub(r"[\s|]+", " ", line).strip()
    line = line.replace("<size>/<size>", "<size>")
    return re.sub(r"^(?:<size>|0)(?: <size>| 0)*$", "<sizes>", line)
