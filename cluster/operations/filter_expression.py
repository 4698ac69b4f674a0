"""Filter expressions of list requests (http-api.md 2.4): `Status == "running" and X is nil`.

In: the text of an expression. Out: a predicate over structs, addressed by their wire names. The
text is parsed once per request; `filter_match` holds what each operator means.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from cluster.operations.errors import OperationRefused
from cluster.operations.filter_match import Match, Names, Selector, WrittenValue, each_of, match

#: Whether one item, with the names bound around it, is wanted.
Predicate = Callable[[Any, Names], bool]


class Filter(NamedTuple):
    """An expression: whether it wants an item, and what can be known without looking at items.

    Items whose fields have other values than `equalities` are not wanted, and looking at them
    would raise nothing. `is_exact`: all others are wanted.
    """

    wants: Callable[[Any], bool]
    equalities: tuple[tuple[str, str], ...]
    is_exact: bool


class _Part(NamedTuple):
    """A part of an expression, with what `Filter` says of it."""

    predicate: Predicate
    equalities: tuple[tuple[str, str], ...] = ()
    is_exact: bool = False


READ_FAILED = "failed to create result paginator: failed to read filter expression: "
_DEEPEST = 60
_LONGEST = 16 * 1024

_BLANKS = re.compile(r"[ \t\r\n]*")
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_/]*")
_PART = re.compile(r"\.([A-Za-z0-9][A-Za-z0-9_/]*)|\[(\"(?:[^\"\\]|\\.)*\"|`[^`]*`)\]")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?=[\s)}]|$)")
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_BACKQUOTED = re.compile(r"`[^`]*`")
#: As Go writes text: a letter, a byte in octal or hexadecimal digits, a character in them.
_ESCAPED = re.compile(
    rb"\\(?:([0-7]{3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL
)
_LETTERS = dict(zip(b'abfnrtv\\"', b'\a\b\f\n\r\t\v\\"', strict=True))
_BARE = re.compile(r"[A-Za-z][A-Za-z0-9_/]*")

#: Operator words after a selector, longest first; True: a value follows.
_OPERATORS: tuple[tuple[re.Pattern[str], Match, bool], ...] = tuple(
    (re.compile(pattern), meaning, takes_value)
    for pattern, meaning, takes_value in (
        (r"[ \t\r\n]*==[ \t\r\n]*", Match.EQUAL, True),
        (r"[ \t\r\n]*!=[ \t\r\n]*", Match.NOT_EQUAL, True),
        (r"\s+is\s+not\s+empty\b", Match.NOT_EMPTY, False),
        (r"\s+is\s+empty\b", Match.EMPTY, False),
        (r"\s+is\s+not\s+nil\b", Match.NOT_NIL, False),
        (r"\s+is\s+nil\b", Match.NIL, False),
        (r"\s+not\s+contains\s+", Match.NOT_CONTAINS, True),
        (r"\s+contains\s+", Match.CONTAINS, True),
        (r"\s+not\s+matches\s+", Match.NOT_MATCHES, True),
        (r"\s+matches\s+", Match.MATCHES, True),
    )
)
_IN = (
    (re.compile(r"\s+not\s+in\s+"), Match.NOT_CONTAINS),
    (re.compile(r"\s+in\s+"), Match.CONTAINS),
)
_NOT = re.compile(r"not\s+(?!in\s|contains\s|matches\s)")
_QUANTIFIER = re.compile(r"(any|all)\s+")
_AS = re.compile(r"\s+as\s+([A-Za-z_][A-Za-z0-9_]*)(?:\s*,\s*([A-Za-z_][A-Za-z0-9_]*))?\s*\{")


def compile_filter(text: str) -> Filter:
    """What an expression says.

    Raises `OperationRefused` when it cannot be read. `wants` raises it too, for a field that items
    do not have or a value that is not of the field's type.
    """
    whole = _Reading(text).whole()
    predicate = whole.predicate
    return Filter(lambda item: predicate(item, {}), whole.equalities, whole.is_exact)


class _Reading:
    """One pass over an expression, by recursive descent."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        if len(text) > _LONGEST:
            raise self.error("a shorter expression")

    def whole(self) -> _Part:
        self.blanks()
        part = self.either()
        self.blanks()
        if self.at < len(self.text):
            raise self.error('"and", "or" or EOF')
        return part

    def either(self) -> _Part:
        parts = [self.both()]
        while self.word("or"):
            parts.append(self.both())
        if len(parts) == 1:
            return parts[0]
        tests = [part.predicate for part in parts]
        return _Part(lambda item, names: any(test(item, names) for test in tests))

    def both(self) -> _Part:
        parts = [self.single()]
        while self.word("and"):
            parts.append(self.single())
        return parts[0] if len(parts) == 1 else _all_of(parts)

    def single(self) -> _Part:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.error("an expression with fewer levels")
        try:
            return self.unary()
        finally:
            self.depth -= 1

    def unary(self) -> _Part:
        if self.take(_NOT):
            inner = self.single().predicate
            return _Part(lambda item, names: not inner(item, names))
        if self.text.startswith("(", self.at):
            return self.parenthesis()
        quantifier = _QUANTIFIER.match(self.text, self.at)
        if quantifier and self.quantifies(quantifier.end()):
            self.at = quantifier.end()
            return self.quantified(all_of=quantifier[1] == "all")
        return self.comparison()

    def parenthesis(self) -> _Part:
        self.at += 1
        self.blanks()
        inner = self.either()
        self.blanks()
        if not self.text.startswith(")", self.at):
            raise self.error('")"')
        self.at += 1
        return inner

    def quantifies(self, at: int) -> bool:
        """Whether a selector and `as` follow, so that `any` is not itself a field."""
        before, self.at = self.at, at
        try:
            return self.selector() is not None and bool(_AS.match(self.text, self.at))
        finally:
            self.at = before

    def quantified(self, *, all_of: bool) -> _Part:
        selector = self.selector()
        binding = self.take(_AS)
        assert selector is not None, "quantifies() saw them"
        assert binding is not None, "quantifies() saw them"
        self.blanks()
        inner = self.either().predicate
        self.blanks()
        if not self.text.startswith("}", self.at):
            raise self.error('"}"')
        self.at += 1
        first, second = binding[1], binding[2]
        decide = all if all_of else any
        return _Part(
            lambda item, names: decide(
                inner(item, bound) for bound in each_of(selector, item, names, (first, second))
            )
        )

    def comparison(self) -> _Part:
        start = self.at
        value = self.value()
        for pattern, meaning in _IN:
            if value is not None and self.take(pattern):
                return self.matched(self.wanted_selector(), meaning, value)
        self.at = start
        selector = self.wanted_selector()
        for pattern, meaning, takes_value in _OPERATORS:
            if self.take(pattern):
                literal = self.wanted_value() if takes_value else None
                return self.matched(selector, meaning, literal)
        self.blanks()
        raise self.error(self.operator_words())

    def operator_words(self) -> str:
        if re.compile(r"is\s").match(self.text, self.at):
            self.take(re.compile(r"is\s+"))
            return '"empty", "nil", "not" or [ \\t\\r\\n]'
        return '"!=", "==", "contains", "in", "is", "matches", "not" or [ \\t\\r\\n]'

    @staticmethod
    def matched(selector: Selector, meaning: Match, literal: WrittenValue | None) -> _Part:
        def predicate(item: Any, names: Names) -> bool:
            return match(selector, meaning, literal, item, names)

        if meaning is not Match.EQUAL or literal is None or len(selector.parts) != 1:
            return _Part(predicate)
        return _Part(predicate, ((selector.parts[0], literal.text),), is_exact=True)

    def wanted_selector(self) -> Selector:
        selector = self.selector()
        if selector is None:
            raise self.error('"(", "-", "\\"", "`", "not", [0-9] or [a-zA-Z]')
        return selector

    def selector(self) -> Selector | None:
        pointer = _QUOTED.match(self.text, self.at)
        if pointer is not None:
            path = self.unquoted(pointer[0])
            if not path.startswith("/"):
                return None
            self.at = pointer.end()
            parts = path[1:].split("/")
            return Selector(path, tuple(p.replace("~1", "/").replace("~0", "~") for p in parts))
        head = self.take(_IDENTIFIER)
        if head is None:
            return None
        parts = [head[0]]
        while (part := self.take(_PART)) is not None:
            parts.append(part[1] if part[1] is not None else self.unquoted(part[2]))
        return Selector(".".join(parts), tuple(parts))

    def wanted_value(self) -> WrittenValue:
        value = self.value()
        if value is None:
            raise self.error('"-", "\\"", "`", [0-9] or [a-zA-Z]')
        return value

    def value(self) -> WrittenValue | None:
        for pattern in (_NUMBER, _BARE):
            found = self.take(pattern)
            if found is not None:
                return WrittenValue(found[0])
        quoted = self.take(_QUOTED) or self.take(_BACKQUOTED)
        return None if quoted is None else WrittenValue(self.unquoted(quoted[0]))

    def unquoted(self, text: str) -> str:
        if text[0] == "`":
            return text[1:-1]
        try:
            return _ESCAPED.sub(_meant, text[1:-1].encode()).decode(errors="replace")
        except (ValueError, OverflowError):
            raise self.error("a string with known escapes") from None

    def word(self, word: str) -> bool:
        return self.take(re.compile(rf"\s+{word}\s+")) is not None or (
            # A closing bracket needs no blank after it.
            self.text[self.at - 1 : self.at] in {")", "}"}
            and self.take(re.compile(rf"\s*{word}(?=[\s(])\s*")) is not None
        )

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def blanks(self) -> None:
        self.take(_BLANKS)

    def error(self, expected: str) -> OperationRefused:
        before = self.text[: self.at]
        line = before.count("\n") + 1
        column = self.at - (before.rfind("\n") + 1) + 1
        place = f"{line}:{column} ({self.at})"
        return OperationRefused(f"{READ_FAILED}{place}: no match found, expected: {expected}")


def _all_of(parts: list[_Part]) -> _Part:
    """The first ones are looked at first: what they exclude is lost on the ones behind them."""
    tests = [part.predicate for part in parts]
    equalities: list[tuple[str, str]] = []
    for part in parts:
        equalities += part.equalities
        if not part.is_exact:
            break
    return _Part(
        lambda item, names: all(test(item, names) for test in tests),
        tuple(equalities),
        is_exact=all(part.is_exact for part in parts),
    )


def _meant(escape: re.Match[bytes]) -> bytes:
    """What an escape stands for. Raises ValueError or OverflowError for none."""
    octal, byte, short, long, letter = escape.groups()
    if octal or byte:
        return bytes([int(octal, 8) if octal else int(byte, 16)])
    if letter:
        if ord(letter) not in _LETTERS:
            raise ValueError
        return bytes([_LETTERS[ord(letter)]])
    # Half a character of UTF-16 is none: encoding it raises.
    return chr(int(short or long, 16)).encode()
