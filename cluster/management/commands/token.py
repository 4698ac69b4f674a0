"""`manage.py token`: tokens of the API from a shell on the server."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from cluster.management.terminal import (
    CommandWithExamples,
    instant_json,
    instant_words,
    json_text,
    span,
    table_text,
)
from cluster.operations.acl_tokens import create_token, delete_tokens
from cluster.operations.errors import OperationRefused
from cluster.runtime.clock import RandomIDs, SystemClock
from cluster.runtime.welcome import BY_COMMAND
from cluster.store.access import the_store
from scheduler.state.nouns import ACL_POLICIES, ACL_TOKENS
from scheduler.structs.acl_token import AclToken, RoleLink, TokenType

_HELP = """Make, list and take back tokens of the API.

A token is shown once, when it is made; the record keeps a hash of its secret. What is changed here
is felt by the next request; Bivouac need not run.

  manage.py token create --name ci --policy deploy --ttl 8h
  manage.py token create --name root --type management
  manage.py token list --json
  manage.py token revoke 3f1c9a52
"""


class Command(CommandWithExamples):
    """`manage.py token create|list|revoke`."""

    help = _HELP

    def add_arguments(self, parser: CommandParser) -> None:
        """One verb, and what it needs."""
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="create|list|revoke")
        create = verbs.add_parser("create", help="make a token and print its secret, once")
        create.add_argument("--name", default="", help="what people call it")
        create.add_argument(
            "--type",
            choices=[str(kind) for kind in TokenType],
            default=TokenType.CLIENT.value,
            help="management may do everything; client what policies and roles say (default)",
        )
        create.add_argument(
            "--policy", action="append", default=[], metavar="NAME", help="may be given again"
        )
        create.add_argument(
            "--role", action="append", default=[], metavar="NAME", help="may be given again"
        )
        create.add_argument(
            "--ttl", type=span, default=0, metavar="SPAN", help="how long it lives: 30m, 8h"
        )
        listing = verbs.add_parser("list", help="every token, without secrets")
        revoke = verbs.add_parser("revoke", help="take tokens back, at once")
        revoke.add_argument(
            "accessor", nargs="+", help="accessor of a token, or how the only such one begins"
        )
        for verb in (create, listing, revoke):
            verb.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Do what the verb says."""
        try:
            said = {"create": _create, "list": _list, "revoke": _revoke}[options["verb"]](options)
        except OperationRefused as error:
            raise CommandError(str(error).strip()) from None
        self.stdout.write(said)


def _create(options: dict[str, Any]) -> str:
    asked = AclToken(
        name=options["name"],
        type=options["type"],
        policies=tuple(options["policy"]),
        roles=tuple(RoleLink(name=name) for name in options["role"]),
        expiration_ttl=options["ttl"],
    )
    now = SystemClock().now()
    made = create_token(the_store(), asked, by=BY_COMMAND, now=now, ids=RandomIDs())
    if options["json"]:
        return json_text(_form(made.token) | {"SecretID": made.secret})
    lines = [
        f"Accessor  {made.token.accessor_id}",
        f"Secret    {made.secret}",
        f"Expires   {instant_words(made.token.expiration_time)}",
        "The secret is not shown again.",
        *(
            f"There is no policy {name}: until there is, the token may do nothing by it."
            for name in _unknown_policies(made.token)
        ),
    ]
    return "\n".join(lines)


def _unknown_policies(token: AclToken) -> list[str]:
    # Allowed, as the policy may be written later; a name that is misspelt would go unnoticed.
    there = {
        policy.name for policy in the_store().read(lambda reader: reader.list_all(ACL_POLICIES))
    }
    return [name for name in token.policies if name not in there]


def _list(options: dict[str, Any]) -> str:
    tokens = sorted(_tokens(), key=lambda token: (token.create_index, token.accessor_id))
    if options["json"]:
        return json_text([_form(token) for token in tokens])
    heads = ("Accessor", "Name", "Type", "Policies and roles", "Created", "Expires")
    now = SystemClock().now()
    return table_text(heads, [_cells(token, now) for token in tokens])


def _revoke(options: dict[str, Any]) -> str:
    tokens = _tokens()
    accessors = [_found(tokens, given) for given in dict.fromkeys(options["accessor"])]
    delete_tokens(
        the_store(), list(dict.fromkeys(accessors)), by=BY_COMMAND, now=SystemClock().now()
    )
    if options["json"]:
        return json_text({"Revoked": accessors})
    return "\n".join(f"Revoked {accessor}" for accessor in accessors)


def _tokens() -> list[AclToken]:
    return list(the_store().read(lambda reader: reader.list_all(ACL_TOKENS)))


def _found(tokens: list[AclToken], beginning: str) -> str:
    found = [t.accessor_id for t in tokens if t.accessor_id.startswith(beginning.lower())]
    if len(found) == 1:
        return found[0]
    raise CommandError(
        f"{len(found)} tokens have an accessor that begins with {beginning}"
        if found
        else f"no token has an accessor that begins with {beginning}"
    )


def _cells(token: AclToken, now: int) -> tuple[str, ...]:
    held = [*token.policies, *(f"role {link.name}" for link in token.roles)]
    expires = instant_words(token.expiration_time)
    return (
        token.accessor_id,
        token.name,
        token.type,
        "everything" if token.is_management else ", ".join(held),
        instant_words(token.create_time),
        f"{expires} (over)" if token.is_expired(now) else expires,
    )


def _form(token: AclToken) -> dict[str, Any]:
    return {
        "AccessorID": token.accessor_id,
        "Name": token.name,
        "Type": token.type,
        "Policies": list(token.policies),
        "Roles": [{"ID": link.id, "Name": link.name} for link in token.roles],
        "CreateTime": instant_json(token.create_time),
        "ExpirationTime": instant_json(token.expiration_time),
    }
