"""Text in double quotes as messages of the public API print it.

In: a text. Out: the quoted text.
"""

_SHORT = {
    "\\": "\\\\", '"': '\\"', "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r",
    "\t": "\\t", "\v": "\\v",
}  # fmt: skip


def quoted(text: str, *, ascii_only: bool = False) -> str:
    """The text in quotes; what does not print is escaped, with `ascii_only` every accent too."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_escaped(letter, ascii_only=ascii_only) for letter in text) + '"'


def _escaped(letter: str, *, ascii_only: bool) -> str:
    code = ord(letter)
    if letter in _SHORT:
        return _SHORT[letter]
    if letter.isprintable() and (code < 0x7F or not ascii_only):
        return letter
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def quoted_list(texts: list[str] | tuple[str, ...]) -> str:
    """Several texts: `["a" "b"]`."""
    return "[" + " ".join(quoted(text) for text in texts) + "]"
