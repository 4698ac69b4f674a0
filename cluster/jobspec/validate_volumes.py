"""Rules for the volumes a group asks for.

In: a canonical job and one of its groups. Out: what is wrong with the group's volumes.
"""

from cluster.jobspec.findings import Findings
from scheduler.structs.job import Job, JobType
from scheduler.structs.task_group import TaskGroup, VolumeAsk

_EVERYWHERE = (JobType.SYSTEM, JobType.SYSBATCH)
_ONE_READER = "single-node-reader-only"
_HOST_MODES = (
    "",
    "single-node-writer",
    "single-node-single-writer",
    "single-node-multi-writer",
)


def check_volumes(job: Job, group: TaskGroup, findings: Findings) -> None:
    """Add the faults of each volume of a group, sorted by name."""
    for name, volume in sorted(group.volumes.items()):
        part = findings.below(f"Volumes.{name}")
        if volume.type not in ("host", "csi"):
            part.add(f"volume has unrecognized type {volume.type}", "Type")
        if not volume.source:
            part.add("volume has an empty source", "Source")
        if volume.per_alloc:
            _check_per_allocation(job, group, volume, part)
        if volume.type == "host":
            _check_host(volume, part)
        elif volume.type == "csi":
            _check_csi(volume, group.count, part)
        findings.nest(part, f"Task group volume validation for {name} failed: ")


def _check_per_allocation(
    job: Job, group: TaskGroup, volume: VolumeAsk, findings: Findings
) -> None:
    if job.type in _EVERYWHERE:
        findings.add("volume cannot be per_alloc for system or sysbatch jobs", "PerAlloc")
    if group.update is not None and group.update.canary > 0:
        findings.add("volume cannot be per_alloc when canaries are in use", "PerAlloc")
    if volume.sticky:
        findings.add("volume cannot be per_alloc and sticky at the same time", "PerAlloc")


def _check_host(volume: VolumeAsk, findings: Findings) -> None:
    if volume.mount_options is not None:
        findings.add("host volumes cannot have mount options", "MountOptions")
    if volume.access_mode == _ONE_READER:
        if not volume.read_only:
            findings.add(f"{_ONE_READER} volumes must be read-only", "AccessMode")
    elif volume.access_mode not in _HOST_MODES:
        text = f"host volumes cannot be mounted with {volume.access_mode} access mode"
        findings.add(text, "AccessMode")


def _check_csi(volume: VolumeAsk, count: int, findings: Findings) -> None:
    if not volume.attachment_mode:
        findings.add("CSI volumes must have an attachment mode", "AttachmentMode")
    elif volume.attachment_mode == "block-device" and volume.mount_options is not None:
        findings.add("block devices cannot have mount options", "MountOptions")
    mode = volume.access_mode
    if not mode:
        findings.add("CSI volumes must have an access mode", "AccessMode")
    if mode in (_ONE_READER, "multi-node-reader-only") and not volume.read_only:
        findings.add(f"{mode} volumes must be read-only", "AccessMode")
    if count <= 1 or volume.per_alloc:
        return
    only_one = {_ONE_READER: "reader", "single-node-writer": "reader or writer"}.get(mode, "")
    if mode == "multi-node-single-writer" and not volume.read_only:
        only_one = "writer"
    if only_one:
        text = f"volume with {mode} access mode allows only one {only_one}"
        findings.add(text, "AccessMode")
