"""Bodies as a Go program sends them: every field of a struct, nil as null, zero as zero."""

from typing import Any


def _struct(nils: str, **fields: Any) -> dict[str, Any]:
    """A struct of which only some fields were set; the others of these names are nil."""
    return {**dict.fromkeys(nils.split()), **fields}


def go_job(job_id: str, script: str, **fields: Any) -> dict[str, Any]:
    """A service of one group `g` with one task `t`, on the node `first`, scaled from 1 to 5."""
    resources = _struct(
        "Cores MemoryMaxMB DiskMB Networks Devices NUMA IOPS SecretsMB", CPU=20, MemoryMB=20
    )
    task = _struct(
        "Lifecycle Constraints Affinities Env Services RestartPolicy Meta KillTimeout LogConfig"
        " Artifacts Vault Consul Templates DispatchPayload VolumeMounts ScalingPolicies Secrets"
        " Identity Identities Actions Schedule",
        Name="t", Driver="raw_exec", User="", Leader=False, ShutdownDelay=0, KillSignal="",
        Kind="", Resources=resources,
        Config={"command": "/bin/sh", "args": ["-c", script]},
    )  # fmt: skip
    policy = _struct(
        "Target",
        ID="", Namespace="", Min=1, Max=5, Policy={"cooldown": "1m"}, Enabled=True, Type="",
        CreateIndex=0, ModifyIndex=0,
    )  # fmt: skip
    group = _struct(
        "Constraints Affinities Spreads Volumes RestartPolicy Disconnect ReschedulePolicy"
        " EphemeralDisk Update Migrate Networks Meta Services ShutdownDelay MaxRunDuration"
        " StopAfterClientDisconnect MaxClientDisconnect Consul PreventRescheduleOnLost",
        Name="g", Count=1, Tasks=[task], Scaling=policy,
    )  # fmt: skip
    update = _struct(
        "Stagger HealthCheck ProgressDeadline Canary AutoRevert AutoPromote",
        MaxParallel=1, MinHealthyTime=10**8, HealthyDeadline=10**11,
    )  # fmt: skip
    here = {"LTarget": "${node.unique.name}", "RTarget": "first", "Operand": "="}
    return _struct(
        "Region Namespace Priority AllAtOnce NodePool Affinities Multiregion Spreads"
        " Periodic ParameterizedJob Reschedule Migrate Meta UI Stop ParentID"
        " DispatchIdempotencyToken Payload ConsulNamespace VaultNamespace NomadTokenID Status"
        " StatusDescription Stable Version SubmitTime CreateIndex ModifyIndex JobModifyIndex"
        " VersionTag",
        ID=job_id, Name=job_id, Type="service", Datacenters=["*"], Constraints=[here],
        TaskGroups=[group], Dispatched=False, Update=update,
    ) | fields  # fmt: skip


def go_batch(job_id: str, **fields: Any) -> dict[str, Any]:
    """One that waits for a dispatch or for its time."""
    made = go_job(job_id, "true", **fields) | {"Type": "batch", "Update": None}
    made["TaskGroups"][0]["Scaling"] = None
    return made


def registration(job: dict[str, Any], **options: Any) -> dict[str, Any]:
    """What PUT /v1/jobs is sent."""
    write = {"Region": "", "Namespace": "", "SecretID": ""}
    return {"Submission": None, "Job": job, **options, **write}
