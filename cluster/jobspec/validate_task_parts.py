"""Rules for the smaller blocks of a task: artifacts, templates, mounts, hooks, actions.

In: one block. Out: what is wrong with it.
"""

import posixpath
import re

from cluster.jobspec.durations import duration_text
from cluster.jobspec.findings import Findings
from cluster.jobspec.quoting import quoted
from scheduler.structs.resources import TaskLifecycle
from scheduler.structs.task_group import (
    Artifact,
    DispatchPayload,
    Task,
    TaskGroup,
    Template,
    VolumeMount,
)

_ESCAPE = "destination escapes allocation directory"
_REFERENCE = re.compile(r"\$\{[^}]*\}")
#: Hex digits of a checksum by its kind.
_HASH_LENGTHS = {"md5": 32, "sha1": 40, "sha256": 64, "sha512": 128}
_HEX = frozenset(b"0123456789abcdefABCDEF")
_HIGHEST_MODE = 0o7777
_ACTION_NAME = re.compile(r"[^\x00\t\n\f\r ]{1,128}")


def check_artifact(artifact: Artifact, findings: Findings) -> None:
    """Add the faults of an artifact."""
    if not artifact.getter_source:
        findings.add("source must be specified", "GetterSource")
    if artifact.getter_mode not in ("any", "file", "dir"):
        text = f"invalid artifact mode {quoted(artifact.getter_mode)}"
        findings.add(f"{text}; must be one of: any, file, dir", "GetterMode")
    if _escapes(artifact.relative_dest, below="task"):
        findings.add(_ESCAPE, "RelativeDest")
    checksum = artifact.getter_options.get("checksum")
    if checksum is not None and not _REFERENCE.search(checksum):
        problem = _checksum_problem(checksum.strip())
        if problem:
            findings.add(problem, "GetterOptions.checksum")


def _checksum_problem(text: str) -> str:
    if not text:
        return "checksum value cannot be empty"
    kind, colon, value = text.partition(":")
    if not colon or ":" in value:
        return f'checksum must be given as "type:value"; got {quoted(text)}'
    strange = next((byte for byte in value.encode() if byte not in _HEX), None)
    if strange is not None:
        shown = f" '{chr(strange)}'" if chr(strange).isprintable() else ""
        return f"invalid checksum: encoding/hex: invalid byte: U+{strange:04X}{shown}"
    if len(value) % 2:
        return "invalid checksum: encoding/hex: odd length hex string"
    if kind not in _HASH_LENGTHS:
        return f"unsupported checksum type: {kind}"
    return f"invalid {kind} checksum: {value}" if len(value) != _HASH_LENGTHS[kind] else ""


def check_template(template: Template, findings: Findings) -> None:
    """Add the faults of a template."""
    if not template.source_path and not template.embedded_tmpl:
        findings.add("Must specify a source path or have an embedded template", "SourcePath")
    if not template.dest_path:
        findings.add("Must specify a destination for the template", "DestPath")
    if _escapes(template.dest_path, below="task"):
        findings.add(_ESCAPE, "DestPath")
    _check_change(template, findings)
    if template.splay < 0:
        findings.add("Must specify positive splay value", "Splay")
    if template.perms:
        problem = _mode_problem(template.perms)
        if problem:
            shown = quoted(template.perms)
            text = f"Failed to parse {shown} as octal: strconv.ParseUint: parsing {shown}"
            findings.add(f"{text}: {problem}", "Perms")
    wait = template.wait
    if wait is not None and wait.min is not None and wait.max is not None and wait.min > wait.max:
        text = f"wait min {duration_text(wait.min)} is greater than max {duration_text(wait.max)}"
        findings.add(text, "Wait")


def _mode_problem(text: str) -> str:
    """Why the text is no file mode in octal digits; empty if it is one."""
    mode = 0
    for letter in text:
        if letter not in "01234567":
            return "invalid syntax"
        mode = 8 * mode + int(letter)
        if mode > _HIGHEST_MODE:
            return "value out of range"
    return ""


def _check_change(template: Template, findings: Findings) -> None:
    mode = template.change_mode
    if mode == "signal":
        if not template.change_signal:
            findings.add("Must specify signal value when change mode is signal", "ChangeSignal")
        if template.envvars:
            findings.add("cannot use signals with env var templates", "ChangeMode")
    elif mode == "script":
        if template.change_script is None:
            text = "must specify change script configuration value when change mode is script"
            findings.add(text, "ChangeScript")
        elif not template.change_script.command:
            text = "must specify script path value when change mode is script"
            findings.add(text, "ChangeScript.Command")
    elif mode not in ("noop", "restart"):
        text = "Invalid change mode. Must be one of the following: noop, signal, script, restart"
        findings.add(text, "ChangeMode")


def check_vault(vault: dict[str, object], findings: Findings) -> None:
    """Add the faults of what a task does when its Vault token changes."""
    mode = str(vault.get("ChangeMode") or "restart")
    if mode == "signal":
        if not vault.get("ChangeSignal"):
            text = 'Signal must be specified when using change mode "signal"'
            findings.add(text, "ChangeSignal")
    elif mode not in ("noop", "restart"):
        findings.add(f"Unknown change mode {quoted(mode)}", "ChangeMode")


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


def check_volume_mounts(group: TaskGroup, task: Task, findings: Findings) -> None:
    """Add the faults of a task's volume mounts."""
    for position, mount in enumerate(task.volume_mounts):
        place = f"VolumeMounts[{position}]"
        if mount.volume not in group.volumes:
            text = f"Volume Mount ({position}) references undefined volume {mount.volume}"
            findings.add(text, place)
        part = findings.below(place)
        _check_mount(mount, part)
        findings.nest(part, f'Volume Mount ({position}) is invalid: "', closing='"')


def _check_mount(mount: VolumeMount, findings: Findings) -> None:
    if not mount.volume:
        findings.add("volume mount references an empty volume", "Volume")
    if mount.propagation_mode not in ("", "private", "host-to-task", "bidirectional"):
        text = f"volume mount has an invalid propagation mode: {quoted(mount.propagation_mode)}"
        findings.add(text, "PropagationMode")
    if mount.selinux_label not in ("", "z", "Z"):
        text = f"volume mount has an invalid SELinux label: {quoted(mount.selinux_label)}"
        findings.add(text, "SELinuxLabel")


def check_csi_plugin(plugin: dict[str, object], findings: Findings) -> None:
    """Add the faults of a task that serves as a storage plugin."""
    if not plugin.get("ID"):
        text = "CSIPluginConfig must have a non-empty PluginID"
        findings.add(text, "CSIPluginConfig.ID")
    kind = str(plugin.get("Type") or "")
    if kind not in ("node", "controller", "monolith"):
        text = "CSIPluginConfig PluginType must be one of 'node', 'controller', or 'monolith'"
        findings.add(f'{text}, got: "{kind}"', "CSIPluginConfig.Type")
    staging = str(plugin.get("StagePublishBaseDir") or "")
    mounts = str(plugin.get("MountDir") or "")
    if staging and mounts and staging.startswith(mounts):
        text = "CSIPluginConfig StagePublishBaseDir must not be a subdirectory of MountDir"
        text = f'{text}, got: StagePublishBaseDir="{staging}" MountDir="{mounts}"'
        findings.add(text, "CSIPluginConfig.StagePublishBaseDir")


def check_actions(task: Task, findings: Findings) -> None:
    """Add the faults of a task's named commands."""
    is_told: dict[str, bool] = {}
    for position, action in enumerate(task.actions):
        part = findings.below(f"Actions[{position}]")
        if not action.command:
            part.add("command cannot be empty", "Command")
        if _ACTION_NAME.fullmatch(action.name) is None:
            part.add(f"invalid name '{action.name}'", "Name")
        findings.nest(part, f"Action {action.name} validation failed: ")
        # The reference tells of every second repetition only.
        tell = is_told.get(action.name) is False
        if tell:
            text = f"Action {action.name} defined multiple times"
            findings.add(text, f"Actions[{position}]")
        is_told[action.name] = tell


def _escapes(path: str, *, below: str) -> bool:
    """Whether a path given below the task's directory leaves the allocation's."""
    # Only the depth of these placeholders counts.
    root = "/alloc-dir/alloc-id"
    absolute = posixpath.normpath(f"{root}/{below}/{path}")
    return posixpath.relpath(absolute, root).startswith("..")
