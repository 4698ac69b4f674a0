"""A policy's text checked and made into rules (access.md 1).

In: HCL or JSON text. Out: `PolicyRules`, or every problem with its line. Levels are expanded into
capabilities here, so that nobody else needs the text again.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from cluster.policies.syntax import PolicyItem, PolicySyntaxError, PolicyValue, read_items
from scheduler.access.capabilities import KNOWN, LEVELS, PLUGIN_LEVELS
from scheduler.access.rules import (
    LevelRule,
    NamedRule,
    NamespaceRule,
    OperatorRule,
    PathRule,
    PolicyRules,
    VariablesRule,
    expanded,
    expanded_path,
)

_NAME = re.compile(r"[a-zA-Z0-9*-]{1,128}")
_POOL_NAME = re.compile(r"[a-zA-Z0-9_*-]{1,128}")
_LABELLED = ("namespace", "node_pool", "host_volume")
_LEVELLED = ("agent", "node", "operator", "sentinel", "quota", "plugin")
_WITH_CAPABILITIES = ("operator", "sentinel")


class PolicyProblems(Exception):
    """The text is no policy; `problems` says why, all of it, in the order of the text."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


@dataclass(slots=True)
class _Block:
    """One block: its label ("" where it has none) and what stands inside, by key."""

    kind: str
    label: str
    line: int
    column: int
    policy: str = ""
    capabilities: list[str] = field(default_factory=list)
    paths: list[tuple[str, list[str]]] | None = None

    @property
    def place(self) -> str:
        return f" (at {self.line}:{self.column})"


def read_policy(text: str) -> PolicyRules:
    """The rules of a policy about to be stored. Raises PolicyProblems."""
    rules, problems = _read(text)
    if rules.extra_keys:
        problems.append(f"Invalid or duplicate policy keys: {', '.join(rules.extra_keys)}")
    if problems:
        raise PolicyProblems(problems)
    return rules


def read_stored_policy(text: str) -> PolicyRules:
    """The rules of a stored policy: what is unknown today is passed over, what is left holds."""
    return _read(text)[0]


def _read(text: str) -> tuple[PolicyRules, list[str]]:
    if not text.strip():
        return PolicyRules(raw=text), []
    try:
        items = read_items(text)
    except PolicySyntaxError as error:
        return PolicyRules(raw=text), [f"Failed to parse ACL Policy: {error}"]
    reader = _PolicyReader()
    blocks = reader.blocks(items)
    if not blocks and not reader.problems:
        return PolicyRules(raw=text, extra_keys=tuple(reader.extra)), [f"Invalid policy: {text}"]
    reader.check(blocks)
    return _rules(text, blocks, reader.extra), reader.problems


class _PolicyReader:
    """Collects blocks and what is wrong with them."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.extra: list[str] = []

    def blocks(self, items: list[PolicyItem]) -> list[_Block]:
        found: list[_Block] = []
        seen: set[str] = set()
        for item in items:
            kind = item.keys[0]
            if kind in _LABELLED:
                found.extend(self._labelled(item))
            elif kind in _LEVELLED and kind not in seen and len(item.keys) == 1:
                seen.add(kind)
                found.extend(self._block(kind, "", inner) for inner in _objects(item.value))
            else:
                self.extra.extend(item.keys)
        return found

    def check(self, blocks: list[_Block]) -> None:
        for block in blocks:
            if block.kind in _LABELLED:
                self._check_named(block)
            else:
                self._check_levelled(block)

    def _labelled(self, item: PolicyItem) -> Iterator[_Block]:
        kind = item.keys[0]
        if len(item.keys) > 1:
            for inner in _objects(item.value):
                yield self._block(kind, item.keys[1], inner)
        elif item.value.items is not None:
            # The JSON form: the labels are the members of the object.
            for member in item.value.items:
                for inner in _objects(member.value):
                    yield self._block(kind, member.keys[0], inner)
        else:
            yield self._block(kind, "", item.value)

    def _block(self, kind: str, label: str, value: PolicyValue) -> _Block:
        block = _Block(kind, label, value.line, value.column)
        for item in value.items or ():
            key = item.keys[0]
            if key == "policy":
                block.policy = self._text(item.value, f"{kind}.policy")
            elif key == "capabilities" and (kind in _LABELLED or kind in _WITH_CAPABILITIES):
                block.capabilities = self._texts(item.value, f"{kind}.capabilities")
            elif key == "variables" and kind == "namespace":
                block.paths = (block.paths or []) + self._paths(item.value)
        return block

    def _paths(self, value: PolicyValue) -> list[tuple[str, list[str]]]:
        found: list[tuple[str, list[str]]] = []
        for inner in _objects(value):
            for item in inner.items or ():
                if item.keys[0] != "path":
                    continue
                if len(item.keys) > 1:
                    found.append((item.keys[1], self._path_capabilities(item.value)))
                elif item.value.items is not None:
                    found.extend(
                        (member.keys[0], self._path_capabilities(member.value))
                        for member in item.value.items
                    )
                else:
                    self._problem(
                        item.value, "namespace.variables.path: needs a path as its label"
                    )
        return found

    def _path_capabilities(self, value: PolicyValue) -> list[str]:
        for inner in _objects(value):
            for item in inner.items or ():
                if item.keys[0] == "capabilities":
                    return self._texts(item.value, "namespace.variables.path.capabilities")
        return []

    def _text(self, value: PolicyValue, path: str) -> str:
        if isinstance(value.scalar, str):
            return value.scalar
        self._problem(value, f"root.{path}: a text is expected")
        return ""

    def _texts(self, value: PolicyValue, path: str) -> list[str]:
        if value.elements is None:
            self._problem(value, f"root.{path}: a list of texts is expected")
            return []
        return [self._text(element, path) for element in value.elements]

    def _problem(self, value: PolicyValue, said: str) -> None:
        self.problems.append(f"Failed to parse ACL Policy: At {value.line}:{value.column}: {said}")

    def _check_named(self, block: _Block) -> None:
        said = {
            "namespace": ("namespace name", "namespace policy", "namespace capability"),
            "host_volume": ("host volume name", "host volume policy", "host volume capability"),
            "node_pool": ("node pool name", "node pool policy", "node pool capability"),
        }[block.kind]
        pattern = _POOL_NAME if block.kind == "node_pool" else _NAME
        if not pattern.fullmatch(block.label):
            self.problems.append(f"Invalid {said[0]} '{block.label}'{block.place}")
        if block.policy and block.policy not in LEVELS:
            self.problems.append(
                f"Invalid {said[1]} '{block.policy}' for '{block.label}'{block.place}"
            )
        for capability in block.capabilities:
            if capability not in KNOWN[block.kind]:
                self.problems.append(
                    f"Invalid {said[2]} '{capability}' for '{block.label}'{block.place}"
                )
        if block.paths is not None:
            self._check_paths(block)

    def _check_paths(self, block: _Block) -> None:
        assert block.paths is not None, "only blocks with variables are asked about them"
        if not block.paths:
            self.problems.append(
                f"Invalid variable policy: no variable paths in namespace {block.label}"
                f"{block.place}"
            )
        for path, capabilities in block.paths:
            if not path:
                self.problems.append(
                    f"Invalid missing variable path in namespace {block.label}{block.place}"
                )
            if path.startswith("/"):
                self.problems.append(
                    f'Invalid variable path "{path}" in namespace {block.label}: cannot start with'
                    f" a leading '/'`{block.place}"
                )
            self.problems.extend(
                f"Invalid variable capability '{capability}' in namespace {block.label}"
                f"{block.place}"
                for capability in capabilities
                if capability not in KNOWN["variables"]
            )

    def _check_levelled(self, block: _Block) -> None:
        levels = PLUGIN_LEVELS if block.kind == "plugin" else LEVELS
        may_be_empty = block.kind in _WITH_CAPABILITIES
        if block.policy not in levels and not (may_be_empty and not block.policy):
            self.problems.append(f"Invalid {block.kind} policy: '{block.policy}'{block.place}")
        self.problems.extend(
            f"Invalid {block.kind} capability '{capability}'{block.place}"
            for capability in block.capabilities
            if capability not in KNOWN[block.kind]
        )


def _objects(value: PolicyValue) -> list[PolicyValue]:
    """The objects of a value: itself, or the elements of a list of objects."""
    if value.elements is not None and all(item.items is not None for item in value.elements):
        return value.elements
    return [value]


def _rules(text: str, blocks: list[_Block], extra: list[str]) -> PolicyRules:
    named = {
        kind: tuple(
            NamedRule(
                name=block.label,
                policy=block.policy,
                capabilities=expanded(kind, block.policy, block.capabilities),
            )
            for block in blocks
            if block.kind == kind
        )
        for kind in ("node_pool", "host_volume")
    }
    levels = {
        block.kind: LevelRule(policy=block.policy)
        for block in blocks
        if block.kind in _LEVELLED and block.kind not in _WITH_CAPABILITIES
    }
    operators = {
        block.kind: OperatorRule(
            policy=block.policy,
            capabilities=expanded(block.kind, block.policy, block.capabilities),
        )
        for block in blocks
        if block.kind in _WITH_CAPABILITIES
    }
    return PolicyRules(
        namespaces=tuple(_namespace(block) for block in blocks if block.kind == "namespace"),
        node_pools=named["node_pool"],
        host_volumes=named["host_volume"],
        agent=levels.get("agent"),
        node=levels.get("node"),
        quota=levels.get("quota"),
        plugin=levels.get("plugin"),
        operator=operators.get("operator"),
        sentinel=operators.get("sentinel"),
        raw=text,
        extra_keys=tuple(extra),
    )


def _namespace(block: _Block) -> NamespaceRule:
    variables = None
    if block.paths is not None:
        variables = VariablesRule(
            paths=tuple(
                PathRule(path_spec=path, capabilities=expanded_path(capabilities))
                for path, capabilities in block.paths
            )
        )
    return NamespaceRule(
        name=block.label,
        policy=block.policy,
        capabilities=expanded("namespace", block.policy, block.capabilities),
        variables=variables,
    )
