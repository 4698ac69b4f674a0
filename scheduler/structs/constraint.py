"""What a job demands of a node's properties, prefers in them, and spreads over."""

from enum import StrEnum

from scheduler.structs.wire import Wire, wire_names


class Operand(StrEnum):
    """The comparisons a constraint or affinity may name."""

    EQUAL = "="
    EQUAL_DOUBLE = "=="
    IS = "is"
    NOT_EQUAL = "!="
    NOT = "not"
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    REGEXP = "regexp"
    VERSION = "version"
    SEMVER = "semver"
    SET_CONTAINS = "set_contains"
    SET_CONTAINS_ALL = "set_contains_all"
    SET_CONTAINS_ANY = "set_contains_any"
    DISTINCT_HOSTS = "distinct_hosts"
    DISTINCT_PROPERTY = "distinct_property"
    IS_SET = "is_set"
    IS_NOT_SET = "is_not_set"


class Constraint(Wire, frozen=True, rename=wire_names(l_target="LTarget", r_target="RTarget")):
    """`l_target operand r_target` must hold. `operand` is free text until validated."""

    l_target: str = ""
    r_target: str = ""
    operand: str = "="

    @property
    def label(self) -> str:
        """The text under which filtered nodes are counted (placement.md 1.2)."""
        return f"{self.l_target} {self.operand} {self.r_target}"


class Affinity(Wire, frozen=True, rename=wire_names(l_target="LTarget", r_target="RTarget")):
    """A preference, or with a negative weight an aversion."""

    l_target: str = ""
    r_target: str = ""
    operand: str = "="
    #: -100..100, never 0.
    weight: int = 50


class SpreadTarget(Wire, frozen=True):
    """The share of a group's allocations wanted on nodes with this value."""

    value: str = ""
    percent: int = 0


class Spread(Wire, frozen=True):
    """Distribute a group over the values of an attribute; evenly when there are no targets."""

    attribute: str = ""
    weight: int = 50
    spread_target: tuple[SpreadTarget, ...] = ()
