"""What the cloud tells of a machine that stands in one: zone, kind, names, addresses.

In: whose machine it is by its own firmware, and that cloud's metadata service, which answers on an
address of the link alone. Out: attributes with the reference's names (node-agent-2.md 12). A
machine whose firmware names no cloud asks nobody.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import httpx
import msgspec

logger = logging.getLogger(__name__)

DMI = Path("/sys/class/dmi/id")
_SERVICE = "http://169.254.169.254"
#: Seconds for one answer; how often a service that does not answer is asked before it is let be.
TIMEOUT_S, _TRIES = 2.0, 3
_MOST = 1024 * 1024
_AZURE_TAG = "7783-7084-3265-9085-8269-3286-77"
_OF_AWS = ["ami-id", "instance-life-cycle", "instance-type", "placement/availability-zone"]
_UNIQUE_OF_AWS = {
    name: name
    for name in [
        "hostname",
        "instance-id",
        "local-hostname",
        "local-ipv4",
        "public-hostname",
        "public-ipv4",
        "mac",
    ]
} | {"public-ipv6": "ipv6"}

Facts = Iterator[tuple[str, object]]


class _Service(NamedTuple):
    """Whom a cloud's machines may ask."""

    #: The variable that names another place, as the reference calls it, and the usual one.
    variable: str
    usual: str
    #: Facts by the end of their attribute's name; those of this machine alone begin `unique.`.
    ask: Callable[[httpx.Client, str], Facts]


class Cloud:
    """The cloud around this machine, if any."""

    def __init__(self, dmi: Path = DMI, environment: Mapping[str, str] = os.environ) -> None:
        self._name = whose(dmi)
        self._environment = environment
        self._tries = _TRIES
        self._found: dict[str, str] = {}

    @property
    def attributes(self) -> dict[str, str]:
        """What was told: asked once, or a few times where nobody answers. May take seconds."""
        if self._name and self._tries and not self._found:
            self._tries -= 1
            try:
                self._found = dict(self._asked())
            except (httpx.HTTPError, msgspec.MsgspecError, ValueError) as problem:
                logger.warning("what the cloud %s tells is not known: %s", self._name, problem)
        return self._found

    def _asked(self) -> Iterator[tuple[str, str]]:
        service = SERVICES[self._name]
        place = self._environment.get(service.variable) or service.usual
        with httpx.Client(timeout=TIMEOUT_S, trust_env=False) as client:
            for name, value in service.ask(client, place.rstrip("/")):
                text = str(value if value is not None else "").strip()
                if text:
                    head = "unique.platform" if name.startswith("unique.") else "platform"
                    yield f"{head}.{self._name}.{name.removeprefix('unique.')}", text


def whose(dmi: Path) -> str:
    """Which cloud the firmware names; "": none that is known here."""

    def says(name: str) -> str:
        with suppress(OSError, UnicodeDecodeError):
            return (dmi / name).read_text().strip()
        return ""

    vendor = says("sys_vendor")
    if any("amazon" in says(name).lower() for name in ("sys_vendor", "bios_version")):
        return "aws"
    if says("chassis_asset_tag") == _AZURE_TAG:
        return "azure"
    return {"Google": "gce", "DigitalOcean": "digitalocean"}.get(vendor, "")


def _text(client: httpx.Client, url: str, headers: Mapping[str, str]) -> str:
    """What stands there; "" where nothing does. Raises httpx.HTTPError and ValueError."""
    answer = client.get(url, headers=dict(headers))
    if answer.status_code == httpx.codes.NOT_FOUND:
        return ""
    answer.raise_for_status()
    if len(answer.content) > _MOST:
        raise ValueError(f"{url} answers with more than {_MOST} bytes")
    return answer.text


def _aws(client: httpx.Client, place: str) -> Facts:
    asks = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    token = client.put(f"{place}/latest/api/token", headers=asks).raise_for_status().text
    shown = {"X-aws-ec2-metadata-token": token}
    for name in _OF_AWS:
        found = _text(client, f"{place}/latest/meta-data/{name}", shown)
        yield name.replace("/", "."), found
    for name, path in _UNIQUE_OF_AWS.items():
        yield f"unique.{name}", _text(client, f"{place}/latest/meta-data/{path}", shown)


class _GceConfig(msgspec.Struct, rename="camel"):
    external_ip: str = ""


class _GceNetwork(msgspec.Struct, rename="camel"):
    ip: str = ""
    network: str = ""
    access_configs: list[_GceConfig] = []


class _GceScheduling(msgspec.Struct, rename="camel"):
    automatic_restart: str = ""
    on_host_maintenance: str = ""
    preemptible: str = ""


class _Gce(msgspec.Struct, rename="camel"):
    """An instance, without its `attributes`: those hold scripts and keys."""

    cpu_platform: str = ""
    hostname: str = ""
    id: int = 0
    machine_type: str = ""
    zone: str = ""
    scheduling: _GceScheduling = msgspec.field(default_factory=_GceScheduling)
    tags: list[str] = []
    network_interfaces: list[_GceNetwork] = []


def _gce(client: httpx.Client, place: str) -> Facts:
    shown = {"Metadata-Flavor": "Google"}
    told = msgspec.json.decode(_text(client, f"{place}/?recursive=true", shown) or "{}", type=_Gce)
    yield "cpu-platform", told.cpu_platform
    yield "machine-type", _last(told.machine_type)
    yield "zone", _last(told.zone)
    yield "scheduling.automatic-restart", told.scheduling.automatic_restart
    yield "scheduling.on-host-maintenance", told.scheduling.on_host_maintenance
    yield "scheduling.preemptible", told.scheduling.preemptible
    yield "unique.hostname", told.hostname
    yield "unique.id", told.id or ""
    for tag in told.tags:
        yield _named("tag", tag), "true"
    for network in told.network_interfaces:
        name = _last(network.network)
        yield f"network.{name}", "true"
        yield f"unique.network.{name}.ip", network.ip
        for number, config in enumerate(network.access_configs):
            yield f"unique.network.{name}.external-ip.{number}", config.external_ip


class _AzureTag(msgspec.Struct):
    name: str
    value: str = ""


class _AzureCompute(msgspec.Struct, rename="camel"):
    location: str = ""
    name: str = ""
    resource_group_name: str = ""
    vm_id: str = ""
    vm_scale_set_name: str = ""
    vm_size: str = ""
    zone: str = ""
    tags_list: list[_AzureTag] = []


class _AzureAddress(msgspec.Struct, rename="camel"):
    private_ip_address: str = ""
    public_ip_address: str = ""


class _AzureFamily(msgspec.Struct, rename="camel"):
    ip_address: list[_AzureAddress] = []


class _AzureInterface(msgspec.Struct, rename="camel"):
    ipv4: _AzureFamily = msgspec.field(default_factory=_AzureFamily)
    ipv6: _AzureFamily = msgspec.field(default_factory=_AzureFamily)
    mac_address: str = ""


class _AzureNetwork(msgspec.Struct):
    interface: list[_AzureInterface] = []


class _Azure(msgspec.Struct):
    compute: _AzureCompute = msgspec.field(default_factory=_AzureCompute)
    network: _AzureNetwork = msgspec.field(default_factory=_AzureNetwork)


def _azure(client: httpx.Client, place: str) -> Facts:
    url = f"{place}?api-version=2019-06-04&format=json"
    told = msgspec.json.decode(_text(client, url, {"Metadata": "true"}) or "{}", type=_Azure)
    compute = told.compute
    yield "location", compute.location
    yield "resource-group", compute.resource_group_name
    yield "scale-set", compute.vm_scale_set_name
    yield "vm-size", compute.vm_size
    yield "zone", compute.zone
    yield "unique.id", compute.vm_id
    yield "unique.name", compute.name
    for tag in compute.tags_list:
        yield _named("tag", tag.name), tag.value
    for interface in told.network.interface[:1]:
        yield "unique.mac", interface.mac_address
        for family, found in (("ipv4", interface.ipv4), ("ipv6", interface.ipv6)):
            for address in found.ip_address[:1]:
                yield f"unique.local-{family}", address.private_ip_address
                yield f"unique.public-{family}", address.public_ip_address


class _DropletAddress(msgspec.Struct):
    ip_address: str = ""


class _DropletInterface(msgspec.Struct):
    ipv4: _DropletAddress = msgspec.field(default_factory=_DropletAddress)
    ipv6: _DropletAddress = msgspec.field(default_factory=_DropletAddress)
    mac: str = ""


class _DropletNetworks(msgspec.Struct):
    private: list[_DropletInterface] = []
    public: list[_DropletInterface] = []


class _Droplet(msgspec.Struct):
    droplet_id: int = 0
    hostname: str = ""
    region: str = ""
    interfaces: _DropletNetworks = msgspec.field(default_factory=_DropletNetworks)


def _digitalocean(client: httpx.Client, place: str) -> Facts:
    told = msgspec.json.decode(_text(client, f"{place}.json", {}) or "{}", type=_Droplet)
    yield "region", told.region
    yield "unique.id", told.droplet_id or ""
    yield "unique.hostname", told.hostname
    networks = told.interfaces
    for name, interfaces in (("private", networks.private), ("public", networks.public)):
        for interface in interfaces[:1]:
            yield f"unique.{name}-ipv4", interface.ipv4.ip_address
            yield f"unique.{name}-ipv6", interface.ipv6.ip_address
            if name == "public":
                yield "unique.mac", interface.mac


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _named(kind: str, name: str) -> str:
    """Of a thing that its owner named; one may say that it is this machine's alone."""
    bare = name.removeprefix("unique.")
    return f"{'unique.' if bare != name else ''}{kind}.{bare}"


SERVICES: Mapping[str, _Service] = {
    "aws": _Service("AWS_EC2_METADATA_SERVICE_ENDPOINT", _SERVICE, _aws),
    "azure": _Service("AZURE_ENV_URL", f"{_SERVICE}/metadata/instance", _azure),
    "digitalocean": _Service("DO_ENV_URL", f"{_SERVICE}/metadata/v1", _digitalocean),
    "gce": _Service("GCE_ENV_URL", f"{_SERVICE}/computeMetadata/v1/instance", _gce),
}
