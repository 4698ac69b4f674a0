"""Warnings (section 19): the items of the outermost list."""

from tests.cluster.jobspec.rules.places import MINUTE, group, task

INSECURE = "identities without an expiration are insecure"
NO_AUDIENCE = "identities without an audience are insecure"
NO_DELAY = 'group "g" defines services, but neither the group nor any of its tasks have'
TOO_MANY = (
    "Update max parallel count is greater than task group count (3 > 2). A destructive"
    " change would result in the simultaneous replacement of all allocations."
)
DELAYED = {"ShutdownDelay": 1}
GRACE = (
    "Template[0] VaultGrace has been deprecated as of Nomad 0.11 and ignored since Vault 0.5."
    " Please remove VaultGrace / vault_grace from template block."
)
MEMORY = (
    'Memory oversubscription is not enabled; Task "g.t" memory_max value will be ignored.'
    " Update the Scheduler Configuration to allow oversubscription."
)


def of_group(*items):
    count = "1 error" if len(items) == 1 else f"{len(items)} errors"
    lines = "".join(f"\n\t* {item}" for item in items)
    return f'Group "g" has warnings: {count} occurred:{lines}'


def of_task(*items):
    return of_group(of_group(*items).replace('Group "g"', 'Task "t"'))


def identity(**fields):
    return {"Identities": [{"Name": "a", "TTL": MINUTE, "Audience": ["x"], **fields}]}


def nested(text):
    return of_task(f"1 error occurred:\n\t* Identity[a] {text}")


def served(name, **fields):
    return {
        "Name": name,
        "Provider": "nomad",
        "PortLabel": "80",
        "AddressMode": "driver",
        **fields,
    }


CASES = [
    ("W2", "group", {"Count": 2, "Update": {"MaxParallel": 3}}, of_group(TOO_MANY)),
    ("W2", "group", {"Count": 1, "Update": {"MaxParallel": 3}}, ()),
    (
        "W4",
        "group",
        {"Networks": [{"MBits": 1}]},
        of_group(
            "mbits has been deprecated as of Nomad 0.12.0. Please remove mbits from the network block"
        ),
    ),
    (
        "W5",
        "group",
        {**DELAYED, "Services": [{"Name": "a", "Identity": {"TTL": 1, "Audience": []}}]},
        of_group(f'Service "a": {NO_AUDIENCE}'),
    ),
    (
        "W6",
        "task",
        {"Resources": {"IOPS": 1}},
        of_task(
            "IOPS has been deprecated as of Nomad 0.9.0. Please remove IOPS from resource block."
        ),
    ),
    (
        "W7",
        "task",
        {"Resources": {"Networks": [{"Mode": "host"}]}},
        of_task(
            "task network resources have been deprecated as of Nomad 0.12.0. Please configure"
            " networking via group network block."
        ),
    ),
    (
        "W8",
        "task",
        {"Templates": [{"EmbeddedTmpl": "x", "DestPath": "a", "VaultGrace": 1}]},
        of_task(GRACE),
    ),
    ("W9", "task", identity(Audience=[]), nested(NO_AUDIENCE)),
    (
        "W9",
        "task",
        identity(Audience=["x", "y"]),
        nested(
            "while multiple audiences is allowed, it is more secure to use 1 audience per identity"
        ),
    ),
    ("W10", "task", identity(TTL=0), nested(INSECURE)),
    (
        "W11",
        "task",
        identity(Env=True),
        nested(
            'using env=true without change_mode="restart" may result in task not getting updated'
            " identity"
        ),
    ),
    ("W11", "task", identity(Env=True, ChangeMode="restart"), ()),
    (
        "W13",
        "group",
        {"Services": [served("a", AddressMode="auto", TaskName="t")]},
        (
            'group "g" references task "t" in a service definition, but the task has no shutdown_delay'
            " set"
        ),
    ),
    (
        "W14",
        "group",
        {**DELAYED, "Tasks": [task(Services=[served("a")])]},
        'task "t" in group "g" defines services, but has no shutdown_delay set',
    ),
    ("W15", "group", {"Services": [{"Name": "a"}]}, f"{NO_DELAY} shutdown_delay set"),
    ("W15", "group", {**DELAYED, "Services": [{"Name": "a"}]}, ()),
    (
        "W15",
        "group",
        {
            "Networks": [{"Mode": "bridge"}],
            "Services": [{"Name": "a", "Connect": {"SidecarService": {}}}],
        },
        (),
    ),
    (
        "W16",
        "job",
        {
            "TaskGroups": [
                group(Update={"AutoPromote": True, "Canary": 1}),
                group(Name="h", Update={"Canary": 1}),
            ]
        },
        "auto_promote must be true for all groups to enable automatic promotion",
    ),
    (
        "W17",
        "job",
        {"Type": "batch", "Periodic": {"Spec": "@daily", "Enabled": False}},
        "cron is deprecated and may be removed in a future release. Use crons instead",
    ),
    (
        "W18",
        "task",
        identity(Name="vault_x"),
        "Task t has an identity called vault_x but no vault block",
    ),
    ("W20 A17", "task", {"Resources": {"MemoryMaxMB": -1}}, MEMORY),
]
