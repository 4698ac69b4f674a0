"""Prepares the record for `up`: migrations, administrator, login link, tokens for both doors.

Secrets leave through the terminal and files of mode 600 only; the record keeps their hashes.
"""

from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model

from cluster.operations.acl_rights import bearer_of
from cluster.operations.acl_tokens import create_token
from cluster.operations.built_in_policies import put_built_in_policies
from cluster.runtime.clock import RandomIDs, SystemClock
from cluster.runtime.embedded import write_private
from cluster.store.access import the_store
from cluster.store.join_tokens import add_join_token, knows_join_token, new_join_token
from cluster.store.tokens import create_login
from cluster.versions import VERSION
from scheduler.access.access import MANAGEMENT
from scheduler.access.caller import CLUSTER, Caller, CallerKind
from scheduler.structs.acl_token import AclToken, TokenType

ADMINISTRATOR = "admin"
LOGIN_VALID_NS = 30 * 60 * 1_000_000_000
#: Whoever has a shell on the server may do everything.
BY_COMMAND = Caller(kind=CallerKind.COMMAND, name="manage.py", access=MANAGEMENT)


class UnknownUser(Exception):
    """There is no account to sign in to; the message names it."""


@dataclass(frozen=True)
class Welcome:
    """What `up` tells its user once the web server answers."""

    address: str
    login_link: str
    token: str
    env_file: Path
    join_token: str
    #: Whether an agent of this machine is started too.
    has_agent: bool = True

    @property
    def link_file(self) -> Path:
        """Holds the link where there is no terminal to print it to."""
        return self.env_file.with_name("login-link")

    def lines(self, *, is_terminal: bool) -> list[str]:
        """What is printed. What is no terminal is a log, in which no secret may stand."""
        link = self.login_link if is_terminal else f"the link in {self.link_file}"
        token = self.token if is_terminal else "not printed to a log"
        lines = [
            "",
            f"  Bivouac   {VERSION}",
            f"  Open      {link}",
            "            (logs the administrator in once, within 30 minutes)",
            f"  API       {self.address}/v1",
            f"  Token     {token}",
            f"            (in {self.env_file}; use it with:  . {self.env_file})",
            f"  Join      another machine: the token in {self.env_file.parent / 'join-token'}",
        ]
        if self.has_agent:
            lines.append("  The local agent may run commands of this host (raw_exec is on).")
        return [*lines, ""]


def prepare_record(data_dir: Path, *, has_agent: bool) -> Welcome:
    """Make what a user needs to come in, in a record that is up to date."""
    put_built_in_policies(the_store(), by=CLUSTER, now=SystemClock().now())
    address = settings.BIVOUAC_PUBLIC_URL
    token = _api_secret(data_dir / "env")
    _write_exports(data_dir / "env", address, token)
    return Welcome(
        address=address,
        login_link=_administrators_link(address),
        token=token,
        env_file=data_dir / "env",
        join_token=_join_token(data_dir / "join-token"),
        has_agent=has_agent,
    )


def _api_secret(env_file: Path) -> str:
    """The token of the last `up` while it still opens everything, else a new one.

    The first one of a record starts access control, as `nomad acl bootstrap` would.
    """
    now = SystemClock().now()
    old = _exported(env_file, "BIVOUAC_TOKEN")
    bearer = bearer_of(the_store(), old, now=now)
    if bearer is not None and bearer.token.is_management:
        return old
    asked = AclToken(name="Bootstrap Token", type=TokenType.MANAGEMENT, global_=True)
    return create_token(the_store(), asked, by=BY_COMMAND, now=now, ids=RandomIDs()).secret


def login_link_for(username: str, address: str, *, now: int) -> str:
    """A link to the server there that signs an account in once. Raises UnknownUser."""
    user = get_user_model().objects.filter(username=username).first()
    if user is None:
        raise UnknownUser(f"there is no account {username!r}")
    if not user.is_active:
        raise UnknownUser(f"the account {username!r} is switched off")
    return _link(user.pk, address, now)


def _administrators_link(address: str) -> str:
    user, _ = get_user_model().objects.get_or_create(
        username=ADMINISTRATOR, defaults={"is_staff": True, "is_superuser": True}
    )
    if not user.password:
        user.set_unusable_password()
        user.save()
    return _link(user.pk, address, SystemClock().now())


def _link(user_id: int, address: str, now: int) -> str:
    secret = create_login(the_store(), user_id, now=now, valid_for=LOGIN_VALID_NS)
    return f"{address}/login/once/{secret}"


def _join_token(file: Path) -> str:
    token = file.read_text().strip() if file.exists() else ""
    if not knows_join_token(token):
        # Also instead of one that was revoked.
        token = new_join_token()
        write_private(file, f"{token}\n")
    add_join_token(token, name="made by up", now=SystemClock().now())
    return token


def _write_exports(env_file: Path, address: str, secret: str) -> None:
    names = (
        ("BIVOUAC_ADDR", address),
        ("BIVOUAC_TOKEN", secret),
        ("NOMAD_ADDR", address),
        ("NOMAD_TOKEN", secret),
    )
    write_private(env_file, "".join(f"export {name}={value}\n" for name, value in names))


def _exported(env_file: Path, name: str) -> str:
    if not env_file.exists():
        return ""
    for line in env_file.read_text().splitlines():
        if line.startswith(f"export {name}="):
            return line.partition("=")[2]
    return ""
