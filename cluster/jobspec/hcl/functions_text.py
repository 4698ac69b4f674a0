"""Functions of text.

In and out: values of expressions. Lengths count characters as readers see code points.
"""

import re
from collections.abc import Callable

import re2

from cluster.jobspec.hcl.values import Mismatch, Value, to_text, type_word, whole

_LONGEST_RESULT = 4_000_000


class BadArgument(Exception):
    """An argument of the wrong kind."""

    def __init__(self, position: int, name: str, message: str) -> None:
        super().__init__(message)
        self.position = position
        self.name = name


def text_argument(value: Value, position: int, name: str = "str") -> str:
    """The argument as text. Raises `BadArgument`."""
    try:
        if value is None:
            raise Mismatch("argument must not be null")
        return to_text(value)
    except Mismatch as mismatch:
        raise BadArgument(position, name, str(mismatch)) from None


def list_argument(value: Value, position: int, name: str = "list") -> list[Value]:
    """The argument as a list, set or tuple. Raises `BadArgument`."""
    if isinstance(value, list):
        return value
    raise BadArgument(position, name, f"list of any required, but have {type_word(value)}")


def whole_argument(value: Value, position: int, name: str = "num") -> int:
    """The argument as a whole number. Raises `BadArgument`."""
    try:
        return whole(value)
    except Mismatch as mismatch:
        raise BadArgument(position, name, str(mismatch)) from None


def upper(text: Value) -> Value:
    """All letters large."""
    return text_argument(text, 0).upper()


def lower(text: Value) -> Value:
    """All letters small."""
    return text_argument(text, 0).lower()


def title(text: Value) -> Value:
    """The first letter of each word large."""
    pattern = re.compile(r"(^|[^\w'])(\w)")
    return pattern.sub(lambda match: match[1] + match[2].upper(), text_argument(text, 0))


def trim(text: Value, characters: Value) -> Value:
    """Without any of the characters at both ends."""
    return text_argument(text, 0).strip(text_argument(characters, 1, "cutset"))


def trimprefix(text: Value, prefix: Value) -> Value:
    """Without the beginning."""
    return text_argument(text, 0).removeprefix(text_argument(prefix, 1, "prefix"))


def trimsuffix(text: Value, suffix: Value) -> Value:
    """Without the ending."""
    return text_argument(text, 0).removesuffix(text_argument(suffix, 1, "suffix"))


def trimspace(text: Value) -> Value:
    """Without blanks at both ends."""
    return text_argument(text, 0).strip()


def chomp(text: Value) -> Value:
    """Without line ends at the end."""
    return text_argument(text, 0).rstrip("\r\n")


def indent(spaces: Value, text: Value) -> Value:
    """Every line but the first moved to the right."""
    width = whole_argument(spaces, 0, "spaces")
    content = text_argument(text, 1)
    if not 0 <= width <= 1000 or width * content.count("\n") > _LONGEST_RESULT:
        raise BadArgument(0, "spaces", "between 0 and 1000 spaces")
    return content.replace("\n", "\n" + " " * width)


def replace(text: Value, old: Value, new: Value) -> Value:
    """Every occurrence exchanged."""
    content, before, after = text_argument(text, 0), text_argument(old, 1), text_argument(new, 2)
    growth = content.count(before) * max(0, len(after) - len(before))
    if growth > _LONGEST_RESULT:
        raise BadArgument(2, "replace", "the result would be too long")
    return content.replace(before, after)


def regex_replace(text: Value, pattern: Value, new: Value) -> Value:
    """Every match of a pattern exchanged; `$1` and `${name}` stand for groups."""
    content = text_argument(text, 0)
    found = _compiled(text_argument(pattern, 1, "pattern"))
    template = text_argument(new, 2, "replace")
    if len(content) * (len(template) + 1) > _LONGEST_RESULT:
        matches = sum(1 for _ in found.finditer(content))
        if matches * len(template) > _LONGEST_RESULT:
            raise BadArgument(2, "replace", "the result would be too long")
    result = found.sub(lambda match: _expanded(template, match), content)
    if len(result) > _LONGEST_RESULT:
        raise BadArgument(2, "replace", "the result would be too long")
    return result


def _compiled(pattern: str) -> "re2._Regexp":
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        raise BadArgument(1, "pattern", "the pattern cannot be read") from None


def _expanded(template: str, match: "re2._Match") -> str:
    def group(reference: re.Match[str]) -> str:
        name = reference[1] or reference[2]
        try:
            return match.group(int(name) if name.isdigit() else name) or ""
        except (IndexError, KeyError, re2.error):
            return ""

    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", group, template)


def substr(text: Value, offset: Value, length: Value) -> Value:
    """A part of the text.

    A negative offset counts from the end, a negative length means the rest.
    """
    content = text_argument(text, 0)
    start = whole_argument(offset, 1, "offset")
    size = whole_argument(length, 2, "length")
    start = max(0, start + len(content)) if start < 0 else start
    return content[start:] if size < 0 else content[start : start + size]


def strlen(text: Value) -> Value:
    """How many characters."""
    return len(text_argument(text, 0))


def strrev(text: Value) -> Value:
    """Back to front."""
    return text_argument(text, 0)[::-1]


def split(separator: Value, text: Value) -> Value:
    """The parts between separators."""
    between, content = text_argument(separator, 0, "separator"), text_argument(text, 1)
    if not between:
        return list(content)
    return content.split(between)


def join(separator: Value, *lists: Value) -> Value:
    """The elements of the lists as one text."""
    between = text_argument(separator, 0, "separator")
    parts: list[str] = []
    for position, each in enumerate(lists, start=1):
        items = list_argument(each, position, "lists")
        parts.extend(text_argument(item, position, "lists") for item in items)
    if len(between) * len(parts) > _LONGEST_RESULT:
        raise BadArgument(0, "separator", "the result would be too long")
    return between.join(parts)


#: By the name the language gives them.
FUNCTIONS: dict[str, Callable[..., Value]] = {
    "upper": upper, "lower": lower, "title": title, "trim": trim, "trimprefix": trimprefix,
    "trimsuffix": trimsuffix, "trimspace": trimspace, "chomp": chomp, "indent": indent,
    "replace": replace, "regex_replace": regex_replace, "substr": substr, "strlen": strlen,
    "strrev": strrev, "reverse": strrev, "split": split, "join": join,
}  # fmt: skip
