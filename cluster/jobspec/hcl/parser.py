"""Job file text into a syntax tree: bodies, blocks and attributes.

In: a `Source`. Out: a `BlockBody`; mistakes are noted in the source and parsing goes on behind
them where that can be told. Nesting and length are bounded. Expressions are read by `expressions`.
"""

import re

from cluster.jobspec.hcl.expressions import ExpressionParser, SyntaxProblem
from cluster.jobspec.hcl.source import Source
from cluster.jobspec.hcl.syntax import Attribute, Block, BlockBody, Expression
from cluster.jobspec.hcl.templates import BLOCK_PIECES

_LINE_END = re.compile(r"[ \t]*(?:(?:#|//)[^\n]*)?(?:\r?\n|$|\Z)")
_REST_OF_LINE = re.compile(r"[^\n]*")
#: More labels than any block takes, so that the surplus can still be told.
_MOST_LABELS = 8
_NEEDS_DEFINITION = "An argument or block definition is required here."


def parse_body(source: Source) -> BlockBody:
    """The whole text as a body. Raises `JobProblems` if it cannot be read."""
    parser = _Parser(source)
    body = parser.file()
    source.refuse_if_any()
    return body


def parse_expression(source: Source, *, is_json: bool = False) -> Expression:
    """The whole text as one expression. Raises `JobProblems` if it cannot be read."""
    parser = _Parser(source)
    parser.reads_json = is_json
    expression: Expression | None = None
    try:
        with parser.ignoring_newlines():
            expression = parser.expression()
            parser.skip()
        if parser.position < len(parser.text):
            raise parser.problem(
                "Extra characters after expression", "An expression was expected alone."
            )
    except SyntaxProblem as problem:
        source.note(problem.start, problem.end, problem.summary, problem.detail)
    source.refuse_if_any()
    assert expression is not None, "a source without problems has an expression"
    return expression


class _Parser(ExpressionParser):
    def file(self) -> BlockBody:
        if self.text.startswith("\ufeff"):
            self.position = 1
        body = BlockBody(0, len(self.text))
        self._items(body, closing=False)
        return body

    def _items(self, body: BlockBody, *, closing: bool) -> bool:
        """Read items up to the closing brace (or the end of the file); True if it was found."""
        while True:
            self.skip(newlines=True)
            if self.position >= len(self.text):
                return not closing
            if self.text[self.position] == "}":
                if closing:
                    return True
                self._note_and_recover(
                    self.problem("Argument or block definition required", _NEEDS_DEFINITION)
                )
                continue
            try:
                self._item(body)
            except SyntaxProblem as problem:
                if not self._note_and_recover(problem):
                    return True

    def _note_and_recover(self, problem: SyntaxProblem) -> bool:
        """Note a problem and go to the next line; False if reading further would only guess."""
        self.source.note(problem.start, problem.end, problem.summary, problem.detail)
        if problem.is_final:
            self.position = len(self.text)
            return False
        match = _REST_OF_LINE.match(self.text, max(self.position, problem.start))
        self.position = match.end() if match else len(self.text)
        return True

    def _item(self, body: BlockBody) -> None:
        if self.source.is_full:
            self.position = len(self.text)
            return
        start = self.position
        name = self.identifier()
        if name is None:
            character = self.text[start]
            if character == "'":
                raise self.problem(
                    "Invalid character", 'Single quotes are not valid. Use double quotes (").'
                )
            raise self.problem("Argument or block definition required", _NEEDS_DEFINITION)
        name_end = self.position
        self.skip()
        if self.text.startswith("=", self.position) and not self.text.startswith(
            "==", self.position
        ):
            self.position += 1
            self._attribute(body, name, start, name_end)
        elif (
            self.position < len(self.text) and self.text[self.position] in ':"{'
        ) or self._at_name():
            if self.text[self.position] == ":":
                detail = f'{_NEEDS_DEFINITION} To set an argument, use the equals sign "=".'
                raise SyntaxProblem(
                    start, name_end, "Argument or block definition required", detail
                )
            self._block(body, name, start, name_end)
        elif self.text.startswith("'", self.position):
            raise self.problem(
                "Invalid character", 'Single quotes are not valid. Use double quotes (").'
            )
        else:
            detail = (
                "An argument needs an equals sign and a value; a block needs an opening brace."
            )
            raise SyntaxProblem(start, name_end, "Invalid block definition", detail)

    def _at_name(self) -> bool:
        return self.position < len(self.text) and (self.text[self.position].isidentifier())

    def _attribute(self, body: BlockBody, name: str, start: int, name_end: int) -> None:
        self.skip()
        expression = self.expression()
        attribute = Attribute(start, self.position, name, name_end, expression)
        known = body.attributes.get(name)
        if known is not None:
            line, column = self.source.place(known.start)
            detail = (
                f'The argument "{name}" was already set at {self.source.name}:{line},{column}.'
            )
            self.source.note(start, name_end, "Attribute redefined", detail)
        body.attributes[name] = attribute
        self._end_of_item("argument")

    def _end_of_item(self, what: str) -> None:
        self.skip()
        if self.position >= len(self.text) or self.text[self.position] in "\r\n}":
            return
        if self.is_heredoc_end():
            return
        detail = f"An {what} definition must end with a newline."
        raise self.problem(f"Missing newline after {what}", detail)

    def _block(self, body: BlockBody, kind: str, start: int, type_end: int) -> None:
        self.count(BLOCK_PIECES)
        labels: list[str] = []
        places: list[tuple[int, int]] = []
        while len(labels) <= _MOST_LABELS:
            self.skip()
            label_start = self.position
            if self.text.startswith('"', self.position):
                labels.append(self.plain_string())
            else:
                name = self.identifier()
                if name is None:
                    break
                labels.append(name)
            places.append((label_start, self.position))
        if not self.text.startswith("{", self.position):
            if self.text.startswith("'", self.position):
                raise self.problem(
                    "Invalid character", 'Single quotes are not valid. Use double quotes (").'
                )
            detail = "Either a quoted string block label or an opening brace is expected here."
            raise self.problem("Invalid block definition", detail)
        head_end = self.position
        self.position += 1
        inner = BlockBody(head_end, head_end)
        with self.deeper():
            self._block_body(inner, head_end)
        inner.end = self.position
        body.blocks.append(
            Block(start, self.position, kind, type_end, labels, places, head_end, inner)
        )
        self._end_of_item("block")

    def _block_body(self, inner: BlockBody, head_end: int) -> None:
        is_single_line = _LINE_END.match(self.text, self.position) is None
        before = len(self.source.problems)
        if not self._items(inner, closing=True) or self.position >= len(self.text):
            if len(self.source.problems) == before:
                detail = "There is no closing brace for this block before the end of the file."
                problem = SyntaxProblem(
                    head_end, head_end + 1, "Unclosed configuration block", detail
                )
                problem.is_final = True
                raise problem
            return
        self.position += 1
        if is_single_line and "\n" not in self.text[head_end : self.position]:
            self._check_single_line(inner)

    def _check_single_line(self, inner: BlockBody) -> None:
        items = [*inner.attributes.values(), *inner.blocks]
        if len(inner.attributes) > 1 or inner.blocks:
            extra = max(items, key=lambda item: item.start)
            detail = "Single-line block syntax can include only one argument definition."
            self.source.note(
                extra.start, extra.end, "Invalid single-argument block definition", detail
            )
