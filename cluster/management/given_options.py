"""Options of a command that are environment variables too, and whether anybody gave them."""

import argparse
import os


class Usual(str):
    """The value of an option that nobody has given."""

    __slots__ = ()


def variable_of(name: str) -> str:
    """The environment variable that stands for an option."""
    return f"BIVOUAC_{name.replace('-', '_').upper()}"


def add_text(
    parser: argparse.ArgumentParser, name: str, default: str, text: str, *further: str
) -> None:
    """An option with a value."""
    shown = f"{text} (default: {default})" if default else text
    given = os.environ.get(variable_of(name), Usual(default))
    parser.add_argument(
        f"--{name}", *further, dest=name.replace("-", "_"), default=given, help=shown
    )


def add_flag(parser: argparse.ArgumentParser, name: str, text: str) -> None:
    """An option that is on or off."""
    given = os.environ.get(variable_of(name), "").strip().lower()
    is_on = given in ("1", "true", "yes", "on") if given else None
    parser.add_argument(f"--{name}", action="store_true", default=is_on, help=text)
