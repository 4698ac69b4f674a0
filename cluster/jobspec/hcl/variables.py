"""Variables and locals of a job file: declarations, the values given, the roots they make.

In: the top-level body, a text of values, an environment. Out: the `var` and `local` roots of a
scope, and warnings of values nobody declared. Locals are evaluated when first asked for, so their
order is free.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cluster.jobspec.hcl import syntax
from cluster.jobspec.hcl.evaluate import evaluate
from cluster.jobspec.hcl.json_body import as_body
from cluster.jobspec.hcl.nearest import nearest
from cluster.jobspec.hcl.parser import parse_expression
from cluster.jobspec.hcl.schema import Schema, SchemaEntry
from cluster.jobspec.hcl.scope import EvaluationProblem, Scope
from cluster.jobspec.hcl.source import Source
from cluster.jobspec.hcl.syntax_problem import SyntaxProblem
from cluster.jobspec.hcl.types import ANY, Type, converted, read_type, type_of
from cluster.jobspec.hcl.values import Mismatch, Value, to_text
from cluster.jobspec.problems import JobProblems, Problem

ENVIRONMENT_PREFIX = "NOMAD_VAR_"
#: How far locals may lean on one another.
_LONGEST_CHAIN = 30

_VALIDATION = Schema(
    "validation",
    "",
    arguments={name: SchemaEntry(name, "", "") for name in ("condition", "error_message")},
)
_DECLARATION = Schema(
    "variable",
    "",
    arguments={name: SchemaEntry(name, "", "") for name in ("type", "default", "description")},
    many={"validation": SchemaEntry("validation", "", "validation")},
)


@dataclass(slots=True)
class Variable:
    """One declared variable."""

    name: str
    place: syntax.SyntaxNode
    type: Type = field(default_factory=lambda: ANY)
    is_typed: bool = False
    default: Value = None
    has_default: bool = False
    validations: list[tuple[syntax.Block, syntax.BlockBody]] = field(default_factory=list)
    value: Value = None
    is_set: bool = False


class Variables:
    """All variables and locals of one file."""

    def __init__(self, source: Source, scope: Scope) -> None:
        self._source = source
        self._scope = scope
        self._variables: dict[str, Variable] = {}
        self._locals: dict[str, syntax.Attribute] = {}
        self._known_locals: dict[str, Value] = {}
        self._open_locals: list[str] = []
        self.warnings: list[Problem] = []
        scope.roots = {"var": self._variable, "local": self._local}

    def declare(self, block: syntax.Block) -> None:
        """Take a `variable "name"` block."""
        if len(block.labels) != 1:
            detail = "All variable blocks must have 1 labels (name)."
            self._source.note(
                block.head_end, block.head_end + 1, "Missing name for variable", detail
            )
            return
        name = block.labels[0]
        if not name.replace("-", "_").isidentifier():
            detail = (
                "A name must start with a letter or underscore and may contain only "
                "letters, digits,"
            )
            detail += " underscores, and dashes."
            start, end = block.label_places[0] if block.label_places else (block.start, block.end)
            self._source.note(start, end, "Invalid variable name", detail)
            return
        variable = Variable(name, block)
        body = as_body(block.body, _DECLARATION)
        self._check_names(body, _DECLARATION)
        self._read_declaration(variable, body)
        self._add(variable)

    def declare_plain(self, block: syntax.Block) -> None:
        """Take a `variables` block: names with their defaults."""
        for attribute in block.body.attributes.values():
            variable = Variable(attribute.name, attribute, has_default=True)
            variable.default = self._evaluated(attribute.expression)
            variable.type = type_of(variable.default)
            self._add(variable)

    def define_locals(self, block: syntax.Block) -> None:
        """Take a `locals` block; a later definition of the same name wins."""
        self._locals.update(block.body.attributes)

    def assign(
        self, environment: Mapping[str, str], values: "tuple[Source, syntax.BlockBody] | None"
    ) -> None:
        """Give the variables their values.

        Defaults, then the environment, then the text of values.
        """
        for variable in self._variables.values():
            if variable.has_default:
                variable.value, variable.is_set = variable.default, True
            text = environment.get(ENVIRONMENT_PREFIX + variable.name)
            if text is not None:
                self._assign_text(variable, text)
        if values is not None:
            self._assign_body(*values)
        for variable in self._variables.values():
            if variable.is_set:
                self._validate(variable)
            else:
                detail = "A used variable must be set or have a default value."
                self._source.note_somewhere(f'Unset variable "{variable.name}"', detail)

    def _add(self, variable: Variable) -> None:
        if variable.name in self._variables:
            self._source.note(
                variable.place.start,
                variable.place.end,
                "Duplicate variable",
                f'The variable "{variable.name}" is declared twice.',
            )
        self._variables[variable.name] = variable

    def _check_names(self, body: syntax.BlockBody, schema: Schema) -> None:
        for name, attribute in body.attributes.items():
            if name not in schema.arguments:
                detail = f'An argument named "{name}" is not expected here.'
                detail += nearest(name, schema.arguments)
                self._source.note(
                    attribute.start, attribute.name_end, "Unsupported argument", detail
                )
        for block in body.blocks:
            if block.type not in schema.many:
                detail = f'Blocks of type "{block.type}" are not expected here.'
                self._source.note(block.start, block.type_end, "Unsupported block type", detail)

    def _read_declaration(self, variable: Variable, body: syntax.BlockBody) -> None:
        for block in body.blocks:
            if block.type == "validation":
                self._read_validation(variable, block)
        if "type" in body.attributes:
            try:
                variable.type = read_type(body.attributes["type"].expression)
                variable.is_typed = True
            except SyntaxProblem as problem:
                self._note(problem)
        default = body.attributes.get("default")
        if default is None:
            return
        variable.has_default = True
        value = self._evaluated(default.expression)
        if not variable.is_typed:
            variable.type = type_of(value)
        try:
            variable.default = converted(value, variable.type)
        except Mismatch as mismatch:
            place = default.expression
            detail = "This default value is not compatible with the variable's type constraint"
            self._source.note(
                place.start,
                place.end,
                "Invalid default value for variable",
                f"{detail}: {mismatch}.",
            )

    def _read_validation(self, variable: Variable, block: syntax.Block) -> None:
        body = as_body(block.body, _VALIDATION)
        self._check_names(body, _VALIDATION)
        missing = _VALIDATION.arguments.keys() - body.attributes.keys()
        for name in sorted(missing):
            detail = f'The argument "{name}" is required, but no definition was found.'
            self._source.note(block.head_end, block.head_end, "Missing required argument", detail)
        if not missing:
            variable.validations.append((block, body))

    def _validate(self, variable: Variable) -> None:
        for block, body in variable.validations:
            node = body.attributes["condition"].expression
            try:
                is_fulfilled = evaluate(node, self._scope) is True
                text = evaluate(body.attributes["error_message"].expression, self._scope)
            except EvaluationProblem as problem:
                self._note(problem)
                continue
            if not is_fulfilled:
                detail = text if isinstance(text, str) else "The value is refused."
                line, column = self._source.place(block.start)
                rule = (
                    "This was checked by the validation rule at "
                    f"{self._source.name}:{line},{column}."
                )
                self._source.note(
                    block.start, block.head_end, "Invalid value for variable", f"{detail} {rule}"
                )

    def _assign_text(self, variable: Variable, text: str) -> None:
        value: Value = text
        if variable.type.word not in ("string", "number", "bool", "any"):
            source = Source(text, f"<value for var.{variable.name}>")
            try:
                node = parse_expression(source)
                value = evaluate(node, Scope(source, budget=self._scope.budget))
            except (JobProblems, EvaluationProblem) as problem:
                self._source.note_somewhere(
                    f'Invalid value for variable "{variable.name}"', str(problem)
                )
                return
        self._assign(variable, value, None, self._source)

    def _assign_body(self, source: Source, body: syntax.BlockBody) -> None:
        for block in body.blocks:
            summary, detail = "Unexpected block", "A text of values holds only arguments."
            if block.type == "variable":
                summary = "Variable declaration in a .var file"
                detail = "A text of values assigns values to variables that the job file declares."
            source.note(block.start, block.type_end, summary, detail)
        for name, attribute in body.attributes.items():
            variable = self._variables.get(name)
            if variable is None:
                line, column = source.place(attribute.start)
                text = f'The values give "{name}", but the job file declares no such variable.'
                self.warnings.append(Problem("", text, line, column))
                continue
            try:
                value = evaluate(attribute.expression, Scope(source, budget=self._scope.budget))
            except EvaluationProblem as problem:
                source.note(problem.start, problem.end, problem.summary, problem.detail)
                continue
            self._assign(variable, value, attribute, source)

    def _assign(
        self, variable: Variable, value: Value, place: syntax.Attribute | None, source: Source
    ) -> None:
        try:
            variable.value = converted(value, variable.type)
            variable.is_set = True
        except Mismatch as mismatch:
            variable.is_set = True
            detail = f"The value for {variable.name} is not compatible with the variable's type"
            detail += f" constraint: {mismatch}."
            if place is None:
                source.note_somewhere("Invalid value for variable", detail)
            else:
                source.note(place.start, place.end, "Invalid value for variable", detail)

    def _variable(self, name: str, node: syntax.SyntaxNode) -> Value:
        variable = self._variables.get(name)
        if variable is None:
            detail = f'This object does not have an attribute named "{name}".'
            detail += nearest(name, self._variables)
            raise EvaluationProblem(node.start, node.end, "Unsupported attribute", detail)
        return variable.value

    def _local(self, name: str, node: syntax.SyntaxNode) -> Value:
        if name in self._known_locals:
            return self._known_locals[name]
        attribute = self._locals.get(name)
        if attribute is None:
            detail = f'This object does not have an attribute named "{name}".'
            detail += nearest(name, self._locals)
            raise EvaluationProblem(node.start, node.end, "Unsupported attribute", detail)
        if name in self._open_locals or len(self._open_locals) >= _LONGEST_CHAIN:
            way = " -> ".join([*self._open_locals[-5:], name])
            detail = f"These locals lean on one another: {way}."
            raise EvaluationProblem(node.start, node.end, "Circular or too long reference", detail)
        self._open_locals.append(name)
        try:
            value = evaluate(attribute.expression, self._scope)
        finally:
            self._open_locals.pop()
        self._known_locals[name] = value
        return value

    def _evaluated(self, node: syntax.Expression) -> Value:
        try:
            return evaluate(node, Scope(self._source, budget=self._scope.budget))
        except EvaluationProblem as problem:
            self._note(problem)
            return None

    def _note(self, problem: SyntaxProblem) -> None:
        self._source.note(problem.start, problem.end, problem.summary, problem.detail)


__all__ = ["ENVIRONMENT_PREFIX", "Variables", "to_text"]
