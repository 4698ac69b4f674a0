"""Expressions of job files: operators, calls, collections, comprehensions, ways into values.

In: text and a position. Out: syntax nodes. A mistake raises `SyntaxProblem` with its place. Text
in quotes and heredocs is read by `templates`.
"""

import re
from fractions import Fraction

from cluster.jobspec.hcl import syntax
from cluster.jobspec.hcl.numerals import rounded
from cluster.jobspec.hcl.source import Source
from cluster.jobspec.hcl.syntax_problem import SyntaxProblem
from cluster.jobspec.hcl.templates import TemplateParser

_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_OPERATOR = re.compile(r"==|!=|<=|>=|&&|\|\||[-+*/%<>]")
_PRECEDENCE = {
    "||": 1, "&&": 2, "==": 3, "!=": 3, "<": 4, ">": 4, "<=": 4, ">=": 4, "+": 5, "-": 5, "*": 6,
    "/": 6, "%": 6,
}  # fmt: skip
#: A whole expression of the kind that most are: a plain text, a word or a small number, and behind
#: it what can only end it. In brackets a line's end is no end.
_PLAIN = r'(?:"([^"\\$%\n]*)"|(\d{1,15})(?![.\w])|(true|false|null)(?![\w-]))'
_PLAIN_TO_LINE_END = re.compile(_PLAIN + r"(?=[ \t]*[\n,\]})])", re.ASCII)
_PLAIN_IN_BRACKETS = re.compile(_PLAIN + r"(?=[ \t]*[,\]})])", re.ASCII)
_WORDS = {"true": True, "false": False, "null": None}
#: Operators of one file; a job has a handful.
_MOST_OPERATORS = 5_000
_LARGEST_EXPONENT = 4000
_LONGEST_NUMBER = 2000

__all__ = ["ExpressionParser", "SyntaxProblem"]


class ExpressionParser(TemplateParser):
    """Reads expressions of one source."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._operators = 0

    def expression(self) -> syntax.Expression:
        """One expression, as long as it goes."""
        self.skip()
        plain = _PLAIN_IN_BRACKETS if self.newlines_ignored else _PLAIN_TO_LINE_END
        match = plain.match(self.text, self.position)
        return self._composed() if match is None else self._plain(match)

    def _plain(self, match: re.Match[str]) -> syntax.Expression:
        self.count()
        self.position = match.end()
        text, number, word = match.groups()
        value: object = text
        if text is None:
            value = _WORDS[word] if number is None else int(number)
        return syntax.LiteralExpression(match.start(), match.end(), value)

    def _composed(self) -> syntax.Expression:
        with self.deeper():
            self.skip()
            start = self.position
            condition = self._binary(1)
            self.skip()
            if not self.text.startswith("?", self.position):
                return condition
            self.position += 1
            # Only the colon ends the first branch, so it may spread over lines.
            with self.ignoring_newlines():
                chosen = self.expression()
                self.skip()
                self.take(
                    ":",
                    "Missing false expression in conditional",
                    "A colon must follow the true one.",
                )
                self.skip()
            otherwise = self.expression()
            return syntax.Conditional(start, self.position, condition, chosen, otherwise)

    def _binary(self, lowest: int) -> syntax.Expression:
        left = self._unary()
        while True:
            self.skip()
            match = _OPERATOR.match(self.text, self.position)
            level = _PRECEDENCE.get(match[0], 0) if match else 0
            if match is None or level < lowest:
                return left
            self.position = match.end()
            self._operators += 1
            if self._operators > _MOST_OPERATORS:
                raise self.end("Too much work", f"At most {_MOST_OPERATORS} operators are read.")
            with self.deeper():
                self.skip()
                right = self._binary(level + 1)
            left = syntax.Binary(left.start, self.position, match[0], left, right)

    def _unary(self) -> syntax.Expression:
        self.skip()
        start = self.position
        operator = self.text[start : start + 1]
        if operator in ("-", "!") and not self.text.startswith("!=", start):
            self.position += 1
            with self.deeper():
                operand = self._unary()
            return syntax.Unary(start, self.position, operator, operand)
        return self._traversal(self._primary())

    def _traversal(self, root: syntax.Expression) -> syntax.Expression:
        steps = self._steps(in_splat=False)
        return syntax.Traversal(root.start, self.position, root, steps) if steps else root

    def _steps(self, *, in_splat: bool) -> list[syntax.TraversalStep]:
        steps: list[syntax.TraversalStep] = []
        while True:
            if steps:
                self.count()
            # In brackets a way may go on in the next line, but not behind a blank elsewhere.
            before = self.position
            if self.newlines_ignored:
                self.skip()
            start = self.position
            if self.text.startswith(".", start) and not self.text.startswith("..", start):
                self.position += 1
                steps.append(self._dot_step(start))
            elif self.text.startswith("[", start) and start == before:
                step = self._bracket_step(start, in_splat=in_splat)
                if step is None:
                    return steps
                steps.append(step)
            else:
                self.position = before
                return steps
            if steps[-1].each is not None:
                return steps

    def _dot_step(self, start: int) -> syntax.TraversalStep:
        if self.text.startswith("*", self.position):
            self.position += 1
            each = self._attribute_splat()
            return syntax.TraversalStep(start, self.position, each=each)
        match = re.compile(r"\d+", re.ASCII).match(self.text, self.position)
        if match:
            self.position = match.end()
            return syntax.TraversalStep(start, self.position, name=match[0][:20])
        name = self.identifier()
        if name is None:
            raise self.problem(
                "Invalid attribute name", "An attribute name is required after a dot."
            )
        return syntax.TraversalStep(start, self.position, name=name)

    def _attribute_splat(self) -> list[syntax.TraversalStep]:
        steps = []
        while self.text.startswith(".", self.position) and not self.text.startswith(
            ".*", self.position
        ):
            self.count()
            start = self.position
            self.position += 1
            steps.append(self._dot_step(start))
        return steps

    def _bracket_step(self, start: int, *, in_splat: bool) -> syntax.TraversalStep | None:
        self.position += 1
        with self.ignoring_newlines():
            self.skip()
            if self.text.startswith("*", self.position):
                if in_splat:
                    self.position = start
                    return None
                self.position += 1
                self.skip()
                self.take("]", "Missing close bracket on splat index", "A splat is written [*].")
                return self._splat(start)
            key = self.expression()
            self.skip()
            self.take(
                "]", "Missing close bracket on index", "An index must end with a closing bracket."
            )
        return syntax.TraversalStep(start, self.position, key=key)

    def _splat(self, start: int) -> syntax.TraversalStep:
        with self.deeper():
            each = self._steps(in_splat=False)
        return syntax.TraversalStep(start, self.position, each=each)

    def _primary(self) -> syntax.Expression:  # noqa: C901 - one branch for each kind of beginning
        self.count()
        start = self.position
        character = self.text[start : start + 1]
        if character == '"':
            return self.quoted()
        if self.text.startswith("<<", start):
            return self.heredoc()
        if character == "(":
            return self._parentheses()
        if character == "[":
            return self._brackets()
        if character == "{":
            return self._braces()
        match = _NUMBER.match(self.text, start)
        if match:
            return self._number(match)
        name = self.identifier()
        if name is None:
            detail = "Expected the start of an expression, but found an invalid expression token."
            if character == "'":
                detail = 'Single quotes are not valid. Use double quotes (") to enclose strings.'
            raise self.problem("Invalid expression", detail)
        if name in _WORDS:
            return syntax.LiteralExpression(start, self.position, _WORDS[name])
        if self.text.startswith("(", self.position):
            return self._call(name, start)
        return syntax.Reference(start, self.position, name)

    def _number(self, match: re.Match[str]) -> syntax.Expression:
        self.position = match.end()
        text = match[0]
        exponent = re.split("[eE]", text)[-1] if re.search("[eE]", text) else "0"
        if (
            len(text) > _LONGEST_NUMBER
            or len(exponent) > 6
            or abs(int(exponent)) > _LARGEST_EXPONENT
        ):
            raise SyntaxProblem(
                match.start(), match.end(), "Invalid number", "The number is out of range."
            )
        return syntax.LiteralExpression(match.start(), match.end(), rounded(Fraction(text)))

    def _call(self, name: str, start: int) -> syntax.Expression:
        name_end = self.position
        self.position += 1
        arguments: list[syntax.Expression] = []
        expands_last = False
        with self.ignoring_newlines():
            self.skip()
            while not self.text.startswith(")", self.position):
                arguments.append(self.expression())
                self.skip()
                if self.text.startswith("...", self.position):
                    self.position += 3
                    expands_last = True
                    self.skip()
                    break
                if not self.text.startswith(",", self.position):
                    break
                self.position += 1
                self.skip()
            self.take(
                ")",
                "Missing argument separator",
                "A comma must separate each argument from the next.",
            )
        return syntax.FunctionCall(start, self.position, name, arguments, expands_last, name_end)

    def _parentheses(self) -> syntax.Expression:
        start = self.position
        self.position += 1
        with self.ignoring_newlines():
            inner = self.expression()
            self.skip()
            self.take(")", "Unbalanced parentheses", "Expected a closing parenthesis.")
        return syntax.Parentheses(start, self.position, inner)

    def _brackets(self) -> syntax.Expression:
        start = self.position
        self.position += 1
        with self.ignoring_newlines():
            self.skip()
            if self._at_for():
                return self._comprehension(start, "]")
            items: list[syntax.Expression] = []
            while not self.text.startswith("]", self.position):
                items.append(self.expression())
                self.skip()
                if not self.text.startswith(",", self.position):
                    break
                self.position += 1
                self.skip()
            self.take(
                "]",
                "Missing item separator",
                "Expected a comma to mark the beginning of the next item.",
            )
        return syntax.Tuple(start, self.position, items)

    def _at_for(self) -> bool:
        return re.compile(r"for(?=[ \t\r\n])").match(self.text, self.position) is not None

    def _braces(self) -> syntax.Expression:
        start = self.position
        self.position += 1
        with self.ignoring_newlines():
            self.skip()
            if self._at_for() and not re.compile(r"for\s*[=:]").match(self.text, self.position):
                return self._comprehension(start, "}")
        items: list[tuple[syntax.Expression, syntax.Expression]] = []
        with self.minding_newlines():
            while True:
                self.skip(newlines=True)
                if self.text.startswith("}", self.position):
                    self.position += 1
                    return syntax.Object(start, self.position, items)
                items.append(self._object_item())
                self.skip()
                if self.text.startswith(",", self.position):
                    self.position += 1
                elif not self._at_separator():
                    detail = "Expected a newline or comma before the next attribute."
                    raise self.problem("Missing attribute separator", detail)

    def _at_separator(self) -> bool:
        return self.text[self.position : self.position + 1] in ("\n", "\r", "}") or (
            self.is_heredoc_end()
        )

    def _object_item(self) -> tuple[syntax.Expression, syntax.Expression]:
        key = self.expression()
        self.skip()
        if not self.text.startswith(("=", ":"), self.position):
            detail = "Expected an equals sign to mark the beginning of the attribute value."
            raise self.problem("Missing attribute value", detail)
        self.position += 1
        # A value may begin in the next line.
        self.skip(newlines=True)
        return key, self.expression()

    def _comprehension(self, start: int, closing: str) -> syntax.Expression:
        self.position += 3
        self.skip()
        key_name, value_name = self.loop_names()
        collection = self.expression()
        self.skip()
        self.take(
            ":",
            "Invalid 'for' expression",
            "For expression requires a colon after the collection.",
        )
        key = None
        value = self.expression()
        self.skip()
        if closing == "}":
            self.take("=>", "Invalid 'for' expression", "An object needs `key => value`.")
            key, value = value, self.expression()
            self.skip()
        is_grouped = self.text.startswith("...", self.position)
        if is_grouped:
            self.position += 3
            self.skip()
        condition = None
        if re.compile(r"if\b").match(self.text, self.position):
            self.position += 2
            condition = self.expression()
            self.skip()
        self.take(
            closing,
            "Invalid 'for' expression",
            "Extra characters at the end of the 'for' expression.",
        )
        return syntax.Comprehension(
            start,
            self.position,
            key_name,
            value_name,
            collection,
            key,
            value,
            condition,
            is_grouped,
        )
