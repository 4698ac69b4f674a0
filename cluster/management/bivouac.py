"""`bivouac`: the command that a wheel installs, a thin front of the management commands.

What it names stands in COMMANDS; options, help and errors are the management command's own.
Everything else is done by the reference's command line, which works unchanged.
"""

import os
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import django
import shtab
from django.core.exceptions import ImproperlyConfigured
from django.core.management import load_command_class
from django.core.management.base import BaseCommand

from cluster.installation import usual_demo_directory
from cluster.management.terminal import CommandWithExamples
from cluster.versions import VERSION

#: Options of Django's that every management command has, and nobody needs here.
_OF_DJANGO = frozenset({
    "--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color",
    "--force-color", "--skip-checks",
})  # fmt: skip


@dataclass(frozen=True)
class Front:
    """A word of ours, the management command behind it, and what it does."""

    name: str
    behind: str
    does: str


COMMANDS = (
    Front("up", "up", "start everything on this machine, and stay"),
    Front("agent", "runagent", "join this machine to a cluster as a node"),
    Front("fleet", "runfleet", "join simulated nodes to a cluster"),
    Front("demo", "demo", "start a demo; with a name: let that scenario happen in it"),
    Front("rehearse", "rehearse", "say what a change would do, and change nothing"),
    Front("simulate", "simulate", "run clusters by seed, and hold them to the laws"),
    Front("evaluate", "evaluate", "decide a saved evaluation again"),
    Front("backup", "backup", "write the record to a file, while everything runs"),
    Front("restore", "restore", "put a backup in the record's place"),
    Front("token", "token", "make, list and take back tokens of the API"),
    Front("join-token", "join_token", "the same of tokens that admit nodes"),
    Front("login-link", "login_link", "print a link that signs somebody in once"),
    Front("audit", "audit", "print who did what"),
)
_BY_NAME = {front.name: front for front in COMMANDS}
SHELLS = ("bash", "zsh", "fish")

#: What shtab lets a zsh script end with, which knows `eval` but not `source`, and needs a shell
#: that has already called compinit.
_ZSH_END = "if [[ $zsh_eval_context[-1] == eval ]]"
#: A file on fpath is the completion itself; anything else that is read only registers it.
_ZSH_REGISTERS = """\
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _shtab_bivouac "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
  compdef _shtab_bivouac bivouac
fi
"""

_ELSEWHERE = """\
Everything else is the reference's command line: jobs, nodes, allocations, deployments, variables.
`nomad` works unchanged; `up` writes the address and a token to a file that sets its variables.
`bivouac COMMAND --help` explains a command, `bivouac completion bash|zsh|fish` completes them.
Data is kept in $BIVOUAC_DATA_DIR, else in $XDG_DATA_HOME/bivouac (~/.local/share/bivouac).
"""


def main() -> None:
    """The entry point of the wheel."""
    run(sys.argv[1:])


def run(words: Sequence[str]) -> None:
    """Carry out what was typed after `bivouac`; ends the process where it fails."""
    if not words or words[0] in ("-h", "--help", "help"):
        sys.stdout.write(help_text())
        sys.exit(0 if words else 2)
    if words[0] in ("-V", "--version", "version"):
        sys.stdout.write(f"bivouac {VERSION}\n")
        return
    if words[0] == "completion":
        _completion(words[1:])
    elif front := _BY_NAME.get(words[0]):
        _run(front, words[1:])
    else:
        sys.exit(
            f"bivouac: there is no command {words[0]!r}; there are {', '.join(_BY_NAME)},"
            " completion. Jobs, nodes and allocations are asked for by `nomad`."
        )


def help_text() -> str:
    """What `bivouac --help` prints."""
    width = max(len(name) for name in _BY_NAME) + 2
    listed = "\n".join(f"  {front.name:<{width}}{front.does}" for front in COMMANDS)
    return f"usage: bivouac COMMAND ...\n\nBivouac {VERSION}\n\n{listed}\n\n{_ELSEWHERE}"


def command_parser() -> ArgumentParser:
    """Every command with its options as one parser, for completion."""

    def of_command(prog: str, **_told: Any) -> ArgumentParser:
        front = _BY_NAME.get(prog.rpartition(" ")[2])
        if front is None:
            return ArgumentParser(prog=prog)
        return _management_command(front).create_parser("bivouac", front.name)

    parser = ArgumentParser(
        prog="bivouac", epilog=_ELSEWHERE, formatter_class=RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(
        dest="command", parser_class=cast("type[ArgumentParser]", of_command)
    )
    for front in COMMANDS:
        commands.add_parser(front.name, help=front.does)
    commands.add_parser("completion", help="print completion for a shell").add_argument(
        "shell", choices=SHELLS
    )
    return parser


def completion_script(shell: str) -> str:
    """What makes that shell complete `bivouac`, once it has read it by `source` or `eval`."""
    script = shtab.complete(command_parser(), shell=shell)
    if shell != "zsh":
        return f"{script}\n"
    definitions, end, _rest = script.rpartition(_ZSH_END)
    assert end, "shtab ends its scripts for zsh in another way"
    return definitions + _ZSH_REGISTERS


def _run(front: Front, words: Sequence[str]) -> None:
    arguments = list(words)
    if front.name == "demo" and not arguments:
        # A record of its own, beside that of a cluster which one may have.
        os.environ.setdefault("BIVOUAC_DATA_DIR", str(usual_demo_directory()))
        front, arguments = _BY_NAME["up"], ["--demo"]
    _ready()
    _management_command(front).run_from_argv(["bivouac", front.name, *arguments])


def _completion(words: Sequence[str]) -> None:
    if len(words) != 1 or words[0] not in SHELLS:
        sys.exit("usage: bivouac completion bash|zsh|fish")
    _ready()
    sys.stdout.write(completion_script(words[0]))


def _ready() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cluster.settings")
    try:
        django.setup()
    except ImproperlyConfigured as error:
        sys.exit(str(error))


def _management_command(front: Front) -> BaseCommand:
    command = load_command_class("cluster", front.behind)
    command.suppressed_base_arguments = set(_OF_DJANGO)
    # Examples in its help are typed as in a checkout.
    typed = f"manage.py {front.behind.replace('_', '-')}"
    command.help = command.help.replace(typed, f"bivouac {front.name}")
    if isinstance(command, CommandWithExamples):
        command.epilog = command.epilog.replace(typed, f"bivouac {front.name}")
    return command
