"""The values a job request takes where it leaves a field open.

Out: tables of defaults by object, durations in nanoseconds. Knows no structure: which table
applies where is decided by `cluster.jobspec.canonicalize`.
"""

from typing import Any, Final

from scheduler.structs.policies import HOUR, MINUTE, SECOND

Defaults = dict[str, Any]

JOB: Final[Defaults] = {
    "ID": "", "ParentID": "", "Namespace": "default", "Stop": False, "Region": "global",
    "NodePool": "", "Type": "service", "AllAtOnce": False, "ConsulNamespace": "",
    "VaultNamespace": "", "NomadTokenID": "", "Status": "", "StatusDescription": "",
    "Stable": False, "Version": 0, "CreateIndex": 0, "ModifyIndex": 0, "JobModifyIndex": 0,
}  # fmt: skip
UPDATE: Final[Defaults] = {
    "Stagger": 30 * SECOND, "MaxParallel": 1, "HealthCheck": "checks",
    "MinHealthyTime": 10 * SECOND, "HealthyDeadline": 5 * MINUTE, "ProgressDeadline": 10 * MINUTE,
    "AutoRevert": False, "AutoPromote": False, "Canary": 0,
}  # fmt: skip
MIGRATE: Final[Defaults] = {
    "MaxParallel": 1,
    "HealthCheck": "checks",
    "MinHealthyTime": 10 * SECOND,
    "HealthyDeadline": 5 * MINUTE,
}
_KEEP_ALIVE: Final[Defaults] = {
    "Attempts": 2, "Interval": 30 * MINUTE, "Delay": 15 * SECOND, "Mode": "fail",
    "RenderTemplates": False,
}  # fmt: skip
_FINISH: Final[Defaults] = _KEEP_ALIVE | {"Attempts": 3, "Interval": 24 * HOUR}
#: Restart policy by job type; a type nobody knows is treated as batch until it is refused.
RESTART: Final[dict[str, Defaults]] = {"service": _KEEP_ALIVE, "system": _KEEP_ALIVE, "": _FINISH}
_NO_RESCHEDULE: Final[Defaults] = {
    "Attempts": 0, "Interval": 0, "Delay": 0, "DelayFunction": "", "MaxDelay": 0,
    "Unlimited": False,
}  # fmt: skip
#: Reschedule policy by job type.
RESCHEDULE: Final[dict[str, Defaults]] = {
    "service": _NO_RESCHEDULE
    | {"Delay": 30 * SECOND, "DelayFunction": "exponential", "MaxDelay": HOUR, "Unlimited": True},
    "batch": _NO_RESCHEDULE
    | {"Attempts": 1, "Interval": 24 * HOUR, "Delay": 5 * SECOND, "DelayFunction": "constant"},
    "": _NO_RESCHEDULE,
}
EPHEMERAL_DISK: Final[Defaults] = {"Sticky": False, "Migrate": False, "SizeMB": 300}
DISCONNECT: Final[Defaults] = {"Replace": True, "Reconcile": "best_score"}
PERIODIC: Final[Defaults] = {
    "Enabled": True, "SpecType": "cron", "Spec": "", "ProhibitOverlap": False, "TimeZone": "UTC",
}  # fmt: skip
LOGS: Final[Defaults] = {"MaxFiles": 10, "MaxFileSizeMB": 10, "Disabled": False}
TEMPLATE: Final[Defaults] = {
    "SourcePath": "", "DestPath": "", "EmbeddedTmpl": "", "ChangeMode": "restart", "Once": False,
    "Splay": 5 * SECOND, "Perms": "0644", "LeftDelim": "{{", "RightDelim": "}}", "Envvars": False,
    "VaultGrace": 0, "ErrMissingKey": False,
}  # fmt: skip
CHANGE_SCRIPT: Final[Defaults] = {
    "Command": "",
    "Args": [],
    "Timeout": 5 * SECOND,
    "FailOnError": False,
}
VAULT: Final[Defaults] = {
    "Env": True, "DisableFile": False, "Namespace": "", "ChangeMode": "restart",
    "ChangeSignal": "SIGHUP", "AllowTokenExpiration": False,
}  # fmt: skip
VOLUME_MOUNT: Final[Defaults] = {
    "PropagationMode": "private",
    "ReadOnly": False,
    "SELinuxLabel": "",
}
KILL_TIMEOUT: Final = 5 * SECOND
CSI_HEALTH_TIMEOUT: Final = 30 * SECOND
WEIGHT: Final = 50
PRIORITY: Final = 50
#: Audience of the identity every task has.
DEFAULT_AUDIENCE: Final = "nomadproject.io"


def by_type(table: dict[str, Defaults], job_type: str) -> Defaults:
    """The row of a table by job type."""
    return table.get(job_type, table[""])


def fill(form: Defaults | None, defaults: Defaults) -> Defaults:
    """A copy of the form in which open fields have their defaults."""
    filled = dict(defaults)
    for name, value in (form or {}).items():
        if value is not None or name not in filled:
            filled[name] = value
    for name, value in defaults.items():
        if value is filled[name] and isinstance(value, list):
            # A list of the table's own, which nobody may change.
            filled[name] = list(value)
    return filled


def merge(under: Defaults | None, over: Defaults | None) -> Defaults | None:
    """Field by field the upper form, or the lower one where the upper is open.

    None if both are absent.
    """
    if under is None or over is None:
        chosen = over if under is None else under
        return None if chosen is None else dict(chosen)
    return {
        name: over[name] if over.get(name) is not None else under.get(name)
        for name in {**under, **over}
    }
