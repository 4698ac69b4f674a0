"""Rules of jobs, of the steps around them and of their launches (sections 4, 5 and 18)."""

from tests.cluster.jobspec.rules.places import MINUTE, group, rendered, task

VAULT_OFF = 'Vault "default" not enabled but used in the job'
SIDECAR = {"Connect": {"SidecarService": {}}}
LONG = "ä" * 501
AFFINITY = {"LTarget": "${attr.x}", "Operand": "=", "RTarget": "a", "Weight": 5}
NAMELESS = {"Identity": {"Audience": ["a"], "TTL": MINUTE}, "PortLabel": "p"}


def tasks(**fields):
    return {"TaskGroups": [group(Tasks=[task(**fields)])]}


def groups(**fields):
    return {"TaskGroups": [group(**fields)]}


CASES = [
    (
        "A1",
        "job",
        groups(Services=[{"Name": "s", **SIDECAR}]),
        (
            "connect sidecar: must have exactly"
            ' one network for Consul Connect: group "g" has 0 networks'
        ),
    ),
    ("A2", "job", tasks(Vault={}), VAULT_OFF),
    (
        "A5",
        "job",
        groups(Consul={"Cluster": "x"}),
        "non-default Consul cluster requires Nomad Enterprise",
    ),
    (
        "A5",
        "job",
        tasks(Consul={"Cluster": "x"}),
        "non-default Consul cluster requires Nomad Enterprise",
    ),
    ("A5", "job", groups(Services=[{"Name": "s", "Cluster": "x", "Provider": "nomad"}]), ()),
    (
        "A6",
        "job",
        groups(Consul={"Partition": "a"}, Tasks=[task(Consul={"Partition": "b"})]),
        'task.consul.partition "b" must match group.consul.partition "a" if both are set',
    ),
    ("A7", "job", {"Namespace": "zz"}, 'job "demo" is in nonexistent namespace "zz"'),
    ("A8", "job", {"NodePool": "zz"}, 'job "demo" is in nonexistent node pool "zz"'),
    (
        "A9",
        "job",
        {"Type": "_core", **groups(ReschedulePolicy={"Attempts": 0}, Update=None)},
        "job type cannot be core",
    ),
    ("A10", "job", {"Payload": "eA=="}, "job can't be submitted with a payload, only dispatched"),
    ("A11", "job", {"Priority": 101}, "job priority must be between [1, 100]"),
    ("A11", "job", {"Priority": 0}, ()),
    ("J23", "job", {"ID": "a\tb", "Name": "a"}, "ID contains a control character"),
    ("J23", "job", {"Name": "a\u2028"}, "Name contains a control character"),
    ("J23", "job", {"ID": "x" * 513, "Name": "a"}, "ID is longer than 512 characters"),
    ("J23", "job", {"ID": "x" * 512}, ()),
    (
        "J23",
        "job",
        {"Datacenters": ["dc1", "\x85"], **groups(Name="\x7f")},
        (
            "Datacenters[1] contains a control character",
            "TaskGroups[0].Name contains a control character",
        ),
    ),
    (
        "A12",
        "job",
        groups(Services=[{"Name": "s", "Provider": "nomad", **NAMELESS}]),
        "Service s in task group g has an identity with an empty name",
    ),
    ("A12", "job", groups(Services=[{"Name": "s", **NAMELESS}]), ()),
    (
        "A12",
        "job",
        groups(
            Networks=[{"DynamicPorts": [{"Label": "p"}]}],
            Tasks=[task(Services=[{"Name": "s", "Provider": "nomad", **NAMELESS}])],
        ),
        "Service s in task t has an identity with an empty name",
    ),
    (
        "A13",
        "job",
        tasks(Vault={"Cluster": "y"}),
        (
            'Vault "y" not enabled but used in the job',
            (
                "Task t uses Vault cluster y but does not have an identity named vault_y and no default"
                " identity is provided in agent configuration"
            ),
        ),
    ),
    (
        "A14",
        "job",
        groups(Count=50_001),
        "total count was greater than configured job_max_count: 50001 > 50000",
    ),
    (
        "A16",
        "job",
        {
            "Type": "_core",
            "Payload": "eA==",
            "Priority": 200,
            "Name": "",
            "NodePool": "zz",
            "TaskGroups": [
                group(
                    Count=60_000,
                    Consul={"Cluster": "x"},
                    ReschedulePolicy={"Attempts": 0},
                    Tasks=[
                        task(
                            Vault={"Cluster": "y"},
                            Resources={"NUMA": {"Affinity": "require"}},
                            Schedule={"Cron": {"Start": "x"}},
                        )
                    ],
                )
            ],
        },
        (
            'Vault "y" not enabled but used in the job',
            "non-default Consul cluster requires Nomad Enterprise",
            'job "demo" is in nonexistent node pool "zz"',
            "Missing job name",
            "job type cannot be core",
            "job can't be submitted with a payload, only dispatched",
            "job priority must be between [1, 100]",
            (
                "Task t uses Vault cluster y but does not have an identity named vault_y and no default"
                " identity is provided in agent configuration"
            ),
            "total count was greater than configured job_max_count: 60000 > 50000",
            "numa scheduling requires Nomad Enterprise",
            "task schedules requires Nomad Enterprise",
        ),
    ),
    (
        "A18",
        "job",
        tasks(Resources={"NUMA": {"Affinity": "require"}}),
        "numa scheduling requires Nomad Enterprise",
    ),
    (
        "A19",
        "job",
        tasks(Schedule={"Cron": {"Start": "zz"}}),
        "task schedules requires Nomad Enterprise",
    ),
    (
        "A20",
        "job",
        tasks(
            Templates=[
                {
                    "EmbeddedTmpl": "x",
                    "DestPath": "local/x",
                    "ChangeMode": "signal",
                    "ChangeSignal": "",
                }
            ]
        ),
        rendered(
            "group",
            (
                (
                    "Constraint 1 validation failed: 1 error occurred:\n\t* Set contains constraint requires"
                    " an RTarget\n\n"
                ),
                (
                    "Task t validation failed: 1 error occurred:\n\t* Template 1 validation failed: 1 error"
                    " occurred:\n\t* Must specify signal value when change mode is signal\n\n\n\n"
                ),
            ),
        ),
    ),
    ("J1", "job", {"Region": ""}, "Missing job region"),
    ("J1", "job", {"Region": "", "Multiregion": {"Regions": []}}, ()),
    ("J2", "job", {"ID": "", "Name": "a"}, "Missing job ID"),
    ("J2", "job", {"ID": "a b\0", "Name": "a"}, "Job ID contains a space"),
    ("J2", "job", {"ID": "a\0", "Name": "a"}, "Job ID contains a null character"),
    ("J3", "job", {"Name": ""}, "Missing job name"),
    ("J3", "job", {"Name": "a\0"}, "Job Name contains a null character"),
    ("J5", "job", {"Type": ""}, "Missing job type"),
    ("J6", "job", {"Type": 'da"mon'}, 'Invalid job type: "da\\"mon"'),
    (
        "J8",
        "job",
        {"Datacenters": ["", "a", ""]},
        ("Job datacenter must be non-empty string",) * 2,
    ),
    ("J9", "job", {"TaskGroups": []}, "Missing job task groups"),
    (
        "J10",
        "job",
        {"Constraints": [{"LTarget": "a", "Operand": "="}]},
        (
            'Constraint 1 validation failed: 1 error occurred:\n\t* Operator "=" requires an'
            " RTarget\n\n"
        ),
    ),
    (
        "J11",
        "job",
        {"Type": "system", "Affinities": [AFFINITY, AFFINITY]},
        "System jobs may not have an affinity block",
    ),
    (
        "J12",
        "job",
        {"Type": "system", "Spreads": [{"Attribute": "${attr.x}", "Weight": 5}]},
        "System jobs may not have a spread block",
    ),
    (
        "J13",
        "job",
        {"UI": {"Description": LONG}},
        "UI description must be under 1000 characters, currently 1002",
    ),
    ("J13", "job", {"UI": {"Description": LONG[1:]}}, ()),
    (
        "J14",
        "job",
        {"VersionTag": {"Name": "a", "Description": LONG}},
        "Tagged version description must be under 1000 characters, currently 1002",
    ),
    (
        "J15",
        "job",
        {"TaskGroups": [group(), group()]},
        "Job task group 2 redefines 'g' from group 1",
    ),
    (
        "J15 G1",
        "job",
        {"TaskGroups": [group(Name="")]},
        (
            "Job task group 1 missing name",
            "Task group  validation failed: 1 error occurred:\n\t* Missing task group name\n\n",
        ),
    ),
    ("J16", "job", groups(ShutdownDelay=-1), "ShutdownDelay must be a positive value"),
    (
        "J17",
        "job",
        {"Type": "system", **groups(Count=2)},
        "Job task group g has count 2. Count cannot exceed 1 with system scheduler",
    ),
    ("J17", "job", {"Type": "sysbatch", **groups(Count=2)}, ()),
    ("J18", "job", groups(Count=-1), rendered("group", "Task group count can't be negative")),
    (
        "J19",
        "job",
        {"Periodic": {"Specs": ["@daily"]}},
        'Periodic can only be used with "batch" or "sysbatch" scheduler',
    ),
    (
        "J20",
        "job",
        {"ParameterizedJob": {}},
        'Parameterized job can only be used with "batch" or "sysbatch" scheduler',
    ),
    (
        "J21",
        "job",
        {"Multiregion": {"Regions": [{"Name": "a"}]}},
        "Multiregion jobs are unlicensed.",
    ),
    ("J22", "job", {"Multiregion": {"Regions": []}}, ()),
    ("Y1", "job", {"Periodic": {"Enabled": False, "Specs": ["zz"]}}, ()),
    ("Y2", "periodic", {"Spec": "@daily", "Specs": ["@daily"]}, "Only cron or crons may be used"),
    ("Y3", "periodic", {"Spec": "", "Specs": []}, "Must specify a spec"),
    (
        "Y4",
        "periodic",
        {"Specs": ["@daily"], "TimeZone": "Mars/X"},
        'Invalid time zone "Mars/X": unknown time zone Mars/X',
    ),
    ("Y4", "periodic", {"Specs": ["@daily"], "TimeZone": "Local"}, ()),
    (
        "Y5",
        "periodic",
        {"Specs": ["@daily", "a", "b"]},
        (
            'Invalid cron spec "a": missing field(s)',
            'Invalid cron spec "b": missing field(s)',
        ),
    ),
    *(
        ("Y6", "periodic", {"Specs": [spec]}, f'Invalid cron spec "{spec}": {reason}')
        for spec, reason in (
            ("@every 5m", "missing field(s)"),
            ("@DAILY", "missing field(s)"),
            ("61 * * * *", "syntax error in minute field: '61'"),
            ("61 * * * * * *", "syntax error in second field: '61'"),
            ("* * 0 * *", "syntax error in day-of-month field: '0'"),
            ("* * * * MOO", "syntax error in day-of-week field: 'MOO'"),
            ("* * * * * 1850", "syntax error in year field: '1850'"),
            ("*/0 * * * *", "invalid interval */0"),
            (", * * * *", "minute field: missing directive"),
        )
    ),
    *(
        ("Y7", "periodic", {"Specs": [spec]}, ())
        for spec in (
            "* * * * * * * zz",
            "5-1 * * * *",
            "* * * * 7",
            "* * L * *",
            "* * 1W * *",
            "* * * * 5#3",
            "* * ? * ?",
            "  0 0 * * *  ",
        )
    ),
    (
        "Y8",
        "periodic",
        {"Specs": ["@daily"], "SpecType": "zz"},
        'Unknown periodic specification type "zz"',
    ),
    ("Y9", "parameterized", {"Payload": "zz"}, 'Unknown payload requirement: "zz"'),
    ("Y9", "parameterized", {"Payload": ""}, ()),
    (
        "Y10",
        "parameterized",
        {"MetaRequired": ["b", "a"], "MetaOptional": ["a", "b"]},
        "Required and optional meta keys should be disjoint. Following keys exist in both: [a b]",
    ),
]
#: Cases whose expected text is already nested.
