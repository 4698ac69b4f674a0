"""The syntax tree of a job file. Offsets count characters from the start of the text.

Plain nodes without behaviour: `parser` makes them, `evaluate` and `decode` read them.
"""

from dataclasses import dataclass, field


@dataclass(slots=True)
class SyntaxNode:
    """Anything with a place: `start` is its first character, `end` the one after its last."""

    start: int
    end: int


@dataclass(slots=True)
class Expression(SyntaxNode):
    """Something that has a value."""


@dataclass(slots=True)
class LiteralExpression(Expression):
    """A number, truth value, null, or text without anything to fill in."""

    value: object


@dataclass(slots=True)
class TemplateExpression(Expression):
    """Text with parts to fill in.

    Text parts are `LiteralExpression`, the others `Fill`, `Choice` or `Repeat`.
    """

    parts: list[Expression]


@dataclass(slots=True)
class Fill(Expression):
    """`${ inner }` inside text. `is_before_brace`: the next character is a closing brace."""

    inner: Expression
    is_before_brace: bool


@dataclass(slots=True)
class StrippingFill(Fill):
    """A part to fill in that takes the blanks beside it away."""

    strips_left: bool
    strips_right: bool


@dataclass(slots=True)
class Choice(Expression):
    """`%{ if }` text `%{ else }` text `%{ endif }`."""

    condition: Expression
    chosen: TemplateExpression
    otherwise: TemplateExpression


@dataclass(slots=True)
class Repeat(Expression):
    """`%{ for key, value in collection }` text `%{ endfor }`."""

    key_name: str
    value_name: str
    collection: Expression
    body: TemplateExpression


@dataclass(slots=True)
class Reference(Expression):
    """A bare name.

    `var`, `local`, an iterator, or a name that only means something on the node.
    """

    name: str


@dataclass(slots=True)
class TraversalStep(SyntaxNode):
    """One step of a way into a value: `.name`, `[key]`, or a splat with the steps behind it."""

    #: `.name` and `.0`; None otherwise.
    name: str | None = None
    key: Expression | None = None
    #: The steps applied to each element; None if this is no splat.
    each: "list[TraversalStep] | None" = None


@dataclass(slots=True)
class Traversal(Expression):
    """A value and the way into it."""

    root: Expression
    steps: list[TraversalStep]


@dataclass(slots=True)
class FunctionCall(Expression):
    """A call of a function. `expands_last`: the last argument is a list of arguments."""

    name: str
    arguments: list[Expression]
    expands_last: bool
    name_end: int


@dataclass(slots=True)
class Unary(Expression):
    """`-x` or `!x`."""

    operator: str
    operand: Expression


@dataclass(slots=True)
class Binary(Expression):
    """Two operands and what joins them."""

    operator: str
    left: Expression
    right: Expression


@dataclass(slots=True)
class Conditional(Expression):
    """`condition ? chosen : otherwise`."""

    condition: Expression
    chosen: Expression
    otherwise: Expression


@dataclass(slots=True)
class Parentheses(Expression):
    """An expression in parentheses; as an object's key it is not taken for a bare name."""

    inner: Expression


@dataclass(slots=True)
class Tuple(Expression):
    """`[a, b]`."""

    items: list[Expression]


@dataclass(slots=True)
class Object(Expression):
    """`{ key = value }`."""

    items: list[tuple[Expression, Expression]]


@dataclass(slots=True)
class Comprehension(Expression):
    """`[for k, v in c : value if condition]`, or with a key and braces."""

    key_name: str
    value_name: str
    collection: Expression
    #: None for a list.
    key: Expression | None
    value: Expression
    condition: Expression | None
    is_grouped: bool


@dataclass(slots=True)
class Attribute(SyntaxNode):
    """`name = expression`; `name_end` ends the name."""

    name: str
    name_end: int
    expression: Expression


@dataclass(slots=True)
class Block(SyntaxNode):
    """`type "label" { body }`.

    `type_end` ends the type, `head_end` is where the opening brace stands.
    """

    type: str
    type_end: int
    labels: list[str]
    label_places: list[tuple[int, int]]
    head_end: int
    body: "BlockBody"


@dataclass(slots=True)
class BlockBody(SyntaxNode):
    """What stands between braces, or in the whole file, in its order."""

    #: By name; of one that is set twice the last.
    attributes: dict[str, Attribute] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)
