"""The one command that joins a machine, and the files by which systemd runs the agent there.

In: the server's address, a join token, the fingerprint of its certificate. Out: a command line;
files and where they belong. Nothing is run here.
"""

import contextlib
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.agent.server_trust import BadCertificate, fingerprint_of, shown_certificate
from cluster.installation import program

UNIT = "bivouac-agent.service"
_CONFIG = Path("/etc/bivouac/agent.hcl")
_SECRETS = Path("/etc/bivouac/agent.env")
_DATA = "/var/lib/bivouac"


@dataclass(frozen=True)
class JoinCommand:
    """What to type on the new machine. `warning`: what it lacks, "" for nothing."""

    text: str
    warning: str = ""


@dataclass(frozen=True)
class UnitFile:
    """A file of the set-up. `is_kept`: one that is there already stays as it is."""

    path: Path
    text: str
    mode: int = 0o644
    is_kept: bool = False


def join_command(address: str, token: str) -> JoinCommand:
    """The command for a new node of the server at this address, which is asked for what it shows.

    May take five seconds, where nothing answers.
    """
    words = ["bivouac", "agent", "--join", address, "--token", token]
    if not address.startswith("https"):
        warning = "The address is plain http: tokens and tasks go over the network in the clear."
        return JoinCommand(shlex.join([*words, "--install"]), warning)
    try:
        words += ["--fingerprint", fingerprint_of(shown_certificate(address))]
    except BadCertificate as error:
        told = f"No certificate is pinned: {error}. The new node trusts its system's certificates."
        return JoinCommand(shlex.join([*words, "--install"]), told)
    return JoinCommand(shlex.join([*words, "--install"]))


def introduction(state_dir: Path) -> str:
    """The token that introduces this machine where no join token was given; "": there is none.

    In the places that the reference's agent looks in (node-agent-2.md 15.1).
    """
    with contextlib.suppress(OSError):
        told = os.environ.get("NOMAD_CLIENT_INTRO_TOKEN")
        return told or (state_dir / "intro_token.jwt").read_text().strip()
    return ""


def words_of(given: Mapping[str, object]) -> list[str]:
    """Options that were given, by their names, as a command line says them."""
    words: list[str] = []
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, list):
            words += [word for each in value for word in (option, str(each))]
        elif isinstance(value, bool):
            words += [option] if value else []
        else:
            words += [option, str(value)]
    return words


def unit_files(
    address: str, token: str, fingerprint: str, further: Sequence[str] = (), config: str = ""
) -> tuple[UnitFile, ...]:
    """Configuration, secret and unit of an agent that systemd starts with the machine.

    `further`: what else its command says. `config`: a file that is there already; "": one is made.
    """
    pinned = f'\ntls {{\n  fingerprint = "{fingerprint}"\n}}\n' if fingerprint else ""
    settings = f'data_dir = "{_DATA}/agent"\n\nclient {{\n  servers = ["{address}"]\n}}\n{pinned}'
    secrets = f"BIVOUAC_JOIN_TOKEN={token}\nBIVOUAC_DATA_DIR={_DATA}\n"
    place = str(Path(config).absolute()) if config else str(_CONFIG)
    command = shlex.join([*program("runagent"), "--config", place, *further])
    unit = f"""\
[Unit]
Description=Bivouac agent: runs tasks of a cluster on this machine
After=network-online.target
Wants=network-online.target

[Service]
EnvironmentFile={_SECRETS}
WorkingDirectory={_DATA}
StateDirectory=bivouac
StateDirectoryMode=0711
ExecStart={command}
Restart=always
RestartSec=2
# Tasks outlive their agent: an upgrade stops this process and no other.
KillMode=process
# A drain on shutdown takes as long as its own deadline says.
TimeoutStopSec=infinity
Delegate=yes
LimitNOFILE=1048576
TasksMax=infinity

[Install]
WantedBy=multi-user.target
"""
    return (
        *(() if config else (UnitFile(_CONFIG, settings, is_kept=True),)),
        UnitFile(_SECRETS, secrets, mode=0o600),
        UnitFile(Path("/etc/systemd/system") / UNIT, unit),
    )


def put_files(files: tuple[UnitFile, ...], root: Path = Path("/")) -> list[str]:
    """Write them below `root`; a sentence for each."""
    told = []
    for file in files:
        place = root / file.path.relative_to("/")
        if file.is_kept and place.exists():
            told.append(f"Kept {place} as it is")
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = place.with_name(f".{place.name}.draft")
        draft.touch(mode=file.mode)
        draft.chmod(file.mode)
        draft.write_text(file.text)
        draft.replace(place)
        told.append(f"Wrote {place}")
    return told
