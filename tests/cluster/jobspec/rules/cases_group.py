"""Rules of groups, their networks, volumes, policies and scaling (sections 6, 7, 8, 12, 17)."""

from tests.cluster.jobspec.rules.places import MINUTE, SECOND, group, task

PROMOTING = {"AutoPromote": True, "Canary": 0}
NO_UPDATE = 'Job type "batch" does not allow update block'
NO_RESCHEDULE = "System or sysbatch jobs should not have a reschedule policy"
NO_RUN_DURATION = 'Job type "service" does not allow max_run_duration'
STOP_AFTER = "stop_after can only be used with service or batch job types"
SPREAD = {"Attribute": "${attr.x}", "Weight": 0}
AFFINITY = {"LTarget": "a", "Operand": "=", "RTarget": "a", "Weight": 0}
DISK = (
    "minimum DiskMB value is 10; got 5",
    (
        "Task t validation failed: 1 error occurred:\n\t* 1"
        " error occurred:\n\t* log storage (100 MB) must be less than requested disk capacity"
        " (5 MB)\n\n\n\n"
    ),
)
LIMITED = {"Unlimited": False, "Attempts": 5, "Delay": 5 * SECOND, "MaxDelay": 30 * SECOND}


def ports(*reserved, **network):
    return {"ReservedPorts": list(reserved), **network}


def port(label, value=0, **fields):
    return {"Label": label, "Value": value, **fields}


def of_task(*reserved):
    return [task(Resources={"Networks": [ports(*reserved)]})]


def short(attempts, function, interval, ceiling=30 * SECOND):
    return LIMITED | {
        "Attempts": attempts, "DelayFunction": function, "Interval": interval,
        "MaxDelay": ceiling,
    }  # fmt: skip


CASES = [
    ("G2", "group", {"Count": -1}, "Task group count can't be negative"),
    ("G3", "group", {"Tasks": []}, "Missing tasks for task group"),
    ("G4", "disconnect", {"StopOnClientAfter": -1}, "stop_after cannot be a negative duration"),
    ("G5", "system", {"Disconnect": {"StopOnClientAfter": 1}}, STOP_AFTER),
    ("G5", "batch", {"Disconnect": {"StopOnClientAfter": 1}}, ()),
    ("G6", "disconnect", {"LostAfter": -1}, "lost_after cannot be a negative duration"),
    (
        "G7",
        "disconnect",
        {"StopOnClientAfter": 0, "LostAfter": 1},
        "Disconnect cannot be configured with both lost_after and stop_after",
    ),
    ("G8", "disconnect", {"Reconcile": "zz"}, "reconcile option is invalid: zz"),
    ("G9", "batch", {"MaxRunDuration": 0}, "MaxRunDuration must be greater than zero"),
    (
        "G9 G10",
        "group",
        {"MaxRunDuration": 0},
        ("MaxRunDuration must be greater than zero", NO_RUN_DURATION),
    ),
    ("G10", "group", {"MaxRunDuration": 5}, NO_RUN_DURATION),
    (
        "G11",
        "group",
        {"Constraints": [{"LTarget": "a", "Operand": "="}], "Affinities": [AFFINITY]},
        (
            (
                'Constraint 1 validation failed: 1 error occurred:\n\t* Operator "=" requires an'
                " RTarget\n\n"
            ),
            "Affinity 1 validation failed: 1 error occurred:\n\t* Affinity weight cannot be zero\n\n",
        ),
    ),
    ("G11", "system", {"Affinities": [AFFINITY]}, "System jobs may not have an affinity block"),
    ("G12 P1", "restart", {"Mode": "zz"}, 'Unsupported restart mode: "zz"'),
    (
        "G13",
        "group",
        {"Spreads": [SPREAD]},
        (
            "Spread 1 validation failed: 1 error occurred:\n\t*"
            " Spread block must have a positive weight from 0 to 100\n\n"
        ),
    ),
    ("G13", "system", {"Spreads": [SPREAD]}, "System jobs may not have a spread block"),
    ("G14", "sysbatch", {"ReschedulePolicy": {}}, NO_RESCHEDULE),
    ("G15 P16", "reschedule", {"Delay": 1}, "Delay cannot be less than 5s (got 1ns)"),
    ("G16", "group", {"EphemeralDisk": {"SizeMB": 5}}, DISK),
    (
        "G17",
        "batch",
        {"Update": PROMOTING},
        (NO_UPDATE, "Auto Promote requires a Canary count greater than zero"),
    ),
    ("G18", "batch", {"Migrate": {}}, 'Job type "batch" does not allow migrate block'),
    ("G19", "group", {"Tasks": [task(), task()]}, "Task 2 redefines 't' from task 1"),
    (
        "G19 T1",
        "group",
        {"Tasks": [task(Name="")]},
        (
            "Task 1 missing name",
            "Task  validation failed: 1 error occurred:\n\t* Missing task name\n\n",
        ),
    ),
    (
        "G20",
        "group",
        {"Tasks": [task(Leader=True), task(Name="u", Leader=True)]},
        "Only one task may be marked as leader",
    ),
    (
        "G21",
        "group",
        {"Tasks": [task(Lifecycle={"Hook": "prestart"})]},
        "Task group g must have at least one main task",
    ),
    (
        "G22",
        "group",
        {
            "Count": 0,
            "Volumes": {"v": {"Type": "host"}},
            "Networks": [ports(port("a"), port("a"))],
            "Services": [{"Name": "_", "Provider": "nomad"}],
            "Scaling": {"Min": 0, "Max": -2},
            "Tasks": [task(Driver="")],
        },
        (
            (
                "Task group volume validation for v failed: 1 error occurred:\n\t* volume has an empty"
                " source\n\n"
            ),
            (
                "Task group network validation failed: 1 error occurred:\n\t* Port label a already in use"
                " by taskgroup network\n\n"
            ),
            (
                "Task group service validation failed: 1 error occurred:\n\t* Service[0] _ validation"
                " failed: 1 error occurred:\n\t* Service name must be valid per RFC 1123 and can contain"
                " only alphanumeric characters or dashes and must be no longer than 63 characters:"
                ' "_"\n\n\n\n'
            ),
            (
                "Task group scaling policy validation failed: 2 errors occurred:\n\t* Scaling policy"
                " invalid: maximum count must be specified and non-negative\n\t* Scaling policy invalid:"
                " task group count must not be greater than maximum count in scaling policy\n\n"
            ),
            "Task t validation failed: 1 error occurred:\n\t* Missing task driver\n\n",
        ),
    ),
    (
        "N1",
        "networks",
        {"Networks": [ports(port("a")), {"DynamicPorts": [port("a")]}]},
        "Port label a already in use by taskgroup network",
    ),
    (
        "N2",
        "network",
        ports(port("a", 80), DynamicPorts=[port("b", 80)]),
        "Static port 80 already reserved by taskgroup network:a",
    ),
    ("N2", "network", ports(port("a", 80), port("b", 80, IgnoreCollision=True)), ()),
    ("N2", "network", ports(port("a", 80), port("b", 80, HostNetwork="x")), ()),
    ("N3", "network", ports(port("a", 65536)), "Port a (65536) cannot be greater than 65535"),
    ("N3", "network", ports(port("a", -5)), ()),
    ("N4", "network", ports(port("a", To=-2)), 'Port "a" cannot be mapped to negative value -2'),
    (
        "N5",
        "network",
        ports(port("a", To=65536)),
        'Port "a" cannot be mapped to a port (65536) greater than 65535',
    ),
    (
        "N6",
        "network",
        ports(port("a", 80, IgnoreCollision=True), Mode="bridge"),
        'Port "a" collision may not be ignored on non-host network mode "bridge"',
    ),
    ("N7", "networks", {"Networks": [{"CNI": {"Args": {"a": "b"}}}] * 2}, 'duplicate CNI arg "a"'),
    (
        "N8",
        "network",
        {"CNI": {"Args": {"a;": "b;"}}},
        (
            "invalid ';' character in CNI arg key \"a;\"",
            "invalid ';' character in CNI arg value \"b;\"",
        ),
    ),
    ("N9", "network", {"Hostname": "a..b"}, "Hostname is not a valid DNS name"),
    ("N9", "network", {"Hostname": "a" * 64}, "Hostname is not a valid DNS name"),
    ("N9", "network", {"Hostname": "a_b c.d"}, ()),
    (
        "N10",
        "networks",
        {"Networks": [ports(port("a"))], "Tasks": of_task(port("a"))},
        "Port label a already in use by taskgroup network",
    ),
    ("N10", "networks", {"Tasks": of_task(port("a"), port("a"))}, ()),
    (
        "N11",
        "networks",
        {"Tasks": of_task(port("a", 80), port("b", 80, IgnoreCollision=True))},
        "Static port 80 already reserved by t:a",
    ),
    (
        "N11",
        "networks",
        {"Tasks": of_task(port("a", 65536, To=-9))},
        "Port a (65536) cannot be greater than 65535",
    ),
    ("V2", "volume", {"Source": ""}, "volume has an empty source"),
    (
        "V3",
        "system",
        {"Volumes": {"v": {"Type": "host", "Source": "x", "PerAlloc": True}}},
        (
            "Task group volume validation for v failed: 1 error occurred:\n\t* volume cannot be per_alloc"
            " for system or sysbatch jobs\n\n"
        ),
    ),
    (
        "V4",
        "group",
        {
            "Update": {"Canary": 1},
            "Volumes": {"v": {"Type": "host", "Source": "x", "PerAlloc": True}},
        },
        (
            "Task group volume validation for v failed: 1 error occurred:\n\t* volume cannot be"
            " per_alloc when canaries are in use\n\n"
        ),
    ),
    (
        "V5",
        "volume",
        {"PerAlloc": True, "Sticky": True},
        "volume cannot be per_alloc and sticky at the same time",
    ),
    ("V6", "volume", {"MountOptions": {}}, "host volumes cannot have mount options"),
    (
        "V7",
        "volume",
        {"AccessMode": "single-node-reader-only"},
        "single-node-reader-only volumes must be read-only",
    ),
    ("V8", "volume", {"AccessMode": "zz"}, "host volumes cannot be mounted with zz access mode"),
    (
        "V9 V11",
        "csi",
        {"AttachmentMode": ""},
        ("CSI volumes must have an attachment mode", "CSI volumes must have an access mode"),
    ),
    (
        "V10",
        "csi",
        {"AttachmentMode": "block-device", "MountOptions": {}, "AccessMode": "a"},
        "block devices cannot have mount options",
    ),
    (
        "V12 V13",
        "csi",
        {"AccessMode": "single-node-reader-only"},
        (
            "single-node-reader-only volumes must be read-only",
            "volume with single-node-reader-only access mode allows only one reader",
        ),
    ),
    (
        "V12",
        "csi",
        {"AccessMode": "multi-node-reader-only"},
        "multi-node-reader-only volumes must be read-only",
    ),
    (
        "V14",
        "csi",
        {"AccessMode": "single-node-writer", "ReadOnly": True},
        "volume with single-node-writer access mode allows only one reader or writer",
    ),
    (
        "V15",
        "csi",
        {"AccessMode": "multi-node-single-writer"},
        "volume with multi-node-single-writer access mode allows only one writer",
    ),
    ("V16", "csi", {"AccessMode": "zz", "AttachmentMode": "yy"}, ()),
    (
        "X1",
        "scaling",
        {"Type": "vertical_cpu"},
        'Scaling policy invalid: scaling policy type "vertical_cpu" is not valid',
    ),
    (
        "X2",
        "job",
        {"ID": "", "Name": "a", "TaskGroups": [group(Scaling={"Min": 1, "Max": 5})]},
        (
            "Missing job ID",
            (
                "Task group g validation failed: 1 error occurred:\n\t* Task group scaling policy"
                " validation failed: 1 error occurred:\n\t* Scaling policy invalid: missing target"
                " job\n\n\n\n"
            ),
        ),
    ),
    (
        "X3 X6",
        "scaling",
        {"Max": None},
        (
            "Scaling policy invalid: maximum count must be specified and non-negative",
            (
                "Scaling policy invalid: task group count must not be greater than maximum count in"
                " scaling policy"
            ),
        ),
    ),
    (
        "X4 X7",
        "scaling",
        {"Min": 6},
        (
            "Scaling policy invalid: maximum count must not be less than minimum count",
            (
                "Scaling policy invalid: task group count must not be less than minimum count in scaling"
                " policy"
            ),
        ),
    ),
    (
        "X5",
        "scaling",
        {"Min": -1},
        "Scaling policy invalid: minimum count must be specified and non-negative",
    ),
    (
        "P2",
        "restart",
        {"Attempts": 0, "Mode": "delay"},
        'Restart policy "delay" with 0 attempts is ambiguous',
    ),
    (
        "P3 P4",
        "restart",
        {"Interval": SECOND},
        (
            "Interval can not be less than 5s (got 1s)",
            "Nomad can't restart the TaskGroup 2 times in an interval of 1s with a delay of 15s",
        ),
    ),
    ("P4", "restart", {"Attempts": -5}, ()),
    ("P5", "update", {"HealthCheck": "zz"}, 'Invalid health check given: "zz"'),
    (
        "P6",
        "update",
        {"MaxParallel": -1, "Canary": -2},
        (
            "Max parallel can not be less than zero: -1 < 0",
            "Canary count can not be less than zero: -2 < 0",
        ),
    ),
    ("P7", "update", PROMOTING, "Auto Promote requires a Canary count greater than zero"),
    (
        "P8",
        "update",
        {"MinHealthyTime": -1},
        "Minimum healthy time may not be less than zero: -1ns",
    ),
    (
        "P9 P10",
        "update",
        {"HealthyDeadline": 0, "ProgressDeadline": 0},
        (
            "Healthy deadline must be greater than zero: 0s",
            "Minimum healthy time must be less than healthy deadline: 10s > 0s",
        ),
    ),
    (
        "P9",
        "update",
        {"ProgressDeadline": -1},
        (
            "Progress deadline must be zero or greater: -1ns",
            "Healthy deadline must be less than progress deadline: 5m0s > -1ns",
        ),
    ),
    (
        "P10",
        "update",
        {"MinHealthyTime": 5 * MINUTE},
        "Minimum healthy time must be less than healthy deadline: 5m0s > 5m0s",
    ),
    (
        "P11",
        "update",
        {"ProgressDeadline": MINUTE},
        "Healthy deadline must be less than progress deadline: 5m0s > 1m0s",
    ),
    ("P12", "update", {"Stagger": 0, "MaxParallel": 0}, "Stagger must be greater than zero: 0s"),
    ("P13", "reschedule", {"Unlimited": False, "Delay": -1, "DelayFunction": "zz"}, ()),
    (
        "P14 P15",
        "reschedule",
        {"Attempts": 2},
        (
            "Interval must be a non zero value if Attempts > 0",
            "Reschedule Policy with Attempts = 2, Interval = 0s, and Unlimited = true is ambiguous",
            "If Attempts >0, Unlimited cannot also be set to true",
        ),
    ),
    (
        "P15",
        "batch",
        {"ReschedulePolicy": {"Unlimited": True}},
        (
            (
                "Reschedule Policy with Attempts = 1, Interval = 24h0m0s, and Unlimited = true is"
                " ambiguous"
            ),
            "If Attempts >0, Unlimited cannot also be set to true",
        ),
    ),
    (
        "P17",
        "reschedule",
        {"DelayFunction": "zz"},
        'Invalid delay function "zz", must be one of ["constant" "exponential" "fibonacci"]',
    ),
    (
        "P18 P19",
        "reschedule",
        {"MaxDelay": SECOND},
        (
            "Max Delay cannot be less than 5s (got 30s)",
            "Max Delay cannot be less than Delay 30s (got 1s)",
        ),
    ),
    (
        "P20",
        "reschedule",
        short(1, "constant", 10 * SECOND),
        "Interval cannot be less than 15s (got 10s)",
    ),
    (
        "P21",
        "reschedule",
        short(5, "constant", 20 * SECOND),
        (
            'Nomad can only make 4 attempts in 20s with initial delay 5s and delay function "constant"',
            "Set the interval to at least 25s to accommodate 5 attempts",
        ),
    ),
    (
        "P22 P23",
        "reschedule",
        short(5, "exponential", MINUTE),
        (
            (
                "Nomad can only make 4 attempts in 1m0s with initial delay 5s, delay function"
                ' "exponential", and delay ceiling 30s'
            ),
            "Set the interval to at least 1m20s to accommodate 5 attempts",
        ),
    ),
    (
        "P23",
        "reschedule",
        short(5, "fibonacci", 16 * SECOND),
        (
            (
                'Nomad can only make 4 attempts in 16s with initial delay 5s, delay function "fibonacci",'
                " and delay ceiling 30s"
            ),
            "Set the interval to at least 25s to accommodate 5 attempts",
        ),
    ),
    ("P23", "reschedule", short(5, "fibonacci", 15 * SECOND, 15 * SECOND), ()),
    (
        "P23",
        "reschedule",
        short(6, "fibonacci", 15 * SECOND, 15 * SECOND),
        (
            (
                'Nomad can only make 5 attempts in 15s with initial delay 5s, delay function "fibonacci",'
                " and delay ceiling 15s"
            ),
            "Set the interval to at least 30s to accommodate 6 attempts",
        ),
    ),
    ("P25", "migrate", {"MaxParallel": -1}, "MaxParallel must be >= 0 but found -1"),
    ("P26", "migrate", {"HealthCheck": ""}, "Missing HealthCheck"),
    ("P26", "migrate", {"HealthCheck": "manual"}, 'Invalid HealthCheck: "manual"'),
    (
        "P27",
        "migrate",
        {"MinHealthyTime": -2, "HealthyDeadline": -1},
        ("MinHealthyTime is -2ns and must be >= 0", "HealthyDeadline is -1ns and must be >= 0"),
    ),
    (
        "P28",
        "migrate",
        {"MinHealthyTime": 6 * MINUTE},
        "MinHealthyTime must be less than HealthyDeadline",
    ),
]
