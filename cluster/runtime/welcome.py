"""Prepares the record for `up`: migrations, administrator, login link, tokens for both doors.

Secrets leave through the terminal and files of mode 600 only; the record keeps their hashes.
"""

import secrets
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command

from cluster.runtime.clock import RandomIDs, SystemClock
from cluster.runtime.embedded import write_private
from cluster.store.access import the_store
from cluster.store.join_tokens import add_join_token
from cluster.store.tokens import (
    EVERY_NAMESPACE,
    MANAGEMENT,
    ApiToken,
    create_api_token,
    create_login,
    find_api_token,
)

ADMINISTRATOR = "admin"
LOGIN_VALID_NS = 30 * 60 * 1_000_000_000


@dataclass(frozen=True)
class Welcome:
    """What `up` tells its user once the web server answers."""

    address: str
    login_link: str
    token: str
    env_file: Path
    join_token: str

    def lines(self) -> list[str]:
        """For a terminal."""
        return [
            "",
            f"  Open      {self.login_link}",
            "            (logs the administrator in once, within 30 minutes)",
            f"  API       {self.address}/v1",
            f"  Token     {self.token}",
            f"            (also in {self.env_file}; use it with:  . {self.env_file})",
            f"  Join      another machine: the token in {self.env_file.parent / 'join-token'}",
            "  The local agent may run commands of this host (raw_exec is on).",
            "",
        ]


def prepare_record(data_dir: Path) -> Welcome:
    """Bring the record up to date and make what a user needs to come in."""
    call_command("migrate", verbosity=0, interactive=False)
    address = settings.BIVOUAC_PUBLIC_URL
    token = _api_secret(data_dir / "env")
    _write_exports(data_dir / "env", address, token)
    return Welcome(
        address=address,
        login_link=f"{address}/login/once/{_login_secret()}",
        token=token,
        env_file=data_dir / "env",
        join_token=_join_token(data_dir / "join-token"),
    )


def _api_secret(env_file: Path) -> str:
    """The token of the last `up` while the record knows it, else a new one."""
    now = SystemClock().now()
    old = _exported(env_file, "BIVOUAC_TOKEN")
    if find_api_token(the_store(), old, now=now) is not None:
        return old
    token = ApiToken(
        accessor_id=RandomIDs().next_id(),
        name="made by up",
        type=MANAGEMENT,
        capabilities={EVERY_NAMESPACE: "write"},
        created=now,
        expires=0,
    )
    return create_api_token(the_store(), token)


def _login_secret() -> str:
    user, _ = get_user_model().objects.get_or_create(
        username=ADMINISTRATOR, defaults={"is_staff": True, "is_superuser": True}
    )
    if not user.password:
        user.set_unusable_password()
        user.save()
    return create_login(the_store(), user.pk, now=SystemClock().now(), valid_for=LOGIN_VALID_NS)


def _join_token(file: Path) -> str:
    if not file.exists():
        write_private(file, secrets.token_urlsafe(32) + "\n")
    token = file.read_text().strip()
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
