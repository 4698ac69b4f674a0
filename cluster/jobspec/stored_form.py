"""A canonical request made into the `Job` that is stored: what the server itself settles.

In: a canonical request form. Out: a `Job`. Checks nothing; ids of scaling policies, versions and
times are given by whoever stores it.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

import msgspec

from cluster.jobspec import defaults
from cluster.jobspec.implied import with_implied_constraints
from cluster.jobspec.request_form import RequestForm
from cluster.jobspec.request_shapes import SHAPES
from scheduler.structs.job import Job


def stored_job(form: RequestForm) -> Job:
    """The job as the record keeps it."""
    job = form | dict.fromkeys(_OF_THE_RECORD)
    job["Namespace"] = job["Namespace"] or "default"
    job["NodePool"] = job["NodePool"] or ""
    job["Datacenters"] = job["Datacenters"] or ["*"]
    update = job["Update"]
    # What a group does not say about updates has been merged into it; only these two stay above.
    job["Update"] = (
        {name: update[name] for name in _KEPT_OF_UPDATE if name in update} if update else {}
    )
    if job["ParameterizedJob"] is not None:
        payload = job["ParameterizedJob"]["Payload"] or "optional"
        job["ParameterizedJob"] = job["ParameterizedJob"] | {"Payload": payload}
    if job["UI"] is not None:
        links = [{"Label": link["Label"], "Url": link["URL"]} for link in job["UI"]["Links"] or []]
        job["UI"] = job["UI"] | {"Links": links}
    job["TaskGroups"] = [_group(group, job) for group in job["TaskGroups"] or []]
    return with_implied_constraints(msgspec.convert(_without_open(job, "Job"), Job))


_DEFAULT = "default"
#: What a request may carry but only the record settles: silently not taken over.
_OF_THE_RECORD = (
    "Dispatched", "ParentID", "Status", "StatusDescription", "Stable", "Version", "SubmitTime",
    "CreateIndex", "ModifyIndex", "JobModifyIndex",
)  # fmt: skip
_OLD_GROUP_FIELDS = (
    "MaxClientDisconnect",
    "StopAfterClientDisconnect",
    "PreventRescheduleOnLost",
)
_KEPT_OF_UPDATE = ("Stagger", "MaxParallel", "Strategy")


def _without_open(form: RequestForm, shape: str) -> object:
    """The form without what is not given; what the author wrote in free maps stays whole."""
    kept: dict[str, object] = {}
    objects = _objects_in(shape)
    for name, value in form.items():
        if value is None:
            continue
        way = objects.get(name)
        if way is None:
            kept[name] = value
        elif isinstance(value, list):
            kept[name] = [_without_open(item, way.kind) for item in value]
        elif way.is_map:
            kept[name] = {key: _without_open(item, way.kind) for key, item in value.items()}
        elif way.kind not in _KEPT_WHOLE:
            kept[name] = _without_open(value, way.kind)
        else:
            kept[name] = value
    return kept


class _Objects(NamedTuple):
    """What a field holds whose values are objects with a shape."""

    kind: str
    is_map: bool


@cache
def _objects_in(shape: str) -> Mapping[str, _Objects]:
    """The fields of a shape that hold such objects."""
    fields = SHAPES[shape].fields.values() if shape else ()
    kinds = {field.name: field.kind for field in fields}
    return {
        name: _Objects(kind.strip("[]{}"), kind.startswith("{"))
        for name, kind in kinds.items()
        if kind.strip("[]{}") in SHAPES
    }


#: Kept as maps with every field, given or not.
_KEPT_WHOLE = ("Vault", "Consul", "ConsulConnect", "ServiceWeights", "Multiregion", "TaskSchedule",
               "TaskCSIPluginConfig", "CSIMountOptions")  # fmt: skip


def _group(form: RequestForm, job: RequestForm) -> RequestForm:
    group = form | dict.fromkeys(_OLD_GROUP_FIELDS)
    group["Networks"] = _networks(group["Networks"])
    group["Volumes"] = {
        name: volume
        for name, volume in (group["Volumes"] or {}).items()
        if volume["Type"] in ("host", "csi")
    }
    group["Services"] = [
        _service(_for_only_task(service, group), job, (group["Name"], ""))
        for service in group["Services"] or []
    ]
    target = {"Namespace": job["Namespace"], "Job": job["ID"], "Group": group["Name"]}
    if group["Scaling"] is not None:
        # Without an upper bound nothing may be scaled; -1 keeps that apart from a bound of 0.
        upper = -1 if group["Scaling"]["Max"] is None else group["Scaling"]["Max"]
        group["Scaling"] = group["Scaling"] | {"Target": target, "Max": upper}
    group["Tasks"] = [_task(task, group, job) for task in group["Tasks"] or []]
    return group


def _for_only_task(service: RequestForm, group: RequestForm) -> RequestForm:
    """A natively meshed service speaks for the one task of its group."""
    tasks = group["Tasks"] or []
    connect = service["Connect"]
    is_native = connect is not None and connect["Native"] and connect["SidecarService"] is None
    if not is_native or service["TaskName"] or len(tasks) != 1 or not group["Networks"]:
        return service
    return service | {"TaskName": tasks[0]["Name"]}


def _networks(networks: list[RequestForm] | None) -> list[RequestForm] | None:
    if networks is None:
        return None
    return [
        network
        | {"Device": ""}
        | {
            kind: [
                port | {"HostNetwork": port["HostNetwork"] or "default"}
                for port in network[kind] or []
            ]
            for kind in ("ReservedPorts", "DynamicPorts")
        }
        for network in networks
    ]


def _task(form: RequestForm, group: RequestForm, job: RequestForm) -> RequestForm:
    task = dict(form)
    place = (group["Name"], task["Name"])
    task["Services"] = [
        _service(_of_task(service, task["Name"]), job, place) for service in task["Services"] or []
    ]
    task["KillTimeout"] = task["KillTimeout"] or defaults.KILL_TIMEOUT
    task["VolumeMounts"] = [
        mount for mount in task["VolumeMounts"] or [] if mount["Volume"] is not None
    ]
    if task["Schedule"] is not None and task["Schedule"]["Cron"] is None:
        task["Schedule"] = None
    _settle_identities(task)
    task["Resources"] = task["Resources"] | {
        "DiskMB": 0,
        "Networks": _networks(task["Resources"]["Networks"]),
    }
    target = {
        "Namespace": job["Namespace"],
        "Job": job["ID"],
        "Group": group["Name"],
        "Task": task["Name"],
    }
    task["ScalingPolicies"] = [
        policy | {"Target": target} for policy in task["ScalingPolicies"] or []
    ]
    return task


def _of_task(form: RequestForm, task: str) -> RequestForm:
    """A service of a task; its checks run where it does, whatever they say."""
    owner = form["TaskName"] or task
    checks = [check | {"TaskName": owner} for check in form["Checks"] or []]
    return form | {"TaskName": owner, "Checks": checks}


def _settle_identities(task: RequestForm) -> None:
    """The first identity of a list that is named `default`, or not at all, is the default one."""
    identities = [_identity(identity) for identity in task["Identities"] or []]
    given = task["Identity"]
    default = next((each for each in identities if each["Name"] == _DEFAULT), None)
    if default is not None:
        identities.remove(default)
        given = default
    task["Identities"] = identities
    default = {"Name": _DEFAULT} if given is None else _identity(given)
    task["Identity"] = default | {"Audience": [defaults.DEFAULT_AUDIENCE]}


def _identity(form: RequestForm) -> RequestForm:
    return form | {
        "Name": form["Name"] or _DEFAULT,
        "ChangeSignal": form["ChangeSignal"].upper(),
    }


def _service(form: RequestForm, job: RequestForm, place: tuple[str, str]) -> RequestForm:
    service = dict(form)
    group, task = place
    base = "-".join(part for part in (job["Name"], group, task) if part)
    words = {"JOB": job["Name"], "TASKGROUP": group, "TASK": task, "BASE": base}
    for word, value in words.items():
        service["Name"] = service["Name"].replace("${" + word + "}", value)
    of_nomad = service["Provider"] == "nomad"
    service["Namespace"] = job["Namespace"] if of_nomad else job["ConsulNamespace"] or "default"
    service["Checks"] = list(_checks(service))
    return service


def _checks(service: RequestForm) -> Iterator[RequestForm]:
    for check in service["Checks"] or []:
        yield check | {"Name": check["Name"] or f'service: "{service["Name"]}" check'}
