"""An agent's configuration file: HCL or JSON, one file or a folder of them.

In: a path. Out: the values by their keys (`config_keys`), each with its place, or `BadConfigFile`
with every problem. Files of a folder are read in the order of their names; later ones win, maps
and blocks are joined. Read with the parser of job files.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cluster.agent.config_keys import ConfigKey, is_block, key_at, names_below, why_not
from cluster.jobspec.hcl import syntax
from cluster.jobspec.hcl.decode import argument_value
from cluster.jobspec.hcl.nearest import nearest
from cluster.jobspec.hcl.parser import parse_body, parse_expression
from cluster.jobspec.hcl.scope import Scope
from cluster.jobspec.hcl.source import Source
from cluster.jobspec.hcl.syntax_problem import SyntaxProblem
from cluster.jobspec.problems import JobProblems

#: The longest file; nobody's configuration is larger.
MAX_BYTES = 1 << 20
_SUFFIXES = (".hcl", ".json")
_KINDS = {"text": "str", "texts": "[str]", "bool": "bool", "whole": "int", "span": "dur",
          "map": "{str}"}  # fmt: skip
Steps = tuple[str, ...]
Node = syntax.Expression | syntax.BlockBody


class BadConfigFile(Exception):
    """What is wrong, one line for each problem: `file:line: key: reason`."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class FoundValue:
    """A value, and where it stands."""

    key: ConfigKey
    steps: Steps
    value: object
    place: str


@dataclass
class ConfigFile:
    """The values of all files, by their whole paths."""

    found: dict[Steps, FoundValue] = field(default_factory=dict)
    #: Blocks that stand there, also empty ones.
    blocks: set[Steps] = field(default_factory=set)

    def value(self, path: str) -> object:
        """The value of a key without chosen names; None where no file says it."""
        found = self.found.get(tuple(path.split(".")))
        return None if found is None else found.value

    def place(self, path: str) -> str:
        """Where that value stands."""
        return self.found[tuple(path.split("."))].place


def read_config(path: Path) -> ConfigFile:
    """The configuration at a path. Raises BadConfigFile."""
    config, problems = ConfigFile(), list[str]()
    try:
        files = _files(path)
        texts = [(file, file.read_bytes()[: MAX_BYTES + 1]) for file in files]
    except OSError as error:
        raise BadConfigFile([f"{error.filename}: {error.strerror}"]) from None
    for file, content in texts:
        _Reader(str(file), config, problems).read(content)
    if problems:
        raise BadConfigFile(problems)
    return config


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES)
    if not files:
        raise BadConfigFile([f"{path}: there is no file *.hcl or *.json in it"])
    return files


class _Reader:
    """Takes in one file."""

    def __init__(self, name: str, config: ConfigFile, problems: list[str]) -> None:
        self.name = name
        self.config = config
        self.problems = problems
        self.source = Source("", name)

    def read(self, content: bytes) -> None:
        """Take in what the file says."""
        if len(content) > MAX_BYTES:
            self.problems.append(f"{self.name}: it is larger than 1 MiB")
            return
        try:
            text = content.decode()
        except UnicodeDecodeError:
            self.problems.append(f"{self.name}: it is no text in UTF-8")
            return
        self.source = Source(text, self.name)
        try:
            body = self._parsed(text)
        except JobProblems as problems:
            self.problems += [
                _shortened(self.name, each.line, each.message) for each in problems.problems
            ]
            return
        if body is not None:
            self._block((), body)

    def _parsed(self, text: str) -> Node | None:
        if not (self.name.endswith(".json") or text.lstrip().startswith("{")):
            return parse_body(self.source)
        try:
            if not isinstance(json.loads(text), dict):
                self.problems.append(f"{self.name}:1: an object is expected")
                return None
        except json.JSONDecodeError as error:
            self.problems.append(f"{self.name}:{error.lineno}: no JSON: {error.msg}")
            return None
        except RecursionError:
            self.problems.append(f"{self.name}: no JSON: nested too deeply")
            return None
        return parse_expression(self.source, is_json=True)

    def _block(self, steps: Steps, node: Node) -> None:
        self.config.blocks.add(steps)
        for name, at, value in _members(node):
            self._member((*steps, *name), at, value)

    def _member(self, steps: Steps, at: int, node: Node) -> None:
        key = key_at(steps)
        if key is not None:
            self._value(key, steps, at, node)
        elif not is_block(steps):
            self._refuse(steps, at)
        elif isinstance(node, syntax.Tuple):
            # JSON gives several blocks of a kind as a list.
            for item in node.items:
                self._member(steps, at, item)
        elif isinstance(node, syntax.Object | syntax.BlockBody):
            self._block(steps, node)
        else:
            self._note(at, steps, "a block is expected here")

    def _refuse(self, steps: Steps, at: int) -> None:
        # The outermost block that is not taken: what is in it is not asked about.
        for size in range(1, len(steps)):
            if not is_block(steps[:size]):
                steps = steps[:size]
                break
        if reason := why_not(steps):
            self._note(at, steps, f"not supported: {reason}")
        else:
            known = names_below(steps[:-1])
            hint = nearest(steps[-1], known).strip()
            self._note(at, steps, f"there is no such key{f'. {hint}' if hint else ''}")

    def _value(self, key: ConfigKey, steps: Steps, at: int, node: Node) -> None:
        scope = Scope(self.source)
        value: Any
        try:
            if isinstance(node, syntax.BlockBody):
                value = self._map(key, node, scope)
            else:
                value = argument_value(node, _KINDS[key.kind], scope)
        except SyntaxProblem as problem:
            self._note(problem.start, steps, problem.detail)
            return
        if value is None:
            return
        if key.kind == "whole" and not key.low <= value <= key.high:
            self._note(at, steps, f"must be from {key.low} to {key.high}; it is {value}")
            return
        before = self.config.found.get(steps)
        if key.kind == "map" and before is not None and isinstance(before.value, dict):
            value = {**before.value, **value}
        self.config.found[steps] = FoundValue(key, steps, value, self._place(at))

    def _map(self, key: ConfigKey, body: syntax.BlockBody, scope: Scope) -> dict[str, object]:
        if key.kind != "map" or body.blocks:
            problem = "a value is expected here, not a block"
            raise SyntaxProblem(body.start, body.end, "", problem)
        return {
            name: argument_value(attribute.expression, "str", scope)
            for name, attribute in body.attributes.items()
        }

    def _note(self, at: int, steps: Steps, reason: str) -> None:
        self.problems.append(f"{self._place(at)}: {'.'.join(steps)}: {reason}")

    def _place(self, at: int) -> str:
        return f"{self.name}:{self.source.place(at)[0]}"


def _members(node: Node) -> Iterator[tuple[Steps, int, Node]]:
    """Name (with labels), place and content of everything in a block or an object."""
    if isinstance(node, syntax.BlockBody):
        for attribute in node.attributes.values():
            yield (attribute.name,), attribute.start, attribute.expression
        for block in node.blocks:
            yield (block.type, *block.labels), block.start, block.body
    elif isinstance(node, syntax.Object):
        for name, value in node.items:
            text = name.value if isinstance(name, syntax.LiteralExpression) else ""
            if isinstance(name, syntax.Reference):
                text = name.name
            yield (str(text),), name.start, value


def _shortened(name: str, line: int | None, message: str) -> str:
    """A problem of the parser, whose message has its own place in front."""
    told = message.partition(": ")[2].replace("; ", ": ", 1)
    return f"{name}:{line or 1}: {told}"
