"""Rules for the smaller blocks of a task: artifacts, templates, mounts, hooks, actions.

In: one block. Out: what is wrong with it.
"""

import posixpath
import re

from cluster.jobspec.durations import duration_text
from cluster.jobspec.findings import Findings
from scheduler.structs.resources import TaskLifecycle
from scheduler.structs.task_group import (
    Action,
    Artifact,
    DispatchPayload,
    Identity,
    Task,
    TaskGroup,
    Template,
    VolumeMount,
)

_ESCAPE = "destination escapes allocation directory"
_REFERENCE = re.compile(r"\$\{[^}]*\}")
_HASH_LENGTHS = {"md5": 32, "sha1": 40, "sha256": 64, "sha512": 128}
_OCTAL = re.compile(r"[0-7]{1,4}", re.ASCII)
_ACTION_NAME = re.compile(r"[a-zA-Z0-9-]{1,128}", re.ASCII)
_IDENTITY_NAME = re.compile(r"[a-zA-Z0-9-]{1,128}", re.ASCII)


def check_artifact(artifact: Artifact, findings: Findings) -> None:
    """Add the faults of an artifact."""
    if not artifact.getter_source:
        findings.add("source must be specified", "GetterSource")
    if artifact.getter_mode not in ("any", "file", "dir"):
        text = f'invalid artifact mode "{artifact.getter_mode}"; must be one of: any, file, dir'
        findings.add(text, "GetterMode")
    if _escapes(artifact.relative_dest, below="task"):
        findings.add(_ESCAPE, "RelativeDest")
    _check_checksum(artifact.getter_options.get("checksum", ""), findings)


def _check_checksum(checksum: str, findings: Findings) -> None:
    text = checksum.strip()
    if not text or _REFERENCE.search(text):
        return
    kind, colon, value = text.partition(":")
    if not colon:
        message = f'checksum must be given as "type:value"; got "{text}"'
    elif kind not in _HASH_LENGTHS:
        message = f"unsupported checksum type: {kind}"
    elif len(value) != _HASH_LENGTHS[kind] or re.fullmatch("[0-9a-fA-F]*", value) is None:
        message = f"invalid {kind} checksum: {value}"
    else:
        return
    findings.add(message, "GetterOptions.checksum")


def check_template(template: Template, findings: Findings) -> None:
    """Add the faults of a template."""
    if not template.source_path and not template.embedded_tmpl:
        findings.add("Must specify a source path or have an embedded template", "SourcePath")
    if not template.dest_path:
        findings.add("Must specify a destination for the template", "DestPath")
    elif _escapes(template.dest_path, below="task"):
        findings.add(_ESCAPE, "DestPath")
    _check_change(template, findings)
    if template.splay < 0:
        findings.add("Must specify positive splay value", "Splay")
    if template.perms and _OCTAL.fullmatch(template.perms) is None:
        text = f'Failed to parse "{template.perms}" as octal: strconv.ParseUint'
        findings.add(f'{text}: parsing "{template.perms}": invalid syntax', "Perms")
    wait = template.wait
    if wait is not None and wait.min is not None and wait.max is not None and wait.min > wait.max:
        text = f"wait min {duration_text(wait.min)} is greater than max {duration_text(wait.max)}"
        findings.add(text, "Wait")


def _check_change(template: Template, findings: Findings) -> None:
    mode = template.change_mode
    if mode not in ("noop", "restart", "signal", "script"):
        text = "Invalid change mode. Must be one of the following: noop, signal, script, restart"
        findings.add(text, "ChangeMode")
    elif mode == "signal":
        if not template.change_signal:
            findings.add("Must specify signal value when change mode is signal", "ChangeSignal")
        if template.envvars:
            findings.add("cannot use signals with env var templates", "ChangeMode")
    elif mode == "script" and template.change_script is None:
        findings.add(
            "must specify change script configuration value when change mode is script",
            "ChangeScript",
        )
    if (
        mode == "script"
        and template.change_script is not None
        and not template.change_script.command
    ):
        findings.add(
            "must specify script path value when change mode is script", "ChangeScript.Command"
        )


def check_dispatch_payload(payload: DispatchPayload, findings: Findings) -> None:
    """Add the faults of a dispatch payload's file."""
    if _escapes(payload.file, below="task/local"):
        findings.add(f"Dispatch Payload validation failed: {_ESCAPE}", "DispatchPayload.File")


def check_lifecycle(lifecycle: TaskLifecycle, findings: Findings) -> None:
    """Add the faults of a task's place in the life of its allocation."""
    head = "Lifecycle validation failed:"
    if not lifecycle.hook:
        findings.add(f"{head} no lifecycle hook provided", "Lifecycle.Hook")
    elif lifecycle.hook not in ("prestart", "poststart", "poststop"):
        findings.add(f"{head} invalid hook: {lifecycle.hook}", "Lifecycle.Hook")
    elif lifecycle.hook == "poststop" and lifecycle.sidecar:
        text = "lifecycle hook poststop cannot be used with sidecar"
        findings.add(f"{head} {text}", "Lifecycle.Sidecar")


def check_volume_mounts(group: TaskGroup, task: Task, findings: Findings) -> None:
    """Add the faults of a task's volume mounts."""
    for position, mount in enumerate(task.volume_mounts):
        place = f"VolumeMounts[{position}]"
        if not mount.volume:
            findings.add(f"Volume Mount ({position}) references an empty volume", place)
        elif mount.volume not in group.volumes:
            text = f"Volume Mount ({position}) references undefined volume {mount.volume}"
            findings.add(text, place)
        part = findings.below(place)
        _check_mount(mount, part)
        findings.nest(part, f'Volume Mount ({position}) is invalid: "', closing='"')


def _check_mount(mount: VolumeMount, findings: Findings) -> None:
    if mount.propagation_mode not in ("", "private", "host-to-task", "bidirectional"):
        text = f'volume mount has an invalid propagation mode: "{mount.propagation_mode}"'
        findings.add(text, "PropagationMode")
    if mount.selinux_label not in ("", "z", "Z"):
        text = f'volume mount has an invalid SELinux label: "{mount.selinux_label}"'
        findings.add(text, "SELinuxLabel")


def check_csi_plugin(plugin: dict[str, object], findings: Findings) -> None:
    """Add the faults of a task that serves as a storage plugin."""
    kind = plugin.get("Type")
    if kind not in ("node", "controller", "monolith"):
        text = "CSIPluginConfig PluginType must be one of 'node', 'controller', or 'monolith'"
        findings.add(f'{text}, got: "{kind}"', "CSIPluginConfig.Type")


def check_action(action: Action, findings: Findings) -> None:
    """Add the faults of a named command."""
    if not action.command:
        findings.add("command cannot be empty", "Command")
    if _ACTION_NAME.fullmatch(action.name) is None:
        findings.add(f"invalid name '{action.name}'", "Name")


def check_identity(identity: Identity, findings: Findings) -> None:
    """Add the faults of an identity."""
    if not identity.name:
        findings.add("name is required", "Name")
    elif _IDENTITY_NAME.fullmatch(identity.name) is None:
        findings.add(f'invalid name "{identity.name}"', "Name")
    if identity.change_mode not in ("", "noop", "restart", "signal"):
        findings.add(f"invalid change_mode: {identity.change_mode}", "ChangeMode")
    elif identity.change_mode == "signal" and not identity.change_signal:
        findings.add("change_signal must be specified if using change_mode=signal", "ChangeSignal")
    if identity.ttl < 0:
        findings.add("ttl must be >= 0", "TTL")


def _escapes(path: str, *, below: str) -> bool:
    """Whether a path given below the task's directory leaves the allocation's."""
    root = "/alloc"
    absolute = posixpath.normpath(f"{root}/{below}/{path.lstrip('/')}")
    return absolute != root and not absolute.startswith(root + "/")
