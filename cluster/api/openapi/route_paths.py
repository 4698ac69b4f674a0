"""Routes as paths with names in braces: what the document calls a regular expression.

In: a pattern of `cluster.api.urls`. Out: the paths below `/v1/` that it stands for.
"""

import re
from itertools import product

_SEGMENT = r"[^/]*"
_NAME = r"[^/]+"
_ANY = r"[\s\S]*"
_NAMED = re.compile(r"\(\?P<(\w+)>([^)]*)\)")
_WORDS = re.compile(r"[a-z|-]+")
_EITHER = re.compile(r"\(\?:([^)]*)\)(\??)")
#: What parts without a name are called.
_UNNAMED = ((_SEGMENT, "{id}"), (_NAME, "{name}"), (_ANY, "{rest}"))
#: What only gets there with a further slash: without it the path would be another route's.
_CALLED = {"acl/role/{path}": "acl/role/{id}/{rest}"}
_PARAMETER = re.compile(r"\{(\w+)\}")


def paths_of(pattern: str) -> list[str]:
    """The paths that a pattern stands for; several where it offers words to choose from."""
    text = pattern.removeprefix("^").removesuffix(r"\Z").replace("s?", "(?:s)?")
    choices: list[list[str]] = []

    def chosen(found: re.Match[str]) -> str:
        words, is_optional = found[1].split("|"), found[2]
        choices.append([*words, ""] if is_optional else words)
        return f"\0{len(choices) - 1}\0"

    def named(found: re.Match[str]) -> str:
        if _WORDS.fullmatch(found[2]):
            choices.append(found[2].split("|"))
            return f"\0{len(choices) - 1}\0"
        return f"{{{found[1]}}}"

    text = _EITHER.sub(chosen, _NAMED.sub(named, text))
    told = []
    for words in product(*choices):
        path = text
        for number, word in enumerate(words):
            path = path.replace(f"\0{number}\0", word)
        for part, name in _UNNAMED:
            path = path.replace(part, name)
        path = path.replace("\\.", ".")
        told.append(_CALLED.get(path, path))
    return told


def parameters_of(path: str) -> list[str]:
    """The names in a path."""
    return _PARAMETER.findall(path)


def matches(path: str, address: str) -> bool:
    """Whether an address below `/v1/` is one of a path."""
    parts = re.split(r"\{\w+\}", path)
    return re.fullmatch(r"[\s\S]*".join(map(re.escape, parts)), address) is not None
