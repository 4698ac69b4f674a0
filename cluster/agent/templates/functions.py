"""What templates can call: the environment, files, variables and services, and small helpers.

In: a `RenderOrder`. Out: functions by their names; what they were asked for and what is missing
is written down. Names and behaviour are of docs/spec/node-agent-2.md, 2.4.
"""

import base64
import hashlib
import hmac
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from gotpl.funcs.sprig import hermetic_text_func_map

from cluster.agent.own_places import LeadsOut, reading
from cluster.agent.templates.render_order import (
    SERVICE,
    SERVICES,
    VARIABLE,
    VARIABLES,
    FoundService,
    RenderOrder,
)

#: What templates can name and nobody carries out, by whose it is.
DENIED = ("executeTemplate", "plugin", "writeToFile")
OF_CONSUL = (
    "key", "keyExists", "keyOrDefault", "ls", "safeLs", "tree", "safeTree", "service", "services",
    "connect", "node", "nodes", "datacenters", "partitions", "peerings", "caRoots", "caLeaf",
    "exportedServices", "importedServices",
)  # fmt: skip
OF_VAULT = ("secret", "secrets", "pkiCert")
#: Bytes of a file that a template may read.
_MAX_FILE = 16 * 1024 * 1024
#: What sprig has and templates do not: keys and certificates made anew at each look.
_NOT_TAKEN = re.compile("^(gen|buildCustomCert|hello|rand|shuffle)")


class VariableItems(dict[str, str]):
    """A variable: its items to range over, and what is said about it by name."""

    def __init__(self, path: str, namespace: str, items: Mapping[str, str]) -> None:
        super().__init__(items)
        pairs = [{"K": key, "V": items[key]} for key in sorted(items)]
        self._about: dict[str, object] = {
            "Path": path,
            "Namespace": namespace,
            "Items": dict(items),
            "Keys": sorted(items),
            "Values": [items[key] for key in sorted(items)],
            "Tuples": pairs,
        }

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self._about

    def __getitem__(self, key: str) -> Any:
        return super().__getitem__(key) if super().__contains__(key) else self._about[key]


class Lookups:
    """The cluster as one template sees it, and what it asked for."""

    def __init__(self, order: RenderOrder) -> None:
        self._order = order
        self.uses: dict[str, None] = {}
        self.needs: dict[str, None] = {}
        self.missing: dict[str, None] = {}

    def variable(self, path: str) -> Mapping[str, str]:
        """`nomadVar`: its items; missing, it holds the template up."""
        found = self._order.found.variables
        place, namespace = self._split(path)
        if self._is_asked(VARIABLE, path, found):
            items = found[path]
            if items is not None:
                return VariableItems(place, namespace, items)
            whole = f"{place}@{namespace}.{self._order.region}"
            self.missing[f"nomad.var.block({whole})"] = None
        return VariableItems(place, namespace, {})

    def has_variable(self, path: str) -> bool:
        """`nomadVarExists`."""
        found = self._order.found.variables
        return self._is_asked(VARIABLE, path, found) and found[path] is not None

    def variables(self, prefix: str = "") -> list[dict[str, str]]:
        """`nomadVarList`: places of variables below a prefix."""
        found = self._order.found.lists
        if not self._is_asked(VARIABLES, prefix, found):
            return []
        namespace = self._split(prefix)[1]
        return [{"Path": path, "Namespace": namespace} for path in found[prefix]]

    def service(self, *asked: object) -> list[dict[str, object]]:
        """`nomadService`: its addresses; with a number and a key, so many chosen by the key."""
        name = str(asked[-1])
        found = self._order.found.services
        if not self._is_asked(SERVICE, name, found):
            return []
        rows = list(found[name])
        if len(asked) == 3:
            rows = _chosen(rows, int(str(asked[0])), str(asked[1]))
        elif len(asked) != 1:
            raise ValueError("nomadService takes a name, or a number, a key and a name")
        return [_service_form(row) for row in sorted(rows, key=lambda row: row.id)]

    def services(self, *_where: str) -> list[dict[str, object]]:
        """`nomadServices`: every name with its tags."""
        found = self._order.found.all_services
        self.uses[SERVICES] = None
        if found is None:
            self.needs[SERVICES] = None
            return []
        return [{"Name": name, "Tags": list(found[name])} for name in sorted(found)]

    def _is_asked(self, kind: str, name: str, found: Mapping[str, object]) -> bool:
        key = f"{kind} {name}"
        self.uses[key] = None
        if name not in found:
            self.needs[key] = None
            return False
        return True

    def _split(self, path: str) -> tuple[str, str]:
        place, _, namespace = path.partition("@")
        return place, namespace or self._order.namespace


def functions_of(order: RenderOrder, lookups: Lookups) -> dict[str, Callable[..., object]]:
    """Every function that a template of this order may call."""
    return {
        **{f"sprig_{name}": function for name, function in _sprig().items()},
        **_HELPERS,
        **_of_environment(order),
        "nomadVar": lookups.variable,
        "nomadVarExists": lookups.has_variable,
        "nomadVarList": lookups.variables,
        "nomadVarListSafe": lookups.variables,
        "nomadService": lookups.service,
        "nomadServices": lookups.services,
        **{name: _refusing("function is disabled") for name in DENIED},
        **{name: _refusing("there is no connection to Consul") for name in OF_CONSUL},
        **{name: _refusing("there is no connection to Vault") for name in OF_VAULT},
    }


def _sprig() -> Mapping[str, Callable[..., object]]:
    return {
        name: function
        for name, function in hermetic_text_func_map().items()
        if not _NOT_TAKEN.match(name)
    }


def _of_environment(order: RenderOrder) -> dict[str, Callable[..., object]]:
    env = order.env

    def must(name: str) -> str:
        if name not in env:
            raise ValueError(f"environment variable {name} must be set")
        return env[name]

    def read(path: str) -> str:
        try:
            with reading(Path(order.bounds), Path(order.task_root) / path) as file:
                if os.fstat(file.fileno()).st_size > _MAX_FILE:
                    raise ValueError(f"'{path}' has more than {_MAX_FILE} bytes")
                return file.read()
        except LeadsOut as problem:
            raise ValueError(f"'{path}' is outside of sandbox") from problem

    def timestamp(form: str = "") -> str:
        moment = datetime.fromtimestamp(order.now, UTC)
        if form == "unix":
            return str(int(order.now))
        if form:
            raise ValueError('timestamp knows no form but "unix": leave it out for RFC 3339')
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    return {
        "env": lambda name: env.get(name, ""),
        "mustEnv": must,
        "envOrDefault": lambda name, other: env.get(name) or other,
        "file": read,
        "timestamp": timestamp,
    }


def _refusing(why: str) -> Callable[..., object]:
    def refuse(*_arguments: object) -> object:
        raise ValueError(why)

    return refuse


def _chosen(rows: list[FoundService], count: int, key: str) -> list[FoundService]:
    """The same few for the same key, as long as they are there (rendezvous hashing)."""

    def weight(row: FoundService) -> str:
        return hashlib.md5(f"{key}{row.id}".encode(), usedforsecurity=False).hexdigest()

    return sorted(rows, key=weight)[:count]


def _service_form(row: FoundService) -> dict[str, object]:
    return {
        "ID": row.id, "Name": row.name, "Node": row.node, "Address": row.address,
        "Port": row.port, "Datacenter": row.datacenter, "Tags": list(row.tags),
        "JobID": row.job_id, "AllocID": row.alloc_id,
    }  # fmt: skip


def _loop(*bounds: int) -> Iterator[int]:
    return iter(range(*bounds))


def _parsed_bool(text: str) -> bool:
    words = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}
    if text.lower() not in words:
        raise ValueError(f"{text!r} is neither true nor false")
    return words[text.lower()]


def _indent(spaces: int, text: str) -> str:
    return "\n".join(f"{' ' * spaces}{line}" if line else line for line in text.split("\n"))


def _split_to_map(outer: str, inner: str, text: str) -> dict[str, str]:
    pairs = (part.partition(inner) for part in text.split(outer) if part)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _by_tag(services: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for service in services:
        for tag in service["Tags"]:
            found.setdefault(tag, []).append(service)
    return found


def _by_port(services: Iterable[Mapping[str, Any]]) -> dict[int, list[Mapping[str, Any]]]:
    found: dict[int, list[Mapping[str, Any]]] = {}
    for service in services:
        found.setdefault(service["Port"], []).append(service)
    return found


def _decoded(text: str, *, url: bool = False) -> str:
    decode = base64.urlsafe_b64decode if url else base64.b64decode
    return decode(text).decode()


def _divide(by: int, number: int) -> int:
    """Towards zero, as Go divides."""
    return int(number / by)


def _pretty(value: object, *, html: bool = True) -> str:
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    return _escaped(text) if html else text


def _compact(value: object, *, html: bool = True) -> str:
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return _escaped(text) if html else text


def _escaped(text: str) -> str:
    """As Go's encoder writes what could end a script."""
    signs = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
    return re.sub("[<>&]", lambda match: signs[match[0]], text)


_HELPERS: dict[str, Callable[..., object]] = {
    "add": lambda by, number: number + by,
    "subtract": lambda by, number: number - by,
    "multiply": lambda by, number: number * by,
    "divide": _divide,
    "modulo": lambda by, number: number - by * _divide(by, number),
    "minimum": min,
    "maximum": max,
    "base64Decode": _decoded,
    "base64Encode": lambda text: base64.b64encode(text.encode()).decode(),
    "base64URLDecode": lambda text: _decoded(text, url=True),
    "base64URLEncode": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "byPort": _by_port,
    "byTag": _by_tag,
    "contains": lambda value, group: value in group,
    "containsAll": lambda wanted, group: all(value in group for value in wanted),
    "containsAny": lambda wanted, group: any(value in group for value in wanted),
    "containsNone": lambda wanted, group: not any(value in group for value in wanted),
    "containsNotAll": lambda wanted, group: not all(value in group for value in wanted),
    "hmacSHA256Hex": lambda text, key: hmac.new(
        key.encode(), text.encode(), hashlib.sha256
    ).hexdigest(),
    "in": lambda group, value: value in group,
    "indent": _indent,
    "join": lambda sign, parts: sign.join(parts),
    "loop": _loop,
    "md5sum": lambda text: hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
    "mergeMap": lambda over, under: {**over, **under},
    "mergeMapWithOverride": lambda over, under: {**under, **over},
    "parseBool": _parsed_bool,
    "parseFloat": float,
    "parseInt": int,
    "parseJSON": json.loads,
    "parseUint": int,
    "parseYAML": yaml.safe_load,
    "regexMatch": lambda pattern, text: re.search(pattern, text) is not None,
    "regexReplaceAll": lambda pattern, other, text: re.sub(pattern, _groups(other), text),
    "replaceAll": lambda old, new, text: text.replace(old, new),
    "sha256Hex": lambda text: hashlib.sha256(text.encode()).hexdigest(),
    "split": lambda sign, text: text.split(sign) if text else [],
    "splitToMap": _split_to_map,
    "toJSON": _compact,
    "toJSONPretty": _pretty,
    "toLower": str.lower,
    "toTitle": str.title,
    "toUnescapedJSON": lambda value: _compact(value, html=False),
    "toUnescapedJSONPretty": lambda value: _pretty(value, html=False),
    "toUpper": str.upper,
    "toYAML": lambda value: yaml.safe_dump(value, default_flow_style=False).rstrip("\n"),
    "trim": lambda signs, text: text.strip(signs),
    "trimPrefix": lambda start, text: text.removeprefix(start),
    "trimSpace": str.strip,
    "trimSuffix": lambda end, text: text.removesuffix(end),
}


def _groups(text: str) -> str:
    """`$1` and `${name}` of Go's expressions, as Python's have them."""
    return re.sub(r"\$\{?(\w+)\}?", r"\\g<\1>", text.replace("\\", "\\\\"))
