"""Requests that the reference's command line has sent, and some of ours, each broken a little.

What is made of nothing mostly ends at the first check. These pass it: of a request that was good a
value or two are replaced, left out, nested or sent twice. The same seed makes the same requests.
"""

import copy
import gzip
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random  # noqa: TID251 - the same requests every time
from typing import Any, NamedTuple
from urllib.parse import quote

_RECORDED = Path(__file__).parents[2] / "vectors" / "cli"
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
#: What a program may send in a value's place.
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 50, 101, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 2**70, 1.5, -0.0,
    1e308, "", " ", "0", "-1", "1h", "-1h", "1000000h", "x" * 600, "a/b", "..", "*", "\u2603",
    "a\x00b", "a\nb", "${", "${node.class}", "%", "%00", "\ud83d", "{}", "(a+)+$", "[",
    "2026-02-30T00:00:00Z", [], [None], [[]], [0], ["a", "a"], {}, {"": None},
    {"a": {"a": {"a": 1}}}, {"ID": 1},
)  # fmt: skip
ODD_QUERY = (
    "", "0", "-1", "1", "1.5", "x", "true", "null", "99999999999999999999", "*", "%", "a b",
    "\x00", "Name ==", 'Status == "pending"', "not (", 'Name matches "("', "\u2603", "1ms", "-1s",
    "9" * 400,
)  # fmt: skip
PARAMETERS = (
    "prefix", "filter", "per_page", "next_token", "reverse", "namespace", "index", "wait", "stale",
    "pretty", "type", "all", "purge", "force", "global", "resources", "related", "version",
    "diffs", "cas", "lock-acquire", "id", "node_id", "since", "region", "additions", "group",
    "key", "full",
)  # fmt: skip
#: They end what the others need: the record is replaced, or a stream never ends.
LEFT_OUT = re.compile(
    r"/v1/(?:operator/snapshot|event/stream|agent/monitor|acl/bootstrap|client/fs)"
)


class Request(NamedTuple):
    """One request; no body where `body` is None."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Any = None


#: What the recordings have no example of.
OURS = (
    Request("PUT", "/v1/var/a/b", body={"Items": {"k": "v"}, "Path": "a/b"}),
    Request("PUT", "/v1/var/a/b", (("lock-acquire", ""),), {"Lock": {"TTL": "15s"}}),
    Request("PUT", "/v1/namespace/team", body={"Name": "team", "Description": "",
            "Meta": {"a": "b"}, "Capabilities": {"EnabledTaskDrivers": ["exec"]}}),
    Request("PUT", "/v1/node/pool/fast", body={"Name": "fast", "Meta": {},
            "NodeIdentityTTL": "1h", "SchedulerConfiguration": {"SchedulerAlgorithm": "spread"}}),
    Request("PUT", "/v1/quota", body={"Name": "small", "Limits": [
        {"Region": "global", "RegionLimit": {"CPU": 100, "MemoryMB": 100}}]}),
    Request("PUT", "/v1/acl/policy/p", body={"Name": "p", "Rules": 'agent { policy = "read" }'}),
    Request("PUT", "/v1/acl/role", body={"Name": "r", "Policies": [{"Name": "p"}]}),
    Request("PUT", "/v1/acl/token", body={"Name": "t", "Type": "client", "Policies": ["p"],
            "ExpirationTTL": "1h"}),
    Request("PUT", "/v1/acl/auth-method", body={"Name": "m", "Type": "JWT", "MaxTokenTTL": "1h",
            "TokenLocality": "local", "Config": {"JWTValidationPubKeys": ["x"]}}),
    Request("PUT", "/v1/acl/binding-rule", body={"AuthMethod": "m", "BindType": "policy",
            "BindName": "p", "Selector": 'a == "b"'}),
    Request("PUT", "/v1/operator/scheduler/configuration", body={"SchedulerAlgorithm": "binpack",
            "PreemptionConfig": {"SystemSchedulerEnabled": True}}),
    Request("PUT", "/v1/webhook/chat", body={"Name": "chat", "URL": "https://a.example/x",
            "Kinds": ["node-lost"], "BlockedAfter": "10m"}),
    Request("PUT", "/v1/volume/host/create", body={"Volume": {"Name": "v", "PluginID": "mkdir",
            "RequestedCapacityMinBytes": 1, "RequestedCapabilities": [
                {"AccessMode": "single-node-writer", "AttachmentMode": "file-system"}]}}),
    Request("PUT", "/v1/rehearsals", body={"Changes": [{"Kind": "drain", "Nodes": ["n1"]}]}),
    Request("PUT", "/v1/drains", body={"Filter": 'Name == "x"', "AtOnce": 1, "Deadline": "1h"}),
    Request("PUT", "/v1/jobs/statuses", body={"jobs": [{"id": "web", "namespace": "default"}]}),
    Request("PUT", "/v1/job/etl/dispatch", body={"Payload": "YQ==", "Meta": {"a": "b"}}),
    Request("PUT", "/v1/search/fuzzy", body={"Text": "web", "Context": "all"}),
    Request("PUT", "/v1/client/metadata", body={"NodeID": "n", "Meta": {"a": "b", "c": None}}),
)  # fmt: skip


@cache
def recorded() -> tuple[Request, ...]:
    """Each form once: two requests that differ by ids and texts alone count as one."""
    found: dict[object, Request] = {}
    for file in sorted(_RECORDED.glob("*.jsonl.gz")):
        with gzip.open(file, "rt") as lines:
            for line in lines:
                for sent in json.loads(line)["Exchanges"]:
                    for form, request in _read(sent):
                        found.setdefault(form, request)
    return (*found.values(), *OURS)


def _read(sent: dict[str, Any]) -> Iterator[tuple[object, Request]]:
    if LEFT_OUT.match(sent["Path"]):
        return
    try:
        body = json.loads(sent["RequestBody"]) if sent["RequestBody"] else None
    except ValueError:
        return
    query = tuple(
        (name, value)
        for name, _, value in (part.partition("=") for part in sent["Query"].split("&") if part)
        if name not in {"index", "wait"}
    )
    request = Request(sent["Method"], sent["Path"], query, body)
    form = (sent["Method"], _UUID.sub("#", sent["Path"]), len(sent["RequestBody"]) // 200)
    yield form, request


def mutated(seed: int, known: dict[str, tuple[str, ...]]) -> Request:
    """The request of a seed; `known` names what the record holds: nodes, jobs, ..."""
    chance = Random(seed)  # noqa: S311 - no secret
    request = chance.choice(recorded())
    path = _with_known(chance, request.path, known)
    body = copy.deepcopy(request.body)
    query = list(request.query)
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
        if body is not None and chance.random() < 0.8:
            body = _broken(chance, body)
        else:
            query.append((chance.choice(PARAMETERS), chance.choice(ODD_QUERY)))
    method = chance.choice((request.method,) * 12 + ("GET", "PUT", "POST", "DELETE"))
    if any(name == "index" for name, _ in query):
        query = [(name, value) for name, value in query if name != "wait"] + [("wait", "1ms")]
    return Request(method, path, tuple(query), body)


def _with_known(chance: Random, path: str, known: dict[str, tuple[str, ...]]) -> str:
    parts = path.split("/")
    named = known.get(parts[2], ()) if len(parts) > 3 else ()
    if named and chance.random() < 0.7:
        parts[3] = chance.choice(named)
    elif len(parts) > 3 and chance.random() < 0.1:
        parts[chance.randrange(3, len(parts))] = quote(str(chance.choice(ODD_QUERY)), safe="")
    return "/".join(parts)


def _broken(chance: Random, body: Any) -> Any:
    places = list(_places(body)) if isinstance(body, (dict, list)) else []
    if not places:
        return _odd(chance)
    holder, key = chance.choice(places)
    act = chance.random()
    if act < 0.65:
        holder[key] = _odd(chance)
    elif act < 0.75:
        del holder[key]
    elif act < 0.85:
        holder[key] = [holder[key], copy.deepcopy(holder[key])]
    elif act < 0.92 and isinstance(holder, dict):
        holder[key.swapcase()] = _odd(chance)
    else:
        # As long as a value is, another one of the same body may stand there.
        other, name = chance.choice(places)
        holder[key] = copy.deepcopy(other[name])
    return body


def _odd(chance: Random) -> Any:
    return copy.deepcopy(chance.choice(ODD))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys: Any = value if isinstance(value, dict) else range(len(value))
    for key in list(keys):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from _places(value[key])


def as_json(body: Any) -> bytes:
    """Lone surrogates and numbers of any size, as any program may send them."""
    try:
        return json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(body).encode()
