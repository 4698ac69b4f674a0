"""What clouds tell of their machines, from answers as their own documents show them."""

import http.server
import json
import threading
from types import SimpleNamespace

import pytest

from cluster.agent.clouds import Cloud, whose

AZURE_TAG = "7783-7084-3265-9085-8269-3286-77"
FIRMWARE = {
    "aws": {"sys_vendor": "Amazon EC2\n"},
    "azure": {"sys_vendor": "Microsoft Corporation", "chassis_asset_tag": AZURE_TAG},
    "digitalocean": {"sys_vendor": "DigitalOcean"},
    "gce": {"sys_vendor": "Google"},
}
OF_AWS = {
    "ami-id": "ami-1", "instance-type": "m5.large", "placement/availability-zone": "us-east-1c",
    "instance-id": "i-1", "hostname": "ip-10-0-0-9.ec2.internal", "local-ipv4": "10.0.0.9",
    "mac": "0e:49:61:0f:c3:11", "ipv6": "2001:db8::9", "public-ipv4": " ",
}  # fmt: skip
OF_GCE = {
    "attributes": {"ssh-keys": "kim:ssh-ed25519 AAAA", "startup-script": "secret"},
    "cpuPlatform": "Intel Haswell",
    "hostname": "one.c.shop.internal",
    "id": 4242,
    "machineType": "projects/1/machineTypes/n1-standard-1",
    "networkInterfaces": [
        {
            "accessConfigs": [{"externalIp": "203.0.113.7", "type": "ONE_TO_ONE_NAT"}],
            "ip": "10.240.0.2",
            "network": "projects/1/networks/default",
        }
    ],
    "scheduling": {"automaticRestart": "TRUE", "onHostMaintenance": "MIGRATE"},
    "tags": ["web", "unique.pet"],
    "zone": "projects/1/zones/us-central1-f",
}
OF_AZURE = {
    "compute": {
        "location": "westeurope", "name": "one", "resourceGroupName": "shop", "vmId": "13f5",
        "vmScaleSetName": "", "vmSize": "Standard_A3", "zone": "2",
        "tagsList": [{"name": "team", "value": "web"}],
    },
    "network": {
        "interface": [
            {
                "ipv4": {
                    "ipAddress": [
                        {"privateIpAddress": "10.0.1.4", "publicIpAddress": "203.0.113.9"}
                    ],
                    "subnet": [{"address": "10.0.1.0", "prefix": "24"}],
                },
                "ipv6": {"ipAddress": []},
                "macAddress": "002248020E1E",
            }
        ]
    },
}  # fmt: skip
OF_DROPLET = {
    "droplet_id": 1111111, "hostname": "one", "region": "nyc3",
    "interfaces": {
        "private": [{"ipv4": {"ip_address": "10.132.0.1"}, "mac": "54:11:00:00:00:00"}],
        "public": [
            {
                "ipv4": {"ip_address": "192.0.2.20"}, "ipv6": {"ip_address": "2001:db8::1"},
                "mac": "04:01:2a:0f:2a:01",
            }
        ],
    },
}  # fmt: skip
TOLD = {
    "aws": {
        "platform.aws.ami-id": "ami-1",
        "platform.aws.instance-type": "m5.large",
        "platform.aws.placement.availability-zone": "us-east-1c",
        "unique.platform.aws.instance-id": "i-1",
        "unique.platform.aws.hostname": "ip-10-0-0-9.ec2.internal",
        "unique.platform.aws.local-ipv4": "10.0.0.9",
        "unique.platform.aws.mac": "0e:49:61:0f:c3:11",
        "unique.platform.aws.public-ipv6": "2001:db8::9",
    },
    "gce": {
        "platform.gce.cpu-platform": "Intel Haswell",
        "platform.gce.machine-type": "n1-standard-1",
        "platform.gce.zone": "us-central1-f",
        "platform.gce.scheduling.automatic-restart": "TRUE",
        "platform.gce.scheduling.on-host-maintenance": "MIGRATE",
        "platform.gce.tag.web": "true",
        "unique.platform.gce.tag.pet": "true",
        "platform.gce.network.default": "true",
        "unique.platform.gce.network.default.ip": "10.240.0.2",
        "unique.platform.gce.network.default.external-ip.0": "203.0.113.7",
        "unique.platform.gce.hostname": "one.c.shop.internal",
        "unique.platform.gce.id": "4242",
    },
    "azure": {
        "platform.azure.location": "westeurope",
        "platform.azure.resource-group": "shop",
        "platform.azure.vm-size": "Standard_A3",
        "platform.azure.zone": "2",
        "platform.azure.tag.team": "web",
        "unique.platform.azure.id": "13f5",
        "unique.platform.azure.name": "one",
        "unique.platform.azure.local-ipv4": "10.0.1.4",
        "unique.platform.azure.public-ipv4": "203.0.113.9",
        "unique.platform.azure.mac": "002248020E1E",
    },
    "digitalocean": {
        "platform.digitalocean.region": "nyc3",
        "unique.platform.digitalocean.id": "1111111",
        "unique.platform.digitalocean.hostname": "one",
        "unique.platform.digitalocean.private-ipv4": "10.132.0.1",
        "unique.platform.digitalocean.public-ipv4": "192.0.2.20",
        "unique.platform.digitalocean.public-ipv6": "2001:db8::1",
        "unique.platform.digitalocean.mac": "04:01:2a:0f:2a:01",
    },
}


class Metadata(http.server.BaseHTTPRequestHandler):
    """Every cloud's service at once; each asks for the header that its own wants."""

    def do_PUT(self):
        is_right = "X-aws-ec2-metadata-token-ttl-seconds" in self.headers
        self.answer("ticket" if is_right and self.path == "/latest/api/token" else None)

    def do_GET(self):
        given, path = self.headers, self.path
        if path.startswith("/latest/meta-data/"):
            name = path.removeprefix("/latest/meta-data/")
            is_right = given["X-aws-ec2-metadata-token"] == "ticket"
            self.answer(OF_AWS.get(name) if is_right else None)
        elif path == "/computeMetadata/v1/instance/?recursive=true":
            self.answer(json.dumps(OF_GCE) if given["Metadata-Flavor"] == "Google" else None)
        elif path.startswith("/metadata/instance?api-version="):
            self.answer(json.dumps(OF_AZURE) if given["Metadata"] == "true" else None)
        else:
            self.answer(json.dumps(OF_DROPLET) if path == "/metadata/v1.json" else None)

    def answer(self, text):
        self.server.asked.append(self.path)
        self.send_response(404 if text is None else self.server.status)
        self.send_header("Content-Length", str(len(text or "")))
        self.end_headers()
        self.wfile.write((text or "").encode())

    def log_message(self, *_text):
        """Say nothing."""


@pytest.fixture
def service():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metadata)
    server.asked, server.status = [], 200
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    environment = {
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": url,
        "AZURE_ENV_URL": f"{url}/metadata/instance/",
        "DO_ENV_URL": f"{url}/metadata/v1/",
        "GCE_ENV_URL": f"{url}/computeMetadata/v1/instance/",
    }
    yield SimpleNamespace(server=server, environment=environment)
    server.shutdown()
    server.server_close()
    thread.join()


def machine(place, firmware):
    for name, text in firmware.items():
        (place / name).write_text(text)
    return place


@pytest.mark.parametrize("name", TOLD)
def test_a_machine_of_a_cloud_tells_what_the_cloud_tells(tmp_path, service, name):
    cloud = Cloud(machine(tmp_path, FIRMWARE[name]), service.environment)
    assert cloud.attributes == TOLD[name]
    asked = len(service.server.asked)
    assert cloud.attributes == TOLD[name]
    assert len(service.server.asked) == asked, "it is asked once"


@pytest.mark.parametrize(
    "firmware", [{}, {"sys_vendor": "QEMU"}, {"sys_vendor": "Microsoft Corporation"}]
)
def test_a_machine_that_names_no_cloud_asks_nobody(tmp_path, service, firmware):
    assert Cloud(machine(tmp_path, firmware), service.environment).attributes == {}
    assert service.server.asked == []


def test_older_machines_of_amazon_say_it_in_their_version(tmp_path):
    assert whose(machine(tmp_path, {"sys_vendor": "Xen", "bios_version": "4.11.amazon"})) == "aws"


def test_a_service_that_does_not_answer_is_asked_three_times(tmp_path, service, caplog):
    service.server.status = 500
    cloud = Cloud(machine(tmp_path, FIRMWARE["gce"]), service.environment)
    assert [cloud.attributes for _ in range(5)] == [{}] * 5
    assert len(service.server.asked) == 3
    assert "what the cloud gce tells is not known" in caplog.text
    service.server.status = 200
    assert cloud.attributes == {}, "only a new agent asks again"
