"""Fill in what a task of a job request leaves open.

In: a task's request form, its canonical group and job. Out: a new form. Checks nothing.
"""

import posixpath

from cluster.jobspec import defaults
from cluster.jobspec.canonicalize_resources import fill_resources, fill_weights
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


def with_cluster(form: RequestForm | None) -> RequestForm | None:
    """A Consul block that names its cluster."""
    return None if form is None else form | {"Cluster": form["Cluster"] or "default"}


def _csi_plugin(form: RequestForm) -> RequestForm:
    return form | {
        "MountDir": form["MountDir"] or "/csi",
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
