"""Rules of Consul's mesh and its gateways (section 11)."""

from tests.cluster.jobspec.rules.places import check, group, rendered, task

SIDECAR = {"SidecarService": {}}
EXCLUSIVE = (
    "Consul Connect must be exclusively native, make use of a sidecar, or represent a Gateway"
)
BRIDGE = {"Mode": "bridge", "ReservedPorts": [{"Label": "r", "Value": 80}]}
URL = {"Type": "http", "Path": "/"}


def nomad(**fields):
    return {"Name": "s", "Provider": "nomad", **fields}


def consul(**fields):
    return {"Name": "s", "PortLabel": "r", **fields}


def meshed(*services, name="g", networks=(BRIDGE,), **fields):
    """A job whose one group has those services and one bridge network."""
    return {
        "TaskGroups": [
            group(Name=name, Services=list(services), Networks=list(networks), **fields)
        ]
    }


def gateway(**fields):
    return {"Gateway": {"Ingress": None, **fields}}


def listener(**fields):
    service = {"Name": "a"}
    return gateway(Ingress={"Listeners": [{"Port": 8080, "Services": [service], **fields}]})


def linked(**fields):
    return gateway(Terminating={"Services": [{"Name": "a", **fields}]})


def transparent(**fields):
    return {"SidecarService": {"Proxy": {"TransparentProxy": fields}}}


def upstreams(*found):
    return {"SidecarService": {"Proxy": {"Upstreams": list(found)}}}


def proxied(**fields):
    return {"Kind": "connect-proxy:x", **fields}


GATEWAY_NETWORK = (
    'connect gateway: invalid network mode for Consul Connect: group "g" uses network'
)
UPSTREAM = {"LocalBindAddress": "127.0.0.1", "LocalBindPort": 5}
CIDR = "could not parse transparent proxy excluded outbound CIDR as network prefix"
NATIVE = {"Connect": {"Native": True}}

CASES = [
    (
        "K1",
        "job",
        meshed(consul(**NATIVE), Tasks=[task(), task(Name="u")]),
        (
            "error in job mutator connect: task for Consul Connect Native service g->s is ambiguous and"
            " must be set"
        ),
    ),
    (
        "K2",
        "job",
        meshed(consul(**NATIVE, TaskName="x")),
        (
            "error in job mutator connect: task x"
            " named by Consul Connect Native service g->s does not exist"
        ),
    ),
    (
        "K3",
        "job",
        meshed(consul(Connect=gateway(Mesh={}), PortLabel="")),
        "error in job mutator connect: service.port must be set for mesh gateway service",
    ),
    (
        "K4",
        "job",
        meshed(
            consul(Connect=SIDECAR, PortLabel="1", Checks=[check(**URL, Expose=True)]), networks=()
        ),
        (
            "error in job mutator expose-check: connect expose check: must have exactly one network for"
            ' Consul Connect: group "g" has 0 networks'
        ),
    ),
    (
        "K5",
        "job",
        meshed(consul(Connect=SIDECAR, PortLabel="zz", Checks=[check(**URL, Expose=True)])),
        (
            "error in job mutator expose-check: unable to determine local service port for service"
            " check g->s->c"
        ),
    ),
    (
        "K7",
        "job",
        meshed(consul(Connect=SIDECAR), networks=({"Mode": "host"},)),
        (
            "connect sidecar:"
            ' invalid network mode for Consul Connect: group "g" uses network mode "host"; must be'
            ' "bridge" or "cni/*"'
        ),
    ),
    (
        "K7",
        "job",
        meshed(consul(Connect=gateway(Mesh={})), networks=({"Mode": "none"},)),
        f'{GATEWAY_NETWORK} mode "none"; must be "bridge", "host", or "cni/*"',
    ),
    (
        "K6",
        "job",
        meshed(consul(Connect=SIDECAR), networks=()),
        (
            "connect sidecar: must have exactly"
            ' one network for Consul Connect: group "g" has 0 networks'
        ),
    ),
    (
        "K8",
        "job",
        meshed(consul(Name="S", Connect=SIDECAR)),
        'Consul Connect service name "S" in group "g" must not contain uppercase characters',
    ),
    (
        "K8",
        "job",
        meshed(consul(Connect=SIDECAR), name="G"),
        'Consul Connect group "G" with service "s" must not contain uppercase characters',
    ),
    (
        "K9",
        "job",
        meshed(consul(Connect=upstreams(UPSTREAM, UPSTREAM))),
        (
            "Consul Connect services"
            ' "s" and "s" in group "g" using same address for upstreams (127.0.0.1:5)'
        ),
    ),
    (
        "K10",
        "job",
        meshed(
            consul(Connect=transparent()), networks=(BRIDGE | {"DNS": {"Servers": ["1.1.1.1"]}},)
        ),
        "Consul Connect transparent proxy cannot be used with network.dns unless no_dns=true",
    ),
    (
        "K11",
        "job",
        meshed(consul(Connect=transparent(ExcludeInboundPorts=["r", "80", "zz"]))),
        'Consul Connect transparent proxy port "zz" must be numeric or one of network.port labels',
    ),
    (
        "K12",
        "job",
        meshed(consul(Connect=transparent()), consul(Name="u", Connect=SIDECAR)),
        "Consul Connect transparent proxy requires there is only one connect block",
    ),
    (
        "K13",
        "job",
        meshed(consul(Checks=[check(**URL, Expose=True)])),
        "exposed service check g->s->c requires use of sidecar_proxy",
    ),
    (
        "K14",
        "job",
        {
            "TaskGroups": [
                group(
                    Networks=[BRIDGE],
                    Tasks=[task(Services=[consul(Checks=[check(**URL, Expose=True)])])],
                )
            ]
        },
        "exposed service check g[t]->s->c is not a task-group service",
    ),
    (
        "K15",
        "connect",
        transparent(ExcludeOutboundCIDRs=["zz"]),
        f"{CIDR}: netip.ParsePrefix(\"zz\"): no '/'",
    ),
    (
        "K16",
        "connect",
        transparent(UID="zz", ExcludeUIDs=["65536"]),
        (
            "2 errors occurred:\n\t*"
            ' transparent proxy block has invalid UID field: invalid user ID "zz": invalid syntax\n\t*'
            ' transparent proxy block has invalid ExcludeUIDs field: invalid user ID "65536": value out'
            " of range\n\n"
        ),
    ),
    ("K17", "connect", {}, EXCLUSIVE),
    (
        "K18",
        "connect",
        gateway(Proxy={"EnvoyDNSDiscoveryType": "zz"}, Mesh={}),
        "Consul Gateway Proxy Envoy DNS Discovery type must be STRICT_DNS or LOGICAL_DNS",
    ),
    (
        "K19",
        "connect",
        gateway(Proxy={"EnvoyGatewayBindAddresses": {"a": {}}}, Mesh={}),
        "Consul Gateway Bind Address must be set",
    ),
    (
        "K19",
        "connect",
        gateway(Proxy={"EnvoyGatewayBindAddresses": {"a": {"Address": "x"}}}, Mesh={}),
        "Consul Gateway Bind Address must set valid Port",
    ),
    (
        "K20",
        "connect",
        gateway(Ingress={}),
        "Consul Ingress Gateway requires at least one listener",
    ),
    ("K21", "connect", listener(Port=0), "Consul Ingress Listener requires valid Port"),
    (
        "K21",
        "connect",
        listener(Protocol="zz"),
        'Consul Ingress Listener requires protocol of tcp, http, http2, grpc, got "zz"',
    ),
    (
        "K21",
        "connect",
        listener(Services=[]),
        "Consul Ingress Listener requires one or more services",
    ),
    ("K22", "connect", listener(Services=[{}]), "Consul Ingress Service requires a name"),
    (
        "K22",
        "connect",
        listener(Services=[{"Name": "*"}]),
        'Consul Ingress Service doesn\'t support wildcard name for "tcp" protocol',
    ),
    (
        "K22",
        "connect",
        listener(Services=[{"Name": "a", "Hosts": ["b"]}]),
        (
            "Consul Ingress Service"
            ' doesn\'t support associating hosts to a service for the "tcp" protocol'
        ),
    ),
    (
        "K22",
        "connect",
        listener(Protocol="http", Services=[{"Name": "*", "Hosts": ["b"]}]),
        'Consul Ingress Service with a wildcard "*" service name can not also specify hosts',
    ),
    (
        "K23",
        "connect",
        gateway(Terminating={}),
        "Consul Terminating Gateway requires at least one service",
    ),
    ("K23", "connect", linked(Name=""), "Consul Linked Service requires Name"),
    ("K24", "connect", linked(CertFile="a"), "Consul Linked Service TLS requires CAFile"),
    (
        "K24",
        "connect",
        linked(CAFile="a", KeyFile="a"),
        "Consul Linked Service TLS Cert and Key must both be set",
    ),
    ("K24", "connect", linked(SNI="a"), "Consul Linked Service TLS SNI requires CAFile"),
    ("K25", "connect", gateway(), "One Consul Gateway Configuration must be set"),
    (
        "K26",
        "services",
        {"Services": [{"Name": "s", **NATIVE}]},
        (
            "Service[0] s validation failed: 2 errors occurred:\n\t* Service s is Connect Native and"
            " requires setting the task\n\t* Service s is Connect Native and requires setting the"
            " port\n\n"
        ),
    ),
    (
        "K27 K28",
        "task",
        proxied(Leader=True, Services=[nomad()]),
        (
            "Connect proxy task must not have a service block",
            "Connect proxy task must not have leader set",
            'No Connect services in task group with Connect proxy ("x")',
        ),
    ),
    (
        "K28",
        "job",
        meshed(consul(Connect=SIDECAR), Tasks=[task(), task(Name="u", **proxied())]),
        rendered(
            "group",
            "Task u validation failed: 1 error occurred:\n\t* Connect proxy service name"
            ' ("x") not found in Connect services from task group: [s]\n\n',
        ),
    ),
]
