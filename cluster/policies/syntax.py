"""The text of a policy as a tree: HCL of the first version, or its JSON form.

In: text. Out: items with labels, values and places. Knows no block of the policy language. Unlike
job files, several settings may share a line and keys may be quoted, so this is another grammar.
"""

import re
from dataclasses import dataclass, field

_MOST_NESTED = 12
_LONGEST = 256 * 1024
_TOKEN = re.compile(
    r"""(?P<blank>[\s,]+|\#[^\n]*|//[^\n]*|/\*.*?\*/)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | <<-?(?P<mark>[A-Za-z_]\w*)\n(?P<heredoc>.*?)\n[ \t]*(?P=mark)(?=\n|\Z)
      | (?P<number>-?\d+(?:\.\d+)?(?![\w-]))
      | (?P<name>[A-Za-z_][\w.*-]*)
      | (?P<sign>[{}\[\]=:])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


class PolicySyntaxError(Exception):
    """The text cannot be read; the message names line and column."""


@dataclass(slots=True)
class PolicyItem:
    """`key "label" ... = value` or `key "label" ... { items }`; the place is that of the key."""

    keys: list[str]
    value: "PolicyValue"
    line: int
    column: int


@dataclass(slots=True)
class PolicyValue:
    """A text, number, truth value, list of values, or `items` of an object (None: it is none)."""

    line: int
    column: int
    scalar: str | float | bool | None = None
    elements: "list[PolicyValue] | None" = None
    items: list[PolicyItem] | None = None


@dataclass(slots=True)
class _Token:
    kind: str
    text: str
    start: int


@dataclass(slots=True)
class _Reader:
    text: str
    tokens: list[_Token] = field(default_factory=list)
    position: int = 0

    def place(self, start: int) -> tuple[int, int]:
        return self.text.count("\n", 0, start) + 1, start - (
            self.text.rfind("\n", 0, start) + 1
        ) + 1

    def problem(self, start: int, said: str) -> PolicySyntaxError:
        line, column = self.place(start)
        return PolicySyntaxError(f"At {line}:{column}: {said}")

    @property
    def next(self) -> _Token:
        return self.tokens[self.position]

    def take(self) -> _Token:
        token = self.next
        self.position += 1
        return token

    def is_sign(self, *signs: str) -> bool:
        return self.next.kind == "sign" and self.next.text in signs


def read_items(text: str) -> list[PolicyItem]:
    """The items of a policy text. Raises PolicySyntaxError."""
    if len(text) > _LONGEST:
        raise PolicySyntaxError(f"the rules are longer than {_LONGEST} characters")
    reader = _Reader(text)
    reader.tokens = _tokens(reader)
    # The JSON form is one object whose keys are quoted and end in colons.
    if reader.is_sign("{"):
        reader.take()
        items = _items(reader, "}", 1)
        _expect_end(reader)
        return items
    return _items(reader, "", 0)


def _tokens(reader: _Reader) -> list[_Token]:
    text, start, tokens = reader.text, 0, []
    while start < len(text):
        match = _TOKEN.match(text, start)
        if match is None:
            raise reader.problem(start, f"illegal character {text[start]!r}")
        kind = match.lastgroup or ""
        if kind == "heredoc":
            tokens.append(_Token("string", f"{match['heredoc']}\n", start))
        elif kind == "string":
            tokens.append(_Token("string", _unescaped(match["string"][1:-1]), start))
        elif kind != "blank":
            tokens.append(_Token(kind, match.group(), start))
        start = match.end()
    tokens.append(_Token("end", "the end of the text", len(text)))
    return tokens


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(
        lambda match: (
            chr(int(match[1][1:], 16)) if len(match[1]) > 1 else _ESCAPED.get(match[1], match[1])
        ),
        text,
    )


def _items(reader: _Reader, closing: str, depth: int) -> list[PolicyItem]:
    if depth > _MOST_NESTED:
        raise reader.problem(reader.next.start, f"nested deeper than {_MOST_NESTED} levels")
    items: list[PolicyItem] = []
    while not (closing and reader.is_sign(closing)):
        token = reader.next
        if token.kind == "end":
            if closing:
                raise reader.problem(token.start, "object expected closing RBRACE got: EOF")
            return items
        items.append(_item(reader, depth))
    reader.take()
    return items


def _item(reader: _Reader, depth: int) -> PolicyItem:
    first = reader.next
    line, column = reader.place(first.start)
    keys: list[str] = []
    while reader.next.kind in {"name", "string"}:
        keys.append(reader.take().text)
    if not keys:
        raise reader.problem(first.start, f"expected a key, found {first.text!r}")
    if reader.is_sign("=", ":"):
        reader.take()
        return PolicyItem(keys, _value(reader, depth), line, column)
    if reader.is_sign("{"):
        return PolicyItem(keys, _value(reader, depth), line, column)
    said = f"key '{keys[-1]}' expected start of object ('{{') or assignment ('=')"
    raise reader.problem(reader.next.start, said)


def _value(reader: _Reader, depth: int) -> PolicyValue:
    token = reader.take()
    line, column = reader.place(token.start)
    if token.kind == "string":
        return PolicyValue(line, column, token.text)
    if token.kind == "number":
        return PolicyValue(line, column, float(token.text))
    if token.kind == "name" and token.text in {"true", "false"}:
        return PolicyValue(line, column, token.text == "true")
    if token.kind == "sign" and token.text == "{":
        return PolicyValue(line, column, items=_items(reader, "}", depth + 1))
    if token.kind == "sign" and token.text == "[":
        if depth > _MOST_NESTED:
            raise reader.problem(token.start, f"nested deeper than {_MOST_NESTED} levels")
        elements: list[PolicyValue] = []
        while not reader.is_sign("]"):
            elements.append(_value(reader, depth + 1))
        reader.take()
        return PolicyValue(line, column, elements=elements)
    raise reader.problem(token.start, f"expected a value, found {token.text!r}")


def _expect_end(reader: _Reader) -> None:
    if reader.next.kind != "end":
        raise reader.problem(
            reader.next.start, f"nothing may follow the object: {reader.next.text!r}"
        )
