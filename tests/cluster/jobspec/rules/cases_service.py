"""Rules of services and their checks (sections 9 and 10)."""

from tests.cluster.jobspec.rules.places import SECOND, check, group, rendered, task

SIDECAR = {"SidecarService": {}}
NO_PORT = 'check requires a port but neither check nor service "s" have a port'
ONLY_CONSUL = "may only be set for Consul service checks"
BRIDGE = {"Mode": "bridge", "ReservedPorts": [{"Label": "r", "Value": 80}]}
URL = {"Type": "http", "Path": "/"}
PORT = {"PortLabel": "p"}


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


def checked(text, provider="consul"):
    """How a service of that provider tells what is wrong with its check `c`."""
    return f"Check c invalid: {text}" if provider == "consul" else text


def transparent(**fields):
    return {"SidecarService": {"Proxy": {"TransparentProxy": fields}}}


def in_service(*items):
    return rendered("connect", items)


CIDR = "could not parse transparent proxy excluded outbound CIDR as network prefix"
METHOD = 'method type "zz" not supported in Nomad http check'

CASES = [
    (
        "S1 S2",
        "services",
        {
            "Tasks": [
                task(
                    Services=[
                        nomad(
                            TaskName="u",
                            PortLabel="1",
                            AddressMode="driver",
                            Provider="consul",
                            Checks=[check(AddressMode="driver", TaskName="x")],
                        )
                    ]
                )
            ]
        },
        (
            'Service s is invalid: may only specify task the service belongs to, got "u"',
            'Check c is invalid: may only specify task the check belongs to, got "u"',
        ),
    ),
    (
        "S3",
        "services",
        {"Services": [nomad(Name="${a}-")]},
        (
            "Service[0] ${a}- validation failed: 1"
            " error occurred:\n\t* Service name must be valid per RFC 1123 and can contain only"
            " alphanumeric characters or dashes and must be no longer than 63 characters:"
            ' "${a}-"\n\n'
        ),
    ),
    ("S3", "services", {"Services": [nomad(Name="${a}-b")]}, ()),
    (
        "S4",
        "service",
        {"AddressMode": "host", "Address": "a"},
        'Service address_mode must be "auto" if address is set',
    ),
    (
        "S5",
        "service",
        {"AddressMode": "zz"},
        'Service address_mode must be "auto", "host", or "driver"; not "zz"',
    ),
    (
        "S6",
        "service",
        {"OnUpdate": "zz"},
        'Service on_update must be "require_healthy", "ignore_warnings", or "ignore"; not "zz"',
    ),
    (
        "S7",
        "service",
        {"Provider": "zz", "Checks": [{}]},
        'Service provider must be "consul", or "nomad"; not "zz"',
    ),
    (
        "S8",
        "check",
        {"Interval": 0},
        "missing required value interval. Interval cannot be less than 1s",
    ),
    ("S9", "consul", {"Kind": "zz"}, "Service s kind must be one of consul service kind or empty"),
    ("S9", "service", {"Kind": "zz"}, ()),
    (
        "S10",
        "service",
        {"Connect": {}},
        "Service with provider nomad cannot include Connect blocks",
    ),
    (
        "S11",
        "service",
        {"Identity": {"Name": "a", "TTL": 1}},
        "Service identity must provide at least one target aud value",
    ),
    (
        "S12",
        "services",
        {"Services": [nomad(AddressMode="driver")]},
        (
            'service "s" cannot use address_mode="driver", only services defined in a "task" block can'
            " use this mode"
        ),
    ),
    (
        "S13",
        "services",
        {
            "Services": [
                nomad(
                    **PORT, Provider="consul", Checks=[check(TaskName="u", AddressMode="driver")]
                )
            ]
        },
        (
            (
                'Check "s" invalid: cannot use address_mode="driver", only checks defined in a "task"'
                " service block can use this mode"
            ),
            "Check c invalid: refers to non-existent task u",
        ),
    ),
    (
        "S14",
        "services",
        {"Services": [nomad(**PORT), nomad(**PORT), nomad(), nomad()]},
        "Services are not unique: [group->s group->s:p]",
    ),
    (
        "S15",
        "services",
        {"Services": [nomad(), {"Name": "u"}]},
        "Multiple service providers used: task group services must use the same provider",
    ),
    (
        "S16",
        "task service",
        {"Name": "ä!"},
        (
            'service[0] "\\u00e4!" validation failed: 1 error'
            " occurred:\n\t* Service name must be valid per RFC 1123 and can contain only alphanumeric"
            ' characters or dashes and must be no longer than 63 characters: "ä!"\n\n'
        ),
    ),
    *(
        (
            "S17",
            "task service",
            {"AddressMode": mode},
            (
                f'service "s" cannot use address_mode='
                f'"{mode}", only services defined in a "group" block can use this mode'
            ),
        )
        for mode in ("alloc", "alloc_ipv6")
    ),
    (
        "S18",
        "job",
        {"TaskGroups": [group(Tasks=[task(Services=[nomad(), nomad()])])]},
        rendered(
            "group",
            (
                (
                    "Task group service validation failed: 1 error occurred:\n\t* Services are not unique:"
                    " [t->s]\n\n"
                ),
                (
                    'Task t validation failed: 1 error occurred:\n\t* 1 error occurred:\n\t* service "s" is'
                    " duplicate\n\n\n\n"
                ),
            ),
        ),
    ),
    (
        "S19",
        "task service",
        {"Provider": "consul", "Connect": SIDECAR},
        'service "s" cannot have "connect" block, only services defined in a "group" block can',
    ),
    (
        "S20",
        "task service",
        {
            "PortLabel": "1",
            "AddressMode": "driver",
            "Provider": "consul",
            "Checks": [check(Type="script", Command="a")] * 2,
        },
        'check "c" is duplicate',
    ),
    (
        "S21",
        "task service",
        {
            "PortLabel": "1",
            "AddressMode": "driver",
            "Provider": "consul",
            "Checks": [check(Type="script", Command="a", AddressMode="alloc")],
        },
        (
            'check "s" cannot use address_mode="alloc", only checks defined in a "group" service block'
            " can use this mode"
        ),
    ),
    (
        "S22 C1",
        "task service",
        {"Checks": [check()]},
        (
            f'service[0] "s" validation failed: 1 error occurred:\n\t* Check c invalid: {NO_PORT}\n\n',
            'check "c" is missing a port',
        ),
    ),
    (
        "S23",
        "task service",
        {"Provider": "consul", "Checks": [check(PortLabel="0", AddressMode="driver")]},
        'check "c" has invalid numeric port 0',
    ),
    (
        "S24",
        "task service",
        {"Checks": [check(PortLabel="80")]},
        'check "c" cannot use a numeric port 80 without setting address_mode="driver"',
    ),
    (
        "S25",
        "task service",
        {"PortLabel": "x", "Checks": [check(PortLabel="a")]},
        (
            'port label "a" referenced by services s does not exist',
            'port label "x" referenced by services s does not exist',
        ),
    ),
    ("C1", "check", {"PortLabel": ""}, ()),
    (
        "C2",
        "job",
        meshed(consul(Connect=SIDECAR, Checks=[check()])),
        in_service(checked("tcp checks are not valid for Connect enabled services")),
    ),
    ("C3", "check", {"Type": "Script"}, 'invalid check type ("script"), must be one of tcp, http'),
    (
        "C3",
        "consul check",
        {"Type": "zz"},
        checked('invalid check type ("zz"), must be one of grpc, tcp, http, script'),
    ),
    ("C3", "check", {"Type": "HTTP", "Path": "/"}, ()),
    ("C4", "check", {"Type": "http"}, "http type must have http path"),
    ("C4", "check", {"Type": "http", "Path": "%zz"}, "http type must have valid http path"),
    (
        "C4",
        "check",
        {"Type": "http", "Path": "http://a/"},
        "http type must have relative http path",
    ),
    (
        "C5",
        "consul check",
        {"Type": "script", "TaskName": "t"},
        checked("script type must have a valid script path"),
    ),
    ("C6", "check", {"Interval": 5}, "interval (5ns) cannot be lower than 1s"),
    (
        "C7",
        "check",
        {"Timeout": 0},
        "missing required value timeout. Timeout cannot be less than 1s",
    ),
    ("C7", "check", {"Timeout": 5}, "timeout (5ns) is lower than required minimum timeout 1s"),
    ("C7", "check", {"Timeout": 9 * SECOND}, ()),
    (
        "C8",
        "check",
        {"InitialStatus": "zz"},
        (
            "invalid initial check state (zz), must be one of"
            ' "passing", "warning", "critical" or empty'
        ),
    ),
    (
        "C9",
        "check",
        {"AddressMode": "auto"},
        'invalid address_mode "auto" - auto only valid for services',
    ),
    ("C9", "check", {"AddressMode": "zz"}, 'invalid address_mode "zz"'),
    (
        "C10",
        "check",
        {"OnUpdate": "zz"},
        'on_update must be "require_healthy", "ignore_warnings", or "ignore"; got "zz"',
    ),
    (
        "C11",
        "check",
        {"OnUpdate": "ignore", "CheckRestart": {}},
        'on_update value "ignore" is not compatible with check_restart',
    ),
    (
        "C12",
        "check",
        {"OnUpdate": "ignore_warnings", "CheckRestart": {}},
        (
            "on_update value"
            ' "ignore_warnings" not supported with check_restart ignore_warnings value "false"'
        ),
    ),
    (
        "C13",
        "check",
        {"CheckRestart": {"Limit": -1, "Grace": -2}},
        (
            "2 errors occurred:\n\t* limit"
            " must be greater than or equal to 0 but found -1\n\t* grace period must be greater than or"
            " equal to 0 but found -2\n\n"
        ),
    ),
    (
        "C14",
        "job",
        meshed(nomad(**PORT, Checks=[check(Expose=True)])),
        (
            "exposed service check g->s->c requires use of sidecar_proxy",
            (
                "Task group g validation failed: 1 error occurred:\n\t* Task group service validation"
                " failed: 1 error occurred:\n\t* Service[0] s validation failed: 1 error occurred:\n\t*"
                f" expose {ONLY_CONSUL}\n\n\n\n\n\n"
            ),
        ),
    ),
    (
        "C15",
        "check",
        {"OnUpdate": "ignore_warnings"},
        "on_update may only be set to ignore_warnings for Consul service checks",
    ),
    (
        "C16",
        "check",
        {"CheckRestart": {"IgnoreWarnings": True}},
        "ignore_warnings on check_restart only supported for Consul service checks",
    ),
    ("C17", "check", {"AddressMode": "driver"}, f"address_mode = driver {ONLY_CONSUL}"),
    ("C18", "check", {**URL, "Method": "zz"}, METHOD),
    ("C18", "consul check", {**URL, "Method": "zz"}, ()),
    *(
        ("C19", "check", {field: 1}, f"{name} {ONLY_CONSUL}")
        for field, name in (
            ("SuccessBeforePassing", "success_before_passing"),
            ("FailuresBeforeCritical", "failures_before_critical"),
            ("FailuresBeforeWarning", "failures_before_warning"),
        )
    ),
    ("C20", "check", {"TLSServerName": "a"}, f"tls_server_name {ONLY_CONSUL}"),
    (
        "C21",
        "job",
        meshed(
            consul(
                Connect=SIDECAR,
                Checks=[check(Type="script", Command="a", TaskName="t", Expose=True)],
            )
        ),
        in_service(checked("expose may only be set on HTTP or gRPC checks")),
    ),
    (
        "C22",
        "consul check",
        {"Type": "script", "Command": "a", "TaskName": "t", "FailuresBeforeWarning": 1},
        checked('failures_before_warning not supported for check of type "script"'),
    ),
    (
        "C24",
        "consul check",
        {"Notes": "a" * 256},
        checked("notes must not be longer than 255 characters"),
    ),
    ("C24", "check", {"Notes": "a" * 256}, ()),
    (
        "C30",
        "group",
        {"Services": [consul(Checks=[check(Type="script", Command="a")])]},
        (
            "Task group service check validation failed: 1 error occurred:\n\t* Service [g]->s or Check c"
            " must specify task parameter\n\n"
        ),
    ),
    ("C30", "group", {"Services": [consul(Checks=[check(Type="grpc")])]}, ()),
]
