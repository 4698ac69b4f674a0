"""Text in quotes and heredocs: escapes, `${}` to fill in, `%{}` directives.

In: text and a position. Out: a `Literal` where nothing is to be filled in, else a `Template`.
Reads the blanks, comments and names that every part of the language shares.
"""

import re
from abc import abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass

from cluster.jobspec.hcl import syntax
from cluster.jobspec.hcl.escapes import MULTI_LINE, unescaped
from cluster.jobspec.hcl.nesting import MAX_NESTING, Nesting
from cluster.jobspec.hcl.source import Source
from cluster.jobspec.hcl.syntax_problem import SyntaxProblem

#: Terms and parts to fill in of one file, and how many of them a block is worth.
MAX_PIECES, BLOCK_PIECES = 20_000, 4

_BLANK = re.compile(r"(?:[ \t]+|\r(?=\n)|/\*.*?\*/|(?:#|//)[^\n]*)+", re.DOTALL)
_BLANK_LINES = re.compile(r"(?:[ \t\r\n]+|/\*.*?\*/|(?:#|//)[^\n]*)+", re.DOTALL)
_BLANK_BEGINNINGS = frozenset(" \t\r\n/#")
_NAME = re.compile(r"[^\W\d][\w-]*")
_PLAIN_IN_QUOTES = re.compile(r'(?:[^"\\$%\n]+|\\.|\$(?!\$?\{)|%(?!%?\{))+')
_PLAIN_IN_HEREDOC = re.compile(r"(?:[^$%\n]+|\$(?!\$?\{)|%(?!%?\{))*\n?")
_HEREDOC_HEAD = re.compile(r"<<(-?)([^\W\d][\w.-]*)\r?\n")


@dataclass(slots=True)
class _Directive:
    """One `%{ ... }` before the directives are put together."""

    start: int
    end: int
    word: str
    names: tuple[str, str]
    expression: syntax.Expression | None
    strips_left: bool
    strips_right: bool


class _Newlines(AbstractContextManager[None]):
    """Whether a line's end means nothing, for a while."""

    __slots__ = ("_before", "_parser")

    def __init__(self, parser: "TemplateParser", *, ignored: bool) -> None:
        self._parser = parser
        self._before = parser.newlines_ignored
        parser.newlines_ignored = ignored

    def __exit__(self, *_error: object) -> None:
        self._parser.newlines_ignored = self._before


class TemplateParser:
    """Position in one text, and the reading of its quoted parts."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.position = 0
        #: JSON has more escapes, and no multi-line worries.
        self.reads_json = False
        self.newlines_ignored = False
        self._level = Nesting(self.end)
        self._pieces = 0

    @abstractmethod
    def expression(self) -> syntax.Expression:
        """One expression, as long as it goes."""

    def deeper(self) -> AbstractContextManager[None]:
        """Count one level of nesting."""
        return self._level

    def count(self, pieces: int = 1) -> None:
        """Count pieces of the file; too many end it."""
        self._pieces += pieces
        if self._pieces > MAX_PIECES:
            detail = (
                "The file has too many blocks and values:"
                f" at most {MAX_PIECES} are read, where a block counts as {BLOCK_PIECES}."
            )
            raise self.end("Too much work", detail)

    def ignoring_newlines(self) -> AbstractContextManager[None]:
        """Inside brackets, where a line's end means nothing."""
        return _Newlines(self, ignored=True)

    def minding_newlines(self) -> AbstractContextManager[None]:
        """Inside braces, where a line's end separates."""
        return _Newlines(self, ignored=False)

    def problem(self, summary: str, detail: str) -> SyntaxProblem:
        """A mistake at the present position."""
        return SyntaxProblem(self.position, self.position + 1, summary, detail)

    def end(self, summary: str, detail: str) -> SyntaxProblem:
        """A mistake at the present position behind which nothing is read."""
        problem = self.problem(summary, detail)
        problem.is_final = True
        return problem

    def skip(self, *, newlines: bool = False) -> None:
        """Go over blanks and comments, and over line ends where they mean nothing."""
        if self.text[self.position : self.position + 1] not in _BLANK_BEGINNINGS:
            return
        blank = _BLANK_LINES if newlines or self.newlines_ignored else _BLANK
        match = blank.match(self.text, self.position)
        if match:
            self.position = match.end()
        if self.text.startswith("/*", self.position):
            raise self.problem(
                "Unterminated comment", "The comment is not closed before the end of the file."
            )

    def take(self, token: str, summary: str, detail: str) -> None:
        """Go over a token that must stand here."""
        if not self.text.startswith(token, self.position):
            raise self.problem(summary, detail)
        self.position += len(token)

    def identifier(self) -> str | None:
        """The name at the position, or None if there is none."""
        match = _NAME.match(self.text, self.position)
        if match is None:
            return None
        self.position = match.end()
        return match[0]

    def loop_names(self) -> tuple[str, str]:
        """`v in` or `k, v in`; the key's name is empty in the short form."""
        first = self.identifier()
        self.skip()
        second = None
        if first is not None and self.text.startswith(",", self.position):
            self.position += 1
            self.skip()
            second = self.identifier()
            self.skip()
        match = re.compile(r"in\b").match(self.text, self.position)
        if first is None or match is None:
            raise self.problem(
                "Invalid 'for' expression", "For expression requires names and the word 'in'."
            )
        self.position = match.end()
        return ("", first) if second is None else (first, second)

    def is_heredoc_end(self) -> bool:
        """Whether a heredoc ended just before: it brings its line end with it."""
        return self.position > 0 and self.text[self.position - 1] == "\n"

    def plain_string(self) -> str:
        """A quoted text without anything to fill in, as labels are."""
        start = self.position
        node = self.quoted()
        if isinstance(node, syntax.LiteralExpression) and isinstance(node.value, str):
            return node.value
        detail = (
            "Template sequences are not allowed in this string. To include a literal "
            '"$", double it.'
        )
        raise SyntaxProblem(start, self.position, "Invalid string literal", detail)

    def quoted(self) -> syntax.Expression:
        """The quoted text at the position."""
        start = self.position
        self.position += 1
        parts: list[syntax.Expression | _Directive] = []
        while True:
            character = self.text[self.position : self.position + 1]
            if character == '"':
                self.position += 1
                _strip_blanks(parts)
                return self._assembled(start, parts)
            if character in ("", "\n"):
                problem = SyntaxProblem(
                    start, self.position, "Invalid multi-line string", MULTI_LINE
                )
                raise problem
            self._part(parts, _PLAIN_IN_QUOTES, in_quotes=True)

    def _part(
        self,
        parts: "list[syntax.Expression | _Directive]",
        plain: re.Pattern[str],
        *,
        in_quotes: bool,
    ) -> None:
        start = self.position
        if self.text.startswith(("$${", "%%{"), start):
            self.position += 3
            text = self.text[start + 1 : start + 3]
        elif self.text.startswith("${", start):
            self.count()
            parts.append(self._fill())
            return
        elif self.text.startswith("%{", start):
            parts.append(self._directive())
            return
        else:
            match = plain.match(self.text, start)
            self.position = match.end() if match and match.end() > start else start + 1
            text = self.text[start : self.position]
            if in_quotes and "\\" in text:
                text = unescaped(text, start, is_json=self.reads_json)
        parts.append(syntax.LiteralExpression(start, self.position, text))

    def _fill(self) -> syntax.Expression:
        start = self.position
        self.position += 2
        strips_left = self._strip_mark()
        with self.ignoring_newlines(), self.deeper():
            inner = self.expression()
            self.skip()
        strips_right = self._strip_mark()
        if not self.text.startswith("}", self.position):
            if self.text.find("\n", start, self.position + 1) >= 0:
                raise SyntaxProblem(start, self.position, "Invalid multi-line string", MULTI_LINE)
            detail = "Expected a closing brace to end the interpolation expression."
            raise self.problem("Extra characters after interpolation expression", detail)
        self.position += 1
        is_before_brace = self.text.startswith("}", self.position)
        fill = syntax.Fill(start, self.position, inner, is_before_brace)
        if strips_left or strips_right:
            return syntax.StrippingFill(
                start, self.position, inner, is_before_brace, strips_left, strips_right
            )
        return fill

    def _strip_mark(self) -> bool:
        if self.text.startswith("~", self.position):
            self.position += 1
            return True
        return False

    def _directive(self) -> "_Directive":
        self.count()
        start = self.position
        self.position += 2
        strips_left = self._strip_mark()
        names = ("", "")
        expression = None
        with self.ignoring_newlines(), self.deeper():
            self.skip()
            word = self.identifier() or ""
            self.skip()
            if word == "for":
                names = self.loop_names()
            if word in ("for", "if"):
                expression = self.expression()
                self.skip()
            elif word not in ("else", "endif", "endfor"):
                detail = f'"{word}" is not a valid template control keyword.'
                raise self.problem("Invalid template control keyword", detail)
        strips_right = self._strip_mark()
        self.take(
            "}", "Extra characters in template directive", "Expected a closing brace to end it."
        )
        return _Directive(start, self.position, word, names, expression, strips_left, strips_right)

    def heredoc(self) -> syntax.Expression:
        """The heredoc at the position, up to and with the line of its closing word."""
        start = self.position
        head = _HEREDOC_HEAD.match(self.text, start)
        if head is None:
            raise self.problem("Invalid expression", "Expected the start of an expression.")
        closing = re.compile(rf"^[ \t]*{re.escape(head[2])}[ \t]*\r?$", re.MULTILINE)
        end = closing.search(self.text, head.end())
        if end is None:
            detail = f"No line holds {head[2]} alone, so the text has no end."
            problem = SyntaxProblem(start, head.end(), "Unterminated template string", detail)
            problem.is_final = True
            raise problem
        self.position = head.end()
        parts: list[syntax.Expression | _Directive] = []
        while self.position < end.start():
            self._part(parts, _PLAIN_IN_HEREDOC, in_quotes=False)
        if self.position > end.start():
            raise self.problem(
                "Unterminated template string", "An interpolation runs past the closing word."
            )
        _strip_blanks(parts)
        if head[1]:
            _unindent(parts)
        self.position = end.end()
        return self._assembled(start, parts)

    def _assembled(
        self, start: int, parts: "list[syntax.Expression | _Directive]"
    ) -> syntax.Expression:
        reader = _Assembly(parts)
        template = reader.until((), start, self.position)
        pieces = template.parts
        if all(isinstance(part, syntax.LiteralExpression) for part in pieces):
            text = "".join(
                str(part.value) for part in pieces if isinstance(part, syntax.LiteralExpression)
            )
            return syntax.LiteralExpression(start, self.position, text)
        return template


def _strip_blanks(parts: "list[syntax.Expression | _Directive]") -> None:
    """Take blanks away beside `~`, in the neighbouring part only.

    In a heredoc that is one line.
    """
    for position, part in enumerate(parts):
        if not isinstance(part, _Directive | syntax.StrippingFill):
            continue
        before = parts[position - 1] if position else None
        if part.strips_left and isinstance(before, syntax.LiteralExpression):
            before.value = str(before.value).rstrip()
        behind = parts[position + 1] if position + 1 < len(parts) else None
        if part.strips_right and isinstance(behind, syntax.LiteralExpression):
            behind.value = str(behind.value).lstrip()


def _unindent(parts: "list[syntax.Expression | _Directive]") -> None:
    """Take the indentation away that all lines of a heredoc have in common."""
    shared: int | None = None
    indented: list[syntax.LiteralExpression] = []
    is_line_start = True
    for part in parts:
        text = str(part.value) if isinstance(part, syntax.LiteralExpression) else ""
        if is_line_start and not (text.endswith("\n") and not text.strip()):
            width = len(text) - len(text.lstrip(" \t"))
            shared = width if shared is None else min(shared, width)
            if isinstance(part, syntax.LiteralExpression):
                indented.append(part)
        is_line_start = text.endswith("\n")
    for line in indented:
        line.value = str(line.value)[shared or 0 :]


class _Assembly:
    """Puts directives and what stands between them together."""

    def __init__(self, parts: "list[syntax.Expression | _Directive]") -> None:
        self._parts = parts
        self._next = 0
        self._depth = 0

    def until(self, words: tuple[str, ...], start: int, end: int) -> syntax.TemplateExpression:
        """The parts up to one of the words (left unread), or up to the end."""
        template = syntax.TemplateExpression(start, end, [])
        while self._next < len(self._parts):
            part = self._parts[self._next]
            if not isinstance(part, _Directive):
                template.parts.append(part)
                self._next += 1
                continue
            if part.word in words:
                return template
            self._next += 1
            template.parts.append(self._directive(part))
        if words:
            detail = f"The template ends before its {words[-1]}."
            raise SyntaxProblem(start, end, "Unexpected end of template", detail)
        return template

    def _directive(self, part: _Directive) -> syntax.Expression:
        self._depth += 1
        if part.expression is None or self._depth > MAX_NESTING:
            detail = f"There is nothing that this {part.word} belongs to."
            raise SyntaxProblem(part.start, part.end, "Unexpected template directive", detail)
        if part.word == "if":
            chosen = self.until(("else", "endif"), part.start, part.end)
            otherwise = syntax.TemplateExpression(part.end, part.end, [])
            if self._word() == "else":
                self._next += 1
                otherwise = self.until(("endif",), part.start, part.end)
            node: syntax.Expression = syntax.Choice(
                part.start, part.end, part.expression, chosen, otherwise
            )
        else:
            body = self.until(("endfor",), part.start, part.end)
            node = syntax.Repeat(part.start, part.end, *part.names, part.expression, body)
        self._next += 1
        self._depth -= 1
        return node

    def _word(self) -> str:
        part = self._parts[self._next]
        return part.word if isinstance(part, _Directive) else ""
