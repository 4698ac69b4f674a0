"""`manage.py runagent`: run one node on this machine."""

import argparse
import asyncio
import logging
import os
import shutil
import signal
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from django.core.management.base import CommandError, CommandParser
from msgspec.structs import replace

from cluster.agent.agent import Agent
from cluster.agent.artifacts.order import Limits
from cluster.agent.collector import CollectionLimits
from cluster.agent.config import AgentConfig
from cluster.agent.config_file import BadConfigFile, read_config
from cluster.agent.config_values import FileSettings, settings_from
from cluster.agent.drivers.docker.settings import ENGINE_SOCKET, DockerSettings
from cluster.agent.host_volumes import BadVolume, declared_volumes
from cluster.agent.joining import (
    UNIT,
    UnitFile,
    introduction,
    put_files,
    unit_files,
    words_of,
)
from cluster.agent.means import Means
from cluster.agent.server_trust import BadCertificate, read_fingerprint
from cluster.agent.state_lock import StateTaken, alone_with
from cluster.agent.task_rights import CAPABILITIES, DEFAULT_CAPABILITIES
from cluster.installation import usual_agent_directory
from cluster.management.given_options import Usual, add_flag, add_text, variable_of
from cluster.management.terminal import CommandWithExamples
from cluster.runtime.clock import RandomIDs, SystemClock, chance

MIB = 1024 * 1024
#: Options of the collector: its field, bounds, what it means.
ROOM = {
    "gc-interval": ("interval_s", 1, 86400, "seconds between two looks for room"),
    "gc-disk-usage-threshold": ("disk_percent", 1, 100, "percent of the disk that may be full"),
    "gc-inode-usage-threshold": ("inode_percent", 1, 100, "percent of its inodes in use"),
    "gc-max-allocs": ("max_allocs", 0, 1_000_000, "allocations here before ended ones make room"),
    "gc-parallel-destroys": ("parallel_destroys", 1, 64, "allocations deleted at a time"),
}


_EXAMPLES = """\
  manage.py runagent --join http://127.0.0.1:4646 --token TOKEN
  manage.py runagent --config /etc/bivouac/agent.hcl
  manage.py runagent --join https://bivouac.example --token TOKEN --install   a systemd service
  manage.py runagent --join https://bivouac.example --token TOKEN --systemd   print its files

The server's page Nodes, and `join-token create`, print the whole command with a token.
"""


class Command(CommandWithExamples):
    """Joins this machine to a cluster and runs what the cluster places on it."""

    epilog = _EXAMPLES

    help = (
        "Join this machine to a cluster as a node, and run the tasks placed on it. Each option can"
        " be given as an environment variable too: --node-name as BIVOUAC_NODE_NAME."
    )
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        """Everything an operator may say of a node."""
        parser.add_argument(
            "--config",
            "-config",
            default=os.environ.get(variable_of("config"), ""),
            metavar="PATH",
            help="a file, or a folder of them, that says what no option and no variable says",
        )
        _add_joining(parser)
        add_text(parser, "node-name", "", "default: the name of the host")
        add_text(parser, "datacenter", "dc1", "where the node stands")
        add_text(parser, "node-class", "", "kind of the node, for constraints")
        add_text(parser, "node-pool", "default", "pool the node belongs to; made when missing")
        add_text(
            parser, "node-address", "", "address of its tasks; default: that of the default route"
        )
        add_text(parser, "agent-dir", usual_agent_directory(), "what the agent and its tasks keep")
        add_text(parser, "max-kill-timeout", "30", "seconds a task may take to end, at most")
        for size in ("cpu-mhz", "memory-mb", "disk-mb"):
            add_text(parser, size, "0", "0: what the machine has")
        _add_room(parser)
        add_text(parser, "artifact-max-mib", "95367", "size of one download, and unpacked again")
        add_text(parser, "artifact-timeout", "1800", "seconds one download may take")
        parser.add_argument(
            "--meta",
            action="append",
            default=_given("meta"),
            metavar="KEY=VALUE",
            help="may be repeated",
        )
        parser.add_argument(
            "--host-volume",
            action="append",
            default=_given("host-volume"),
            metavar="NAME=PATH[:ro]",
            help="a directory that jobs may ask for by this name; may be repeated",
        )
        add_text(parser, "host-volumes-dir", "", "where volumes are made; default: by the state")
        add_text(parser, "host-volume-plugin-dir", "", "programs that make volumes; the same")
        add_flag(parser, "raw-exec", "run commands of this host without isolation, as this user")
        add_flag(
            parser,
            "disable-remote-exec",
            "run no commands of people inside the tasks of this node",
        )
        add_flag(parser, "no-cloud-metadata", "ask no cloud what it tells of this machine")
        add_text(
            parser,
            "exec-capabilities",
            ",".join(sorted(DEFAULT_CAPABILITIES)),
            "what tasks of the driver exec may have of root's capabilities",
        )
        _add_docker(parser)
        add_flag(
            parser,
            "artifact-private-addresses",
            "let jobs download from private addresses too: this host, its network, a cloud's own",
        )

    def handle(self, *_args: object, **options: object) -> None:
        """Run until SIGTERM or Ctrl-C; tasks run on."""
        if options["systemd"] or options["install"]:
            config_from(options)  # What makes no agent makes no unit.
            self._set_up(options)
            return
        means = Means(SystemClock(), RandomIDs(), chance)
        config = config_from(options)
        try:
            with alone_with(config.state_dir):
                asyncio.run(serve(Agent(config, means)))
        except (BadCertificate, StateTaken) as error:
            raise CommandError(str(error)) from None

    def _set_up(self, options: dict[str, object]) -> None:
        files = _unit_files(options)
        if not options["install"]:
            for file in files:
                self.stdout.write(f"# {file.path}, mode {file.mode:o}\n{file.text}")
            return
        if shutil.which("systemctl") is None:
            raise CommandError("There is no systemctl here. --systemd prints what it would run.")
        try:
            for sentence in put_files(files):
                self.stdout.write(sentence)
            for words in (("daemon-reload",), ("enable", UNIT), ("restart", UNIT)):
                subprocess.run(["systemctl", *words], check=True)  # noqa: S603, S607 - the system's own
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be written: {error.strerror}") from None
        except subprocess.CalledProcessError as error:
            raise CommandError(f"systemctl ended with {error.returncode}") from None
        self.stdout.write(f"The agent runs; its log: journalctl -u {UNIT}")


def _unit_files(options: dict[str, object]) -> tuple[UnitFile, ...]:
    """With everything that was said of this agent, by options and variables."""
    config = str(options["config"] or "")
    beside = {"config", "systemd", "install", "join_token"}
    beside |= set() if config else {"addr", "fingerprint"}
    given = {
        name: value
        for name, value in options.items()
        if name in _ours() - beside and not (value is None or isinstance(value, Usual))
    }
    address, token = str(options["addr"]), str(options["join_token"])
    return unit_files(address, token, str(options["fingerprint"]), words_of(given), config)


def _ours() -> set[str]:
    """Names of the options that are this command's own."""
    parser = CommandParser()
    Command().add_arguments(parser)
    return set(vars(parser.parse_args([])))


def _add_room(parser: CommandParser) -> None:
    for name, (field, _, _, text) in ROOM.items():
        add_text(parser, name, f"{getattr(CollectionLimits(), field):g}", text)


def _add_joining(parser: CommandParser) -> None:
    add_text(parser, "addr", "http://127.0.0.1:4646", "address of a server", "--join")
    add_text(
        parser,
        "join-token",
        "",
        "needed once, to join; afterwards the node has a secret",
        "--token",
    )
    add_text(parser, "fingerprint", "", "of the one certificate that the server may show")
    add_text(parser, "ca-file", "", "who signs the server's certificate, instead of pinning it")
    parser.add_argument(
        "--systemd", action="store_true", help="run nothing: print the unit and its files"
    )
    parser.add_argument(
        "--install", action="store_true", help="write them, and have systemd start the agent"
    )


async def serve(agent: Agent) -> None:
    """Run the agent until a signal."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    await agent.run(stopping)


def config_from(options: dict[str, object]) -> AgentConfig:
    """What options and their file describe. Raises CommandError for what makes no agent."""
    told = _file_settings(str(options.get("config") or ""))
    return replace(
        _from_options(with_file(options, told.options)),
        reserved=told.reserved,
        host_networks=told.host_networks,
        network=told.network,
        min_dynamic_port=told.min_dynamic_port,
        max_dynamic_port=told.max_dynamic_port,
        drain_on_shutdown=told.drain_on_shutdown,
    )


def _from_options(options: dict[str, object]) -> AgentConfig:
    def text(name: str) -> str:
        return str(options[name])

    def number(name: str) -> float:
        try:
            value = float(text(name))
        except ValueError:
            value = -1.0
        if not 0 <= value < 2**40:
            raise CommandError(f"--{name.replace('_', '-')} must be a number, not {text(name)!r}")
        return value

    server = urlsplit(text("addr"))
    if server.scheme not in ("http", "https") or not server.hostname:
        raise CommandError(f"--addr must look like http://host:port, not {text('addr')!r}")
    directory = Path(text("agent_dir")).absolute()
    try:
        volumes = declared_volumes(options["host_volume"])
    except BadVolume as problem:
        raise CommandError(str(problem)) from problem
    return AgentConfig(
        server=text("addr"),
        fingerprint=_fingerprint(text("fingerprint")),
        ca_file=text("ca_file"),
        join_token=text("join_token") or introduction(directory / "state"),
        name=text("node_name"),
        datacenter=text("datacenter"),
        node_class=text("node_class"),
        node_pool=text("node_pool"),
        meta=pairs_of(options["meta"]),
        address=text("node_address"),
        state_dir=directory / "state",
        alloc_dir=directory / "alloc",
        host_volumes=volumes,
        host_volumes_dir=_place(text("host_volumes_dir")),
        host_volume_plugin_dir=_place(text("host_volume_plugin_dir")),
        raw_exec=bool(options["raw_exec"]),
        exec_capabilities=capabilities_of(text("exec_capabilities")),
        docker=_docker(options, number("docker_image_delay"), directory / "state"),
        cloud_metadata=not options["no_cloud_metadata"],
        disable_remote_exec=bool(options["disable_remote_exec"]),
        max_kill_timeout_s=number("max_kill_timeout"),
        cpu_mhz=int(number("cpu_mhz")),
        memory_mb=int(number("memory_mb")),
        disk_mb=int(number("disk_mb")),
        room=_room(options),
        artifact=Limits(
            timeout_s=number("artifact_timeout"),
            max_size=int(number("artifact_max_mib")) * MIB,
            max_unpacked=int(number("artifact_max_mib")) * MIB,
            private_addresses=bool(options["artifact_private_addresses"]),
        ),
        # A server on this machine is not spared by long pauses.
        dev=server.hostname in ("127.0.0.1", "localhost", "::1"),
    )


def _docker(options: dict[str, object], delay_s: float, state: Path) -> DockerSettings:
    """What tasks may have of the container engine."""
    return DockerSettings(
        socket=str(options["docker_socket"]).removeprefix("unix://"),
        volumes=bool(options["docker_volumes"]),
        privileged=bool(options["docker_privileged"]),
        image_delay_s=None if options["docker_keep_images"] else delay_s,
        image_note=state / "docker-images.json",
    )


def _room(options: dict[str, object]) -> CollectionLimits:
    """When ended allocations make room. Raises CommandError."""
    found = {}
    for name, (field, low, high, _) in ROOM.items():
        text = str(options[name.replace("-", "_")])
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not low <= value <= high:
            bounds = f"a number from {low} to {high}"
            raise CommandError(f"--{name} must be {bounds}, not {text!r}")
        found[field] = value if field == "interval_s" else int(value)
    return msgspec.convert(found, CollectionLimits)


def capabilities_of(text: str) -> tuple[str, ...]:
    """Names with commas between. Raises CommandError for one that Linux does not have."""
    names = [name.strip().lower().removeprefix("cap_") for name in text.split(",")]
    given = tuple(name for name in names if name)
    if unknown := [name for name in given if name not in CAPABILITIES]:
        raise CommandError(f"--exec-capabilities: no such capability: {', '.join(unknown)}")
    return given


def _fingerprint(text: str) -> str:
    try:
        return read_fingerprint(text) if text else ""
    except BadCertificate as error:
        raise CommandError(f"--fingerprint: {error}") from None


def _file_settings(path: str) -> FileSettings:
    """What the configuration file says; nothing where there is none. Raises CommandError."""
    if not path:
        return FileSettings()
    try:
        settings = settings_from(read_config(Path(path)))
    except BadConfigFile as bad:
        raise CommandError(str(bad)) from None
    if settings.log_level:
        logging.getLogger().setLevel(settings.log_level)
    return settings


def with_file(options: dict[str, object], file: dict[str, object]) -> dict[str, object]:
    """Options as they count: a command line or a variable before the file, the file before usual.

    Of `meta` and volumes each name counts by itself.
    """
    merged = dict(options)
    for name, value in file.items():
        given = options.get(name)
        texts = (
            [f"{key}={text}" for key, text in value.items()] if isinstance(value, dict) else value
        )
        if isinstance(texts, list):
            more = list(given) if isinstance(given, list) else []
            names = {str(text).partition("=")[0] for text in more}
            merged[name] = [t for t in texts if t.partition("=")[0] not in names] + more
        elif given is None or isinstance(given, Usual):
            merged[name] = value
    return merged


def pairs_of(texts: object) -> dict[str, str]:
    """`KEY=VALUE` texts as a map."""
    pairs = {}
    for text in texts if isinstance(texts, list) else []:
        key, sign, value = str(text).partition("=")
        if not sign or not key:
            raise CommandError(f"expected KEY=VALUE, not {text!r}")
        pairs[key] = value
    return pairs


def _place(text: str) -> Path | None:
    return Path(text).absolute() if text else None


def _given(name: str) -> list[str]:
    """What the environment says of an option that may be repeated, parted by commas."""
    return [text for text in os.environ.get(variable_of(name), "").split(",") if text]


def _add_docker(parser: argparse.ArgumentParser) -> None:
    add_text(
        parser, "docker-socket", ENGINE_SOCKET, "of a container engine, podman's too; '': none"
    )
    add_flag(parser, "docker-volumes", "let containers see any directory of this host")
    add_flag(parser, "docker-privileged", "let containers have every right on this host")
    add_text(parser, "docker-image-delay", "180", "seconds before an unused fetched image goes")
    add_flag(parser, "docker-keep-images", "never remove an image from the engine")
