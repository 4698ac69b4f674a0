"""Replays recorded exchanges of the reference's command line against a running server.

In: one file of `tests/vectors/cli`, a server with the two nodes of the recording. Out: for every
exchange what differs: status, headers, the shape of the body, the text of an error; and beside it
where a thing is at another moment of its life. Ids are taken from the answers here.
"""

import base64
import contextlib
import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote

import httpx

from cluster.runtime.clock import SystemClock
from tests.cluster.api.shape_match import differences

CLOCK = SystemClock()
#: Seconds in which an answer must become like the recorded one.
SETTLE_S = 20.0
#: The same where the recording waited for the next change, as for the end of a rollout that fails.
WAITED_S = 80.0
LOOK_S = 0.2
#: Seconds that are given to a stream before it is looked at.
STREAM_S = 3.0
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
#: Fewer characters of an id are only looked for where an id's beginning is asked for.
_SHORTEST_ID = 8
_SHORT = re.compile(r"(?<![0-9a-f-])[0-9a-f]{8}(?![0-9a-f-])")
#: Where things are listed, and by what one is found again; the first kind that has all of it.
_KINDS = {
    "/v1/allocations": ("JobID", "Name", "TaskGroup"),
    "/v1/evaluations": ("JobID", "TriggeredBy"),
    "/v1/deployments": ("JobID", "JobVersion", "StatusDescription"),
    "/v1/nodes": ("Name", "NodeClass"),
}
#: What is compared by value, so that a request is not sent before its time has come.
_STATES = ("Status", "ClientStatus", "DesiredStatus", "SchedulingEligibility", "Drain")
_CHILD = re.compile(r"[^/\s\"]+/(?:periodic-\d+|dispatch-(?:[^/\s\"]*-)?\d+-[0-9a-f]{8})")
_NAMED = re.compile(f"{_UUID.pattern}|{_CHILD.pattern}")
_INDEXES = ("Index", "JobModifyIndex", "ModifyIndex")
_MODIFY_INDEX = re.compile(r'("JobModifyIndex"\s*:\s*)(\d+)')
#: What moves with the server, not with the request.
_OF_WAITING = {"index", "wait"}
_STREAMS = re.compile(r"/v1/(?:event/stream|agent/monitor|client/fs/(?:logs|stream)/.*)")
#: Headers with facts of the server, whose presence is compared.
_HEADERS = ("X-Nomad-Index", "X-Nomad-KnownLeader", "X-Nomad-LastContact", "X-Nomad-NextToken")


@dataclass(frozen=True)
class Compared:
    """One exchange: what was asked, and every difference; none when it is as recorded.

    `moments`: states that differ, which the rules of the recordings (their README) do not compare.
    """

    file: str
    #: The command line that sent it; empty where none did.
    command: str
    #: Method and path template, by which exchanges are listed.
    route: str
    request: str
    differences: tuple[str, ...]
    moments: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        told = "; ".join(self.differences)
        return f"{self.file}: {self.command or '-'}: {self.request}: {told}"


class Shapes:
    """Which shape the answer to a request has."""

    def __init__(self, shapes: Mapping[str, Any]) -> None:
        self._routes = []
        for name, told in shapes.items():
            method, _, template = name.partition(" ")
            pattern = re.sub(r"\\{job\\}", "(?:.+?)", re.escape(template))
            pattern = re.sub(r"\\{\w+\\}", "[^/]+", pattern)
            self._routes.append((method, re.compile(pattern), name, told))

    def find(self, method: str, path: str) -> tuple[str, Any]:
        """The route, and its shape or None."""
        found = [
            (len(re.sub(r"\{\w+\}", "", name)), name, told)
            for wanted, pattern, name, told in self._routes
            if wanted == method and pattern.fullmatch(path)
        ]
        if not found:
            return f"{method} {_UUID.sub('{id}', path)}", None
        # The one that says the most of the path.
        _, name, told = max(found, key=lambda each: each[:2])
        return name, told


class Replay:
    """The requests of one file, in their order, against one server."""

    def __init__(self, client: httpx.Client, shapes: Shapes) -> None:
        self._client = client
        self._shapes = shapes
        #: Recorded id -> the id here.
        self._ids: dict[str, str] = {}
        #: Recorded index -> the index here, of what was written last.
        self._indexes: dict[int, int] = {}
        #: The same of versions of jobs, as the answer to their write told them first: lists that
        #: are in another order here tell other ones.
        self._job_indexes: dict[int, int] = {}
        #: The same of settings that were read: what a write is compared with (`cas`).
        self._settings_indexes: dict[int, int] = {}
        #: Recorded token of a next page -> the token here.
        self._tokens: dict[str, str] = {}
        self._waited_for: set[tuple[str, ...]] = set()
        #: Recorded id -> the object that has it, for ids which no earlier answer told.
        self._recorded: dict[str, dict[str, Any]] = {}

    def play(self, name: str, rows: list[Mapping[str, Any]]) -> Iterator[Compared]:
        """Send everything. A request that the recording left unanswered is left out."""
        for row in rows:
            for exchange in row["Exchanges"]:
                _note_objects(_document(exchange), self._recorded)
        for row in rows:
            for exchange in row["Exchanges"]:
                if exchange["Status"] in (0, 101):
                    continue
                route, told = self._shapes.find(exchange["Method"], unquote(exchange["Path"]))
                found, moments = self._compared(route, exchange, told)
                request = f"{exchange['Method']} {exchange['Path']}?{exchange['Query']}"
                command = row["Command"] or ""
                yield Compared(name, command, route, request, tuple(found), tuple(moments))

    def _compared(
        self, route: str, exchange: Mapping[str, Any], told: Any
    ) -> tuple[list[str], list[str]]:
        recorded = _document(exchange)
        for _ in range(round(_patience(exchange) / LOOK_S)):
            status, headers, body = self._send(exchange)
            found = _differences(exchange, told, recorded, status, headers, body)
            moments = list(_states(recorded, body, "$")) if status < 400 else []
            kind = (route, *map(_masked, (*found, *moments)), str(_patience(exchange)))
            # A write that was refused changed nothing: it may be sent again until its time comes.
            is_done = exchange["Method"] != "GET" and status < 400
            if not found + moments or is_done or kind in self._waited_for:
                break
            if status == httpx.codes.NOT_IMPLEMENTED:
                break
            time.sleep(LOOK_S)
        else:
            # Waiting did not help: the same difference is not waited for again.
            self._waited_for.add(kind)
        if not isinstance(body, str):
            self._learn(recorded, body)
        if token := exchange.get("Headers", {}).get("X-Nomad-Nexttoken"):
            self._tokens[token] = headers.get("X-Nomad-NextToken", token)
        return found, moments

    def _send(self, exchange: Mapping[str, Any]) -> tuple[int, httpx.Headers, Any]:
        for recorded in _ids_of(exchange):
            self._find(recorded)
        path = self._here(exchange["Path"])
        query = [
            (key, self._parameter(key, value))
            for key, value in parse_qsl(exchange["Query"], keep_blank_values=True)
            if key not in _OF_WAITING
        ]
        sent = exchange.get("RequestBody") or ""
        content = (
            base64.b64decode(sent)
            if exchange.get("RequestBodyIsBase64")
            else _MODIFY_INDEX.sub(
                lambda found: found[1] + self._job_index(found[2]), self._here(sent)
            ).encode()
        )
        if _STREAMS.fullmatch(path):
            return self._stream(exchange["Method"], path, query)
        answer = self._client.request(
            exchange["Method"], path, params=query, content=content or None
        )
        return answer.status_code, answer.headers, _read(answer.text)

    def _stream(self, method: str, path: str, query: list[tuple[str, str]]) -> Any:
        with self._client.stream(method, path, params=query, timeout=STREAM_S) as answer:
            pieces: list[str] = []
            end = CLOCK.monotonic() + STREAM_S
            with contextlib.suppress(httpx.ReadTimeout):
                for piece in answer.iter_text():
                    pieces.append(piece)
                    if CLOCK.monotonic() > end:
                        break
            return answer.status_code, answer.headers, "".join(pieces)

    def _parameter(self, key: str, value: str) -> str:
        if key == "next_token" and value in self._tokens:
            return self._tokens[value]
        if key == "prefix" and len(value) < _SHORTEST_ID:
            known = {self._ids[each] for each in self._ids if each.startswith(value)}
            return known.pop()[: len(value)] if len(known) == 1 else value
        if key == "cas":
            return str(self._settings_indexes.get(int(value), self._index(value)))
        return self._here(value)

    def _index(self, recorded: str) -> str:
        return str(self._indexes.get(int(recorded), recorded))

    def _job_index(self, recorded: str) -> str:
        return str(self._job_indexes.get(int(recorded), recorded))

    def _find(self, recorded: str) -> None:
        """Look among the things of this server for one whose id no answer has told yet."""
        if _CHILD.fullmatch(recorded):
            self._find_child(recorded)
        known = [each for each in self._ids if each.startswith(recorded)]
        about = next((o for i, o in self._recorded.items() if i.startswith(recorded)), None)
        if known or about is None:
            return
        for path, keys in _KINDS.items():
            if all(key in about for key in keys):
                listed = self._client.get(path, params={"namespace": "*"}).json()
                # Where nothing has all of it, the last is left away: it is what changes soonest.
                for wanted in (keys, keys[:-1]):
                    if like := [e for e in listed if all(e[key] == about[key] for key in wanted)]:
                        newest = max(like, key=lambda each: each["CreateIndex"])
                        self._ids[about["ID"]] = newest["ID"]
                        return
                return

    def _find_child(self, recorded: str) -> None:
        """The newest job here that was launched or dispatched as that one was."""
        if recorded in self._ids:
            return
        prefix = re.sub(r"\d+(?:-[0-9a-f]{8})?$", "", recorded)
        listed = self._client.get("/v1/jobs", params={"prefix": prefix}).json()
        # Not those whose ids have a word more.
        like = re.compile(re.escape(prefix) + r"\d+(?:-[0-9a-f]{8})?")
        known = self._ids.values()
        if there := [e for e in listed if like.fullmatch(e["ID"]) and e["ID"] not in known]:
            newest = max(there, key=lambda each: each["CreateIndex"])
            self._ids[recorded] = newest["ID"]

    def _here(self, text: str) -> str:
        """A recorded text with the ids of this server."""
        text = _NAMED.sub(lambda found: self._ids.get(found[0], found[0]), _unquoted_ids(text))
        for recorded, here in self._ids.items():
            if _UUID.fullmatch(recorded):
                text = re.sub(rf"(?<![0-9a-f-]){recorded[:8]}(?![0-9a-f-])", here[:8], text)
        return text

    def _learn(self, recorded: Any, here: Any) -> None:
        """Which id here stands for which recorded one."""
        if isinstance(recorded, dict) and isinstance(here, dict):
            for key in recorded.keys() & here.keys():
                self._learn_index(key, recorded[key], here[key])
                self._learn(recorded[key], here[key])
        elif isinstance(recorded, list) and isinstance(here, list):
            for one, other in _pairs(recorded, here):
                self._learn(one, other)
        elif isinstance(recorded, str) and isinstance(here, str):
            for kind in (_UUID, _CHILD):
                if kind.fullmatch(recorded) and kind.fullmatch(here):
                    self._ids.setdefault(recorded, here)

    def _learn_index(self, key: str, recorded: Any, here: Any) -> None:
        if key in _INDEXES:
            self._indexes[recorded] = here
        if key == "JobModifyIndex":
            self._job_indexes.setdefault(recorded, here)
        if key == "SchedulerConfig":
            self._settings_indexes[recorded["ModifyIndex"]] = here["ModifyIndex"]


def _note_objects(document: Any, found: dict[str, dict[str, Any]]) -> None:
    """Every object with an id that a recorded answer holds."""
    if isinstance(document, list):
        for item in document:
            _note_objects(item, found)
    elif isinstance(document, dict):
        if _UUID.fullmatch(str(document.get("ID"))):
            found.setdefault(document["ID"], document)
        for item in document.values():
            _note_objects(item, found)


def _patience(exchange: Mapping[str, Any]) -> float:
    """Seconds until an answer counts as the last word."""
    return WAITED_S if "index=" in exchange["Query"] else SETTLE_S


def _ids_of(exchange: Mapping[str, Any]) -> list[str]:
    """Ids and their beginnings in what was asked."""
    text = f"{exchange['Path']} {exchange['Query']} {exchange.get('RequestBody') or ''}"
    children = _CHILD.findall(unquote(f"{exchange['Path']} {exchange['Query']}"))
    ends = [re.split(r"[ =&]", each)[-1] for each in children]
    return _UUID.findall(text) + _SHORT.findall(text) + ends


def _unquoted_ids(text: str) -> str:
    """Slashes within ids of children as they are, as a path may carry them."""
    return text.replace("%2F", "/") if _CHILD.search(text.replace("%2F", "/")) else text


def _pairs(recorded: list[Any], here: list[Any]) -> Iterator[tuple[Any, Any]]:
    """What stands for what in two lists: by names, of alike things the newest for the newest."""

    def name(item: Any) -> Any:
        return item.get("Name") if isinstance(item, dict) else None

    by_name = {name(item): item for item in here if name(item)}
    names = [name(item) for item in recorded]
    if all(names) and len(set(names)) == len(names) and len(by_name) == len(here):
        yield from ((item, by_name[name(item)]) for item in recorded if name(item) in by_name)
    elif all(isinstance(item, dict) and "CreateIndex" in item for item in recorded + here):
        left = sorted(here, key=_age)
        for item in sorted(recorded, key=_age):
            if like := next((each for each in left if _kind(each) == _kind(item)), None):
                left.remove(like)
                # Which of several evaluations it is may be guessed; a rollout is asked for itself.
                yield {key: item[key] for key in item if key != "DeploymentID"}, like
    else:
        yield from zip(recorded, here, strict=False)


def _age(item: Mapping[str, Any]) -> int:
    return -item["CreateIndex"]


def _kind(item: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(item.get(key) for key in ("JobID", "TriggeredBy", "JobVersion", "TaskGroup"))


def _document(exchange: Mapping[str, Any]) -> Any:
    if exchange.get("BodyIsBase64"):
        return ""
    return _read(exchange.get("ResponseBody") or "")


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _differences(
    exchange: Mapping[str, Any], told: Any, recorded: Any, status: int, headers: Any, body: Any
) -> list[str]:
    wanted = 400 if exchange["Status"] == 500 else exchange["Status"]
    have = 400 if status == 500 else status
    if wanted != have:
        return [f"status {exchange['Status']} was wanted, not {status}: {str(body)[:120]}"]
    if wanted >= 400:
        same = _masked(str(recorded)) == _masked(str(body))
        return [] if same else [f"{str(recorded)[:160]!r} was wanted, not {str(body)[:160]!r}"]
    found = [
        f"header {name} is missing"
        for name in _HEADERS
        if name in exchange.get("Headers", {}) and name not in headers
    ]
    if _STREAMS.fullmatch(exchange["Path"]):
        return found
    if isinstance(recorded, list) and recorded and not body:
        return [*found, "something was wanted, not an empty list"]
    if isinstance(recorded, str) or told is None:
        is_text = isinstance(recorded, str) == isinstance(body, str)
        return found if is_text else [*found, f"a text was wanted, not {str(body)[:80]}"]
    return found + differences(told["Response"], body)


def _states(recorded: Any, here: Any, path: str) -> Iterator[str]:
    """Where a thing is in another state."""
    if isinstance(recorded, list) and isinstance(here, list) and len(recorded) == len(here) == 1:
        yield from _states(recorded[0], here[0], f"{path}[0]")
    elif isinstance(recorded, dict) and isinstance(here, dict):
        for key in _STATES:
            if key in recorded and recorded[key] != here.get(key):
                yield f"{path}: {key} {recorded[key]!r} was wanted, not {here.get(key)!r}"


def _masked(text: str) -> str:
    text = _NAMED.sub("<id>", text)
    text = re.sub(r"(?<=[\s\"(])/\S*/alloc/", "<dir>/alloc/", text)
    text = re.sub(r"\b[0-9a-f]{8}\b", "<id>", text)
    return re.sub(r"\d+", "<n>", text).strip()
