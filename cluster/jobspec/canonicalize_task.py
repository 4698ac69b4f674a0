"""Fill in what a task of a job request leaves open.

In: a task's request form, its canonical group and job. Out: a new form. Checks nothing.
"""

import posixpath

from cluster.jobspec import defaults
from cluster.jobspec.canonicalize_service import canonicalize_service
from cluster.jobspec.defaults import fill
from cluster.jobspec.request_form import RequestForm


def canonicalize_task(form: RequestForm, group: RequestForm, job: RequestForm) -> RequestForm:
    """The task with its defaults; its restart policy stands on its group's."""
    task = dict(form)
    task["Resources"] = fill_resources(task["Resources"])
    task["KillTimeout"] = (
        defaults.KILL_TIMEOUT if task["KillTimeout"] is None else task["KillTimeout"]
    )
    task["LogConfig"] = fill(task["LogConfig"] or {"Enabled": None}, defaults.LOGS)
    task["RestartPolicy"] = fill(task["RestartPolicy"], group["RestartPolicy"])
    task["Affinities"] = fill_weights(task["Affinities"])
    if task["Vault"] is not None:
        task["Vault"] = _vault(task["Vault"])
    task["Consul"] = with_cluster(task["Consul"])
    if task.get("CSIPluginConfig") is not None:
        task["CSIPluginConfig"] = _csi_plugin(task["CSIPluginConfig"])
    if (
        task["Lifecycle"] is not None
        and not task["Lifecycle"]["Hook"]
        and not task["Lifecycle"]["Sidecar"]
    ):
        task["Lifecycle"] = None
    if task["Artifacts"] is not None:
        task["Artifacts"] = [_artifact(artifact) for artifact in task["Artifacts"]]
    if task["Templates"] is not None:
        task["Templates"] = [_template(template) for template in task["Templates"]]
    if task["VolumeMounts"] is not None:
        task["VolumeMounts"] = [
            fill(mount, defaults.VOLUME_MOUNT) for mount in task["VolumeMounts"]
        ]
    if task["Services"] is not None:
        base = f"{job['Name']}-{group['Name']}-{task['Name']}"
        task["Services"] = [canonicalize_service(service, base) for service in task["Services"]]
    return task


def fill_weights(items: list[RequestForm] | None) -> list[RequestForm] | None:
    """Affinities or spreads, each with a weight."""
    if items is None:
        return None
    return [fill(item, {"Weight": defaults.WEIGHT}) for item in items]


def fill_resources(form: RequestForm | None) -> RequestForm:
    """Resources with CPU, cores and memory; a task that asks for cores gets no MHz beside them."""
    empty = dict.fromkeys(
        (
            "CPU",
            "Cores",
            "MemoryMB",
            "MemoryMaxMB",
            "DiskMB",
            "IOPS",
            "SecretsMB",
            "Networks",
            "Devices",
            "NUMA",
        )
    )
    given = empty | (form or {})
    shares = 100 if given["Cores"] is None else 0
    resources = fill(given, {"CPU": shares, "Cores": 0, "MemoryMB": 300})
    if resources["Devices"] is not None:
        resources["Devices"] = [
            fill(device, {"Count": 1}) | {"Affinities": fill_weights(device["Affinities"])}
            for device in resources["Devices"]
        ]
    if resources["NUMA"] is not None and not resources["NUMA"]["Affinity"]:
        resources["NUMA"] = resources["NUMA"] | {"Affinity": "none"}
    return resources


def with_cluster(form: RequestForm | None) -> RequestForm | None:
    """A Consul block that names its cluster."""
    return None if form is None else form | {"Cluster": form["Cluster"] or "default"}


def _csi_plugin(form: RequestForm) -> RequestForm:
    return form | {
        "StagePublishBaseDir": form["StagePublishBaseDir"] or "/local/csi",
        "HealthTimeout": form["HealthTimeout"] or defaults.CSI_HEALTH_TIMEOUT,
    }


def _vault(form: RequestForm) -> RequestForm:
    vault = fill(form, defaults.VAULT)
    vault["Cluster"] = vault["Cluster"] or "default"
    return vault


def _artifact(form: RequestForm) -> RequestForm:
    artifact = fill(form, {"GetterSource": "", "GetterMode": "any", "GetterInsecure": False})
    if artifact["RelativeDest"] is None:
        is_file = artifact["GetterMode"] == "file"
        name = posixpath.basename(artifact["GetterSource"].rstrip("/")) if is_file else ""
        artifact["RelativeDest"] = "local/" + name
    for field in ("GetterOptions", "GetterHeaders"):
        artifact[field] = artifact[field] or None
    return artifact


def _template(form: RequestForm) -> RequestForm:
    template = fill(form, defaults.TEMPLATE)
    if template["ChangeSignal"] is None:
        template["ChangeSignal"] = "SIGHUP" if template["ChangeMode"] == "signal" else ""
    template["ChangeSignal"] = template["ChangeSignal"].upper()
    if template["ChangeScript"] is not None:
        template["ChangeScript"] = fill(template["ChangeScript"], defaults.CHANGE_SCRIPT)
    if template["Wait"] is not None:
        lower = template["Wait"]["Min"]
        lower = defaults.KILL_TIMEOUT if lower is None else lower
        template["Wait"] = fill(template["Wait"], {"Min": lower, "Max": 4 * lower})
    return template
