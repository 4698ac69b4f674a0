"""Rules of tasks and what is in them (sections 13 to 16)."""

from cluster.jobspec.problems import error_text
from tests.cluster.jobspec.rules.places import IN_GROUP, IN_TASK, MINUTE, group, rendered, task

ESCAPE = "destination escapes allocation directory"
NO_LOGS = "log storage (400 MB) must be less than requested disk capacity (300 MB)"
MODE = "Invalid change mode. Must be one of the following: noop, signal, script, restart"
MADE = {"EmbeddedTmpl": "x", "DestPath": "local/x"}
MOUNTED = {"Volumes": {"v": {"Type": "host", "Source": "x"}}}
PLUGIN = {"ID": "a", "Type": "node", "MountDir": "/csi"}
DEVICE = (
    "device name must be given as one of the following: type, vendor/type, or vendor/type/name"
)
SYSTEM_AFFINITY = {"Affinities": [{"LTarget": "a", "Operand": "=", "RTarget": "a", "Weight": 5}]}
VAULT_OFF = 'Vault "default" not enabled but used in the job'


def mount(**fields):
    mounts = [{"Volume": "v", "Destination": "/x", **fields}]
    return {"TaskGroups": [group(**MOUNTED, Tasks=[task(VolumeMounts=mounts)])]}


def vault(**fields):
    return {"TaskGroups": [group(Tasks=[task(Vault=fields)])]}


def in_task(*items):
    return rendered("task", items)


def vault_text(text):
    nested = f"Vault validation failed: 1 error occurred:\n\t* {text}\n\n"
    return (
        VAULT_OFF,
        in_task(nested).removeprefix("1 error occurred:\n\t* ").removesuffix("\n\n"),
    )


def summed(source, kind="sha256"):
    return {"GetterSource": "x", "GetterOptions": {"checksum": source.replace("KIND", kind)}}


CASES = [
    (
        "T2",
        "group",
        {"Tasks": [task(Name="alloc")]},
        'Task alloc validation failed: 1 error occurred:\n\t* Task cannot be named "alloc"\n\n',
    ),
    (
        "T3",
        "group",
        {"Tasks": [task(Name="a/b\0")]},
        (
            "Task a/b\0 validation failed: 1 error"
            " occurred:\n\t* Task name cannot include slashes\n\n"
        ),
    ),
    (
        "T3",
        "group",
        {"Tasks": [task(Name="a\0")]},
        (
            "Task a\0 validation failed: 1 error"
            " occurred:\n\t* Task name cannot include null characters\n\n"
        ),
    ),
    ("T4", "task", {"Driver": ""}, "Missing task driver"),
    ("T5", "task", {"KillTimeout": -1}, "KillTimeout must be a positive value"),
    ("T5", "task", {"KillTimeout": 0}, ()),
    (
        "T6",
        "task",
        {"KillTimeout": 11 * MINUTE},
        "KillTimout (11m0s) longer than the group's ProgressDeadline (10m0s)",
    ),
    ("T7", "task", {"ShutdownDelay": -1}, "ShutdownDelay must be a positive value"),
    ("T8 R4", "minimums", {"MemoryMB": 5}, "minimum MemoryMB value is 10; got 5"),
    (
        "T9",
        "logs",
        {"MaxFiles": 0, "MaxFileSizeMB": 0},
        ("minimum number of files is 1; got 0", "minimum file size is 1MB; got 0"),
    ),
    ("T9", "logs", {"MaxFiles": 40, "Disabled": True}, NO_LOGS),
    (
        "T10",
        "task",
        {"Constraints": [{"Operand": "distinct_hosts"}]},
        "Constraint 1 has disallowed Operand at task level: distinct_hosts",
    ),
    (
        "T11",
        "system",
        {"Tasks": [task(**SYSTEM_AFFINITY)]},
        f"{IN_TASK}1 error occurred:\n\t* System jobs may not have an affinity block\n\n",
    ),
    (
        "T12",
        "task service",
        {"PortLabel": "x"},
        'port label "x" referenced by services s does not exist',
    ),
    (
        "T13 B1 B7 B17 B20",
        "task",
        {
            "Artifacts": [{}],
            "Templates": [{"DestPath": "a"}],
            "Actions": [{"Name": "a"}],
            "DispatchPayload": {"File": "../../../x"},
        },
        (
            "Artifact 1 validation failed: 1 error occurred:\n\t* source must be specified\n\n",
            (
                "Template 1 validation failed: 1 error occurred:\n\t* Must specify a source path or have"
                " an embedded template\n\n"
            ),
            "Action a validation failed: 1 error occurred:\n\t* command cannot be empty\n\n",
            f"Dispatch Payload validation failed: {ESCAPE}",
        ),
    ),
    ("T20", "task", {"Lifecycle": {}}, "Lifecycle validation failed: no lifecycle hook provided"),
    (
        "T20",
        "group",
        {"Tasks": [task(), task(Name="u", Lifecycle={"Hook": "zz"})]},
        (
            "Task u validation failed: 1 error occurred:\n\t* Lifecycle validation failed: invalid hook:"
            " zz\n\n"
        ),
    ),
    ("T21", "task", {"Kind": "connect-proxy:"}, ()),
    ("T21", "task", {"Kind": "zz:x"}, ()),
    (
        "T24",
        "task",
        {"VolumeMounts": [{"Volume": "v", "Destination": "/x"}]},
        "Volume Mount (0) references undefined volume v",
    ),
    (
        "T25",
        "job",
        mount(PropagationMode="zz", SELinuxLabel="a"),
        in_task(
            'Volume Mount (0) is invalid: "2 errors occurred:\n\t* volume mount has an invalid'
            ' propagation mode: "zz"\n\t* volume mount has an invalid SELinux label: "a"\n\n"'
        ),
    ),
    (
        "T25",
        "job",
        mount(Volume=""),
        in_task(
            "Volume Mount (0) references undefined volume ",
            'Volume Mount (0) is invalid: "1 error occurred:\n\t* volume mount references an empty'
            ' volume\n\n"',
        ),
    ),
    (
        "T26",
        "task",
        {"CSIPluginConfig": PLUGIN | {"ID": ""}},
        "CSIPluginConfig must have a non-empty PluginID",
    ),
    (
        "T27",
        "task",
        {"CSIPluginConfig": PLUGIN | {"Type": "zz"}},
        (
            "CSIPluginConfig PluginType must"
            " be one of 'node', 'controller', or 'monolith', got: \"zz\""
        ),
    ),
    (
        "T28",
        "task",
        {"CSIPluginConfig": PLUGIN | {"StagePublishBaseDir": "/csi/x"}},
        (
            "CSIPluginConfig StagePublishBaseDir must not be a subdirectory of MountDir, got:"
            ' StagePublishBaseDir="/csi/x" MountDir="/csi"'
        ),
    ),
    (
        "T29 B30 B31",
        "task",
        {
            "Identity": {"TTL": -1},
            "Identities": [{"Name": "a", "TTL": -1}],
            "Secrets": [{"Name": "a", "Provider": "vault", "Path": "p"}] * 2,
        },
        (
            'Identity "default" is invalid: 1 error occurred:\n\t* ttl must be >= 0\n\n',
            'Identity "a" is invalid: 1 error occurred:\n\t* ttl must be >= 0\n\n',
            'Secret "a" has provider "vault" but no vault block',
            'Duplicate secret "a" found',
            'Secret "a" has provider "vault" but no vault block',
        ),
    ),
    (
        "R1",
        "resources",
        {"Cores": 1, "CPU": 5},
        "Task can only ask for 'cpu' or 'cores' resource, not both.",
    ),
    ("R2", "resources", {"Cores": -1}, "cores value (-1) cannot be negative"),
    ("R3", "minimums", {"Cores": 0}, "minimum CPU value is 1; got 0"),
    (
        "R3 R4",
        "minimums",
        {"CPU": 0, "MemoryMB": 5},
        ("minimum CPU value is 1; got 0", "minimum MemoryMB value is 10; got 5"),
    ),
    ("R6", "device", {"Name": ""}, DEVICE),
    (
        "R7",
        "device",
        {"Name": "gpu", "Constraints": [{"Operand": "distinct_hosts"}]},
        'Constraint 1 validation failed: using unsupported operand "distinct_hosts"',
    ),
    (
        "R8",
        "device",
        {
            "Name": "gpu",
            "Affinities": [{"LTarget": "a", "Operand": "=", "RTarget": "b", "Weight": 0}],
        },
        "Affinity 1 validation failed: 1 error occurred:\n\t* Affinity weight cannot be zero\n\n",
    ),
    ("R9", "resources", {"Devices": [{"Name": "gpu", "Count": 0}] * 2}, ()),
    (
        "R10",
        "resources",
        {"NUMA": {"Affinity": "none", "Devices": ["gpu"]}},
        'numa device "gpu" not requested as task resource',
    ),
    (
        "R11",
        "job",
        {"TaskGroups": [group(Tasks=[task(Resources={"NUMA": {"Affinity": "zz"}})])]},
        (
            rendered("resources", "numa affinity must be one of none, prefer, or require")
            .removeprefix("1 error occurred:\n\t* ")
            .removesuffix("\n\n"),
            "numa scheduling requires Nomad Enterprise",
        ),
    ),
    (
        "R12",
        "resources",
        {"MemoryMB": 64, "MemoryMaxMB": -2},
        "MemoryMaxMB value (-2) should be larger than MemoryMB value (64)",
    ),
    ("R12", "resources", {"MemoryMB": 64, "MemoryMaxMB": -1}, ()),
    (
        "R13",
        "resources",
        {"MemoryMB": 64, "SecretsMB": 65},
        "SecretsMB value (65) cannot be larger than MemoryMB value (64)",
    ),
    ("R14", "resources", {"SecretsMB": -1}, "SecretsMB value (-1) cannot be negative"),
    (
        "B2",
        "artifact",
        {"GetterSource": "x", "GetterMode": "zz"},
        'invalid artifact mode "zz"; must be one of: any, file, dir',
    ),
    ("B3", "artifact", {"GetterSource": "x", "RelativeDest": "../../x"}, ESCAPE),
    ("B3", "artifact", {"GetterSource": "x", "RelativeDest": "../x"}, ()),
    ("B3", "artifact", {"GetterSource": "x", "RelativeDest": "/etc"}, ()),
    *(
        ("B4", "artifact", summed(source), text)
        for source, text in (
            (" ", "checksum value cannot be empty"),
            ("a:b:c", 'checksum must be given as "type:value"; got "a:b:c"'),
            ("md5:zz", "invalid checksum: encoding/hex: invalid byte: U+007A 'z'"),
            ("md5:abc", "invalid checksum: encoding/hex: odd length hex string"),
            ("zz:ab", "unsupported checksum type: zz"),
            ("md5:ab", "invalid md5 checksum: ab"),
            ("md5:${x}", ()),
        )
    ),
    (
        "B5",
        "job",
        vault(ChangeMode="signal", ChangeSignal=""),
        (
            VAULT_OFF,
            IN_GROUP
            + error_text(
                (
                    (
                        "Constraint 2 validation failed: 1 error occurred:\n\t* Set contains constraint requires"
                        " an RTarget\n\n"
                    ),
                    IN_TASK
                    + error_text(
                        [
                            (
                                "Vault validation failed: 1 error occurred:\n\t* Signal must be"
                                ' specified when using change mode "signal"\n\n'
                            )
                        ]
                    ),
                )
            ),
        ),
    ),
    ("B6", "job", vault(ChangeMode="script"), vault_text('Unknown change mode "script"')),
    ("B8", "template", {"EmbeddedTmpl": "x"}, "Must specify a destination for the template"),
    ("B9", "template", MADE | {"DestPath": "../../x"}, ESCAPE),
    (
        "B10",
        "template",
        MADE | {"ChangeMode": "signal", "Envvars": True},
        "cannot use signals with env var templates",
    ),
    (
        "B11",
        "template",
        MADE | {"ChangeMode": "script"},
        "must specify change script configuration value when change mode is script",
    ),
    (
        "B11",
        "template",
        MADE | {"ChangeMode": "script", "ChangeScript": {}},
        "must specify script path value when change mode is script",
    ),
    ("B12", "template", MADE | {"ChangeMode": "Restart"}, MODE),
    ("B13", "template", MADE | {"Splay": -1}, "Must specify positive splay value"),
    (
        "B14",
        "template",
        MADE | {"Perms": "rwx"},
        'Failed to parse "rwx" as octal: strconv.ParseUint: parsing "rwx": invalid syntax',
    ),
    (
        "B14",
        "template",
        MADE | {"Perms": "10000"},
        'Failed to parse "10000" as octal: strconv.ParseUint: parsing "10000": value out of range',
    ),
    (
        "B15",
        "template",
        MADE | {"Wait": {"Min": 10, "Max": 5}},
        "wait min 10ns is greater than max 5ns",
    ),
    ("B16", "task", {"Templates": [MADE, MADE]}, "Template 2 has same destination as 1"),
    (
        "B18",
        "task",
        {"Actions": [{"Name": "a b", "Command": "x"}]},
        "Action a b validation failed: 1 error occurred:\n\t* invalid name 'a b'\n\n",
    ),
    (
        "B19",
        "task",
        {"Actions": [{"Name": "a", "Command": "x"}] * 4},
        ("Action a defined multiple times",) * 2,
    ),
    (
        "B21",
        "task",
        {"Identities": [{"Name": "a b", "TTL": 1}]},
        (
            'Identity "a b" is invalid: 1'
            ' error occurred:\n\t* invalid name "a b". Must match regex ^[a-zA-Z0-9-_]{1,128}$\n\n'
        ),
    ),
    ("B22", "identity", {"Audience": ["x", ""]}, "an empty string is an invalid audience (2)"),
    ("B22", "task", {"Identity": {"Audience": [""]}}, ()),
    (
        "B23",
        "identity",
        {"ChangeSignal": "sighup"},
        'can only use change_signal="SIGHUP" with change_mode="signal"',
    ),
    (
        "B24",
        "identity",
        {"ChangeMode": "signal"},
        'change_signal must be specified when using change_mode="signal"',
    ),
    ("B25", "identity", {"ChangeMode": "zz"}, "invalid change_mode: zz"),
    (
        "B26",
        "task",
        {"Identity": {"TTL": 1}},
        (
            'Identity "default" is invalid: 1 error'
            " occurred:\n\t* ttl for default identity not yet supported\n\n"
        ),
    ),
    ("B27", "identity", {"TTL": -1}, "ttl must be >= 0"),
    (
        "B28",
        "identity",
        {"Filepath": "x"},
        "file parameter must be true in order to specify filepath",
    ),
    (
        "B29",
        "task",
        {"Identities": [{"Name": "default"}, {}]},
        "Duplicate default identities found",
    ),
    ("B29", "task", {"Identities": [{"Name": "a", "TTL": 1}] * 2}, ()),
    (
        "B32",
        "task",
        {"Secrets": [{}]},
        (
            'Secret "" is invalid: 4 errors occurred:\n\t* secret name'
            " cannot be empty\n\t* secret name must match regex ^[a-zA-Z0-9_]{1,128}$\n\t* secret"
            " provider cannot be empty\n\t* secret path cannot be empty\n\n"
        ),
    ),
    (
        "B33",
        "secret",
        {"Provider": "nomad", "Env": {"a": "b"}},
        "nomad provider cannot use the env block",
    ),
    (
        "B33",
        "secret",
        {"Config": {"a": "b"}},
        "custom plugin provider x cannot use the config block",
    ),
    ("Q1 Q9", "constraint", {}, ("Missing constraint operand", 'Unknown constraint type ""')),
    (
        "Q2",
        "constraint",
        {"Operand": "set_contains_any"},
        "Set contains constraint requires an RTarget",
    ),
    *(
        (
            "Q3",
            "constraint",
            {"Operand": "regexp", "RTarget": pattern},
            f"Regular expression failed to compile: error parsing regexp: {reason}",
        )
        for pattern, reason in (
            ("(", "missing closing ): `(`"),
            ("[a", "missing closing ]: `[a`"),
            ("a)", "unexpected ): `a)`"),
            ("*", "missing argument to repetition operator: `*`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("a{2,1}", "invalid repeat count: `{2,1}`"),
            ("[z-a]", "invalid character class range: `z-a`"),
            (r"\pX", r"invalid character class range: `\pX`"),
            (r"\q", r"invalid escape sequence: `\q`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
            ("a\\", "trailing backslash at end of expression: ``"),
        )
    ),
    *(
        (
            "Q4",
            "constraint",
            {"Operand": "version", "RTarget": value},
            f"Version constraint is invalid: malformed constraint: {part}",
        )
        for value, part in ((">= 1.0, foo", " foo"), ("", ""), ("1.a", "1.a"), ("^ 1", "^ 1"))
    ),
    *(
        ("Q4", "constraint", {"Operand": "version", "RTarget": value}, ())
        for value in ("1", "~> v1.2.3.4", "1beta", "1-a.1+b", " >= 1 ")
    ),
    (
        "Q5",
        "constraint",
        {"Operand": "semver", "RTarget": "~> 1"},
        "Semver constraint is invalid: Malformed constraint: ~> 1",
    ),
    (
        "Q5",
        "constraint",
        {"Operand": "semver", "RTarget": "1beta"},
        "Semver constraint is invalid: Malformed constraint: 1beta",
    ),
    (
        "Q6",
        "constraint",
        {"Operand": "distinct_property", "RTarget": "-1"},
        (
            "Failed to convert"
            ' RTarget "-1" to uint64: strconv.ParseUint: parsing "-1": invalid syntax'
        ),
    ),
    (
        "Q6",
        "constraint",
        {"Operand": "distinct_property", "RTarget": "0"},
        "Distinct Property must have an allowed count of 1 or greater: 0 < 1",
    ),
    (
        "Q7",
        "constraint",
        {"Operand": "is_set", "RTarget": "a"},
        'Operator "is_set" does not support an RTarget',
    ),
    ("Q8", "constraint", {"Operand": "=="}, 'Operator "==" requires an RTarget'),
    (
        "Q9 Q10",
        "constraint",
        {"Operand": "zz", "LTarget": ""},
        ('Unknown constraint type "zz"', "no attribute provided but is required by operator"),
    ),
    ("Q10", "constraint", {"Operand": "distinct_hosts", "LTarget": "", "RTarget": "zz"}, ()),
    *(
        (
            "Q11" if "brace" in text else "Q12",
            "constraint",
            {"Operand": "is_set", "LTarget": target},
            text.replace("X", f'"{target}"'),
        )
        for target, text in (
            ("$attr.x", "attribute X is missing an opening brace"),
            ("${attr.x", "attribute X is missing a closing brace"),
            ("${node.region}", "unsupported attribute X"),
        )
    ),
    ("Q12", "constraint", {"Operand": "is_set", "LTarget": "zz"}, ()),
    ("Q13 Q14", "affinity", {}, ("Missing affinity operand", 'Unknown affinity operator ""')),
    ("Q14", "affinity", {"Operand": "is_set"}, 'Unknown affinity operator "is_set"'),
    ("Q15", "affinity", {"Operand": "set_contains"}, "Set contains operators require an RTarget"),
    (
        "Q15",
        "affinity",
        {"Operand": "version", "RTarget": "x"},
        "Version affinity is invalid: malformed constraint: x",
    ),
    (
        "Q15",
        "affinity",
        {"Operand": "semver", "RTarget": "x"},
        "Semver affinity is invalid: Malformed constraint: x",
    ),
    ("Q15", "affinity", {"Operand": "="}, 'Operator "=" requires an RTarget'),
    (
        "Q16",
        "affinity",
        {"Operand": "=", "RTarget": "a", "LTarget": ""},
        "No LTarget provided but is required",
    ),
    ("Q16", "affinity", {"Operand": "=", "RTarget": "a", "LTarget": "${x}"}, ()),
    (
        "Q17",
        "affinity",
        {"Operand": "=", "RTarget": "a", "Weight": 0},
        "Affinity weight cannot be zero",
    ),
    (
        "Q17",
        "affinity",
        {"Operand": "=", "RTarget": "a", "Weight": 101},
        "Affinity weight must be within the range [-100,100]",
    ),
    ("Q18", "spread", {"Attribute": ""}, "Missing spread attribute"),
    ("Q19", "spread", {"Weight": 101}, "Spread block must have a positive weight from 0 to 100"),
    (
        "Q20 Q21",
        "spread",
        {"SpreadTarget": [{"Value": "a", "Percent": 101}, {"Value": "a", "Percent": 1}]},
        (
            'Spread target percentage for value "a" must be between 0 and 100',
            'Spread target value "a" already defined',
            "Sum of spread target percentages must not be greater than 100%; got 102%",
        ),
    ),
]
