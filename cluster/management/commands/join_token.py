"""`manage.py join-token`: what agents show to become nodes, from a shell on the server."""

from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import CommandError, CommandParser

from cluster.agent.joining import join_command
from cluster.management.terminal import (
    CommandWithExamples,
    instant_json,
    instant_words,
    json_text,
    span,
    table_text,
)
from cluster.runtime.clock import SystemClock
from cluster.runtime.data_lock import server_address
from cluster.store.join_tokens import (
    UNLIMITED,
    JoinToken,
    add_join_token,
    list_join_tokens,
    new_join_token,
    revoke_join_token,
)

_HELP = """Make, list and take back join tokens.

An agent shows one, once, to become a node; nodes that joined stay when it is taken back. It is
printed when it is made and never again; the record keeps its hash.

  manage.py join-token create --name rack-7 --uses 40 --ttl 24h
  manage.py join-token list
  manage.py join-token revoke 1f0c2b7e9a4d
"""


class Command(CommandWithExamples):
    """`manage.py join-token create|list|revoke`."""

    help = _HELP

    def add_arguments(self, parser: CommandParser) -> None:
        """One verb, and what it needs."""
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="create|list|revoke")
        create = verbs.add_parser("create", help="make a join token and print it, once")
        create.add_argument("--name", default="", help="what people call it")
        create.add_argument(
            "--uses", type=_uses, default=UNLIMITED, help="how many nodes may join (default: all)"
        )
        create.add_argument(
            "--ttl", type=span, default=0, metavar="SPAN", help="how long it lives: 30m, 8h"
        )
        listing = verbs.add_parser("list", help="every join token, by what it is called")
        revoke = verbs.add_parser("revoke", help="let nobody join by it any more")
        revoke.add_argument("id", nargs="+", help="what the list calls it, in its first column")
        for verb in (create, listing, revoke):
            verb.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Do what the verb says."""
        verb = {"create": _create, "list": _list, "revoke": _revoke}[options["verb"]]
        self.stdout.write(verb(options))


def _create(options: dict[str, Any]) -> str:
    now = SystemClock().now()
    secret = new_join_token()
    expires = now + options["ttl"] if options["ttl"] else 0
    token = add_join_token(
        secret, name=options["name"], now=now, expires=expires, uses=options["uses"]
    )
    command = join_command(server_address(), secret)
    if options["json"]:
        told = {"Token": secret, "Command": command.text, "Warning": command.warning}
        return json_text(_form(token) | told)
    lines = [
        f"ID       {token.id}",
        f"Token    {secret}",
        f"Uses     {_uses_words(token)}",
        f"Expires  {instant_words(token.expires)}",
        "The token is not shown again. On the machine that is to join:",
        "",
        f"  {command.text}",
        *(["", command.warning] if command.warning else []),
    ]
    return "\n".join(lines)


def _list(options: dict[str, Any]) -> str:
    tokens = list_join_tokens()
    if options["json"]:
        return json_text([_form(token) for token in tokens])
    heads = ("ID", "Name", "Uses left", "Nodes joined", "Created", "Expires")
    return table_text(heads, [_cells(token) for token in tokens])


def _revoke(options: dict[str, Any]) -> str:
    unknown = set(options["id"]) - {token.id for token in list_join_tokens()}
    if unknown:
        raise CommandError(f"no join token is called {', '.join(sorted(unknown))}")
    for token_id in options["id"]:
        revoke_join_token(token_id)
    if options["json"]:
        return json_text({"Revoked": options["id"]})
    return "\n".join(f"Revoked {token_id}" for token_id in options["id"])


def _uses(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:10]) < 2**31:
        raise ArgumentTypeError(f"{text!r} is no number of nodes")
    return int(text)


def _uses_words(token: JoinToken) -> str:
    return "unlimited" if token.uses_left == UNLIMITED else str(token.uses_left)


def _cells(token: JoinToken) -> tuple[str, ...]:
    return (
        token.id,
        token.name,
        _uses_words(token),
        str(token.nodes_joined),
        instant_words(token.created),
        instant_words(token.expires),
    )


def _form(token: JoinToken) -> dict[str, Any]:
    return {
        "ID": token.id,
        "Name": token.name,
        "UsesLeft": None if token.uses_left == UNLIMITED else token.uses_left,
        "NodesJoined": token.nodes_joined,
        "CreateTime": instant_json(token.created),
        "ExpirationTime": instant_json(token.expires),
    }
