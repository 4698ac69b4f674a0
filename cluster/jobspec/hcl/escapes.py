"""Escapes in quoted text.

In: what stands between quotes, as written, and where. Out: what it means. An escape that the
language does not have raises `SyntaxProblem` with its place.
"""

import re

from cluster.jobspec.hcl.syntax_problem import SyntaxProblem

MULTI_LINE = "Quoted strings may not be split over multiple lines."

_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f"}
_NATIVE_ESCAPES = frozenset('nrt"\\')
#: A text with no other escapes than the short native ones.
_SHORT_ESCAPES = re.compile(r'(?:[^\\]+|\\[nrt"\\])*+')


def unescaped(text: str, offset: int, *, is_json: bool) -> str:
    """The meaning of quoted text that begins at `offset`; JSON has more escapes."""
    if text == "\\":
        raise SyntaxProblem(offset, offset + 1, "Invalid multi-line string", MULTI_LINE)
    if _SHORT_ESCAPES.fullmatch(text):
        # Pairs of backslashes first: behind one, a letter is just a letter.
        return "\\".join(_replaced(part) for part in text.split("\\\\"))

    def character(match: re.Match[str]) -> str:
        code = match[0][1:]
        if len(code) > 1:
            return chr(int(code[1:], 16)) if int(code[1:], 16) < 0x110000 else "\ufffd"
        if code in _ESCAPES and (is_json or code in _NATIVE_ESCAPES):
            return _ESCAPES[code]
        start = offset + match.start()
        detail = f'The symbol "{code}" is not a valid escape sequence selector.'
        raise SyntaxProblem(start, start + 2, "Invalid escape sequence", detail)

    plain = _ESCAPE.sub(character, text)
    # Two escapes may spell the halves of one character; a lone half is none at all.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _replaced(text: str) -> str:
    for code in ("n", "r", "t", '"'):
        text = text.replace(f"\\{code}", _ESCAPES[code])
    return text
