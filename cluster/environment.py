"""Typed reading of environment variables; a bad value names its variable and what is expected."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

_USUAL_PORTS = {"http": 80, "https": 443}
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


def env_text(name: str, default: str = "") -> str:
    """The variable's text without surrounding blanks; the default when unset."""
    return os.environ.get(name, default).strip()


def env_words(name: str, default: str) -> tuple[str, ...]:
    """Words with commas between them; an empty text is no word."""
    return tuple(word.strip() for word in env_text(name, default).split(",") if word.strip())


def env_needed(name: str, *, when: str) -> str:
    """A text that may be left out only where another variable is."""
    text = env_text(name)
    if when and not text:
        raise ImproperlyConfigured(f"{name} is needed where {when} is to be asked")
    return text


def env_pairs(name: str) -> dict[str, tuple[str, ...]]:
    """Pairs `left=right` with commas between them; the rights by their lefts."""
    found: dict[str, list[str]] = {}
    for word in env_words(name, ""):
        left, mark, right = (part.strip() for part in word.partition("="))
        if not (left and mark and right):
            raise ImproperlyConfigured(f"{name} must look like theirs=ours,other=ours")
        found.setdefault(left, []).append(right)
    return {left: tuple(rights) for left, rights in found.items()}


def env_address(name: str) -> str:
    """An http address, which may have a path; empty when unset."""
    text = env_text(name)
    parts = urlsplit(text)
    if text and (parts.scheme not in _USUAL_PORTS or not parts.hostname or parts.query):
        raise ImproperlyConfigured(f"{name} must look like https://sso.example/path")
    return text


def env_bool(name: str, *, default: bool) -> bool:
    """1/true/yes/on or 0/false/no/off."""
    text = env_text(name, "1" if default else "0").lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ImproperlyConfigured(f"{name} must be one of 1, 0, true, false; it is {text!r}")


def env_int(name: str, default: int, *, low: int, high: int) -> int:
    """A whole number within bounds."""
    text = env_text(name, str(default))
    if not text.lstrip("-").isdigit() or not low <= int(text) <= high:
        raise ImproperlyConfigured(f"{name} must be a number from {low} to {high}; it is {text!r}")
    return int(text)


def env_float(name: str, default: float, *, low: float, high: float) -> float:
    """A number within bounds."""
    text = env_text(name, str(default))
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise ImproperlyConfigured(f"{name} must be a number from {low} to {high}; it is {text!r}")
    return value


def env_secret(name: str, file: Path) -> str:
    """The variable, or else the secret kept in `file`, made there on first use (mode 600)."""
    text = env_text(name)
    if text:
        return text
    with _naming(file):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            return file.read_text().strip()
        with os.fdopen(descriptor, "w") as handle:
            handle.write(secrets.token_urlsafe(48))
        return file.read_text().strip()


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """A fault of the file system becomes a sentence that names the directory."""
    try:
        yield
    except OSError as error:
        raise ImproperlyConfigured(
            f"The data directory {file.parent} cannot be used: {error.strerror}. Set"
            " BIVOUAC_DATA_DIR to a directory in which this user may write."
        ) from error


def env_origin(name: str, default: str) -> str:
    """An address as browsers name it in `Origin`: scheme, host, and a port that is not usual."""
    text = env_text(name) or default
    parts = urlsplit(text)
    host = parts.hostname or ""
    if (
        parts.scheme not in _USUAL_PORTS
        or not host
        or "@" in parts.netloc
        or parts.path.strip("/")
        or parts.query
    ):
        raise ImproperlyConfigured(
            f"{name} must look like https://bivouac.example or http://127.0.0.1:4646,"
            f" without name, password or path; its host is {host!r}"
        )
    host = f"[{host}]" if ":" in host else host
    usual = parts.port in (None, _USUAL_PORTS[parts.scheme])
    return f"{parts.scheme}://{host}" + ("" if usual else f":{parts.port}")


def keep_private(file: Path) -> None:
    """Make the file exist, for its owner only; SQLite gives its companions the same mode."""
    with _naming(file):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
        if file.stat().st_mode & 0o077:
            file.chmod(0o600)


def database_from(url: str, sqlite_file: Path) -> dict[str, object]:
    """Django's description of the record's database: PostgreSQL by `url`, else the SQLite file."""
    if not url:
        keep_private(sqlite_file)
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": sqlite_file,
            "OPTIONS": {
                # Sessions and users wait here; the record's own writer retries by itself.
                "timeout": 5,
                "transaction_mode": "IMMEDIATE",
                # Of each connection; with a thousand ids in it one takes 200 KB.
                "cached_statements": 160,
                "init_command": (
                    # Of a new file: a small write touches some 40 pages, each written whole.
                    "PRAGMA page_size=2048;"
                    " PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-32000;"
                    # The leader checkpoints, so that no writer's commit does; this is for when
                    # there has been none for long. A log that grew longer is cut again, bytes.
                    " PRAGMA temp_store=MEMORY; PRAGMA wal_autocheckpoint=65536;"
                    " PRAGMA journal_size_limit=268435456;"
                ),
            },
        }
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"} or not parts.path.strip("/"):
        raise ImproperlyConfigured(
            "DATABASE_URL must look like postgresql://user:password@host:5432/name"
        )
    return {
        # Django's own, with the store's line beside its cursors.
        "ENGINE": "cluster.store.postgresql",
        "NAME": unquote(parts.path.strip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        # A server that is away is found out in seconds, not in the minutes TCP would take.
        "OPTIONS": {"connect_timeout": 3, "tcp_user_timeout": 4000},
    }
