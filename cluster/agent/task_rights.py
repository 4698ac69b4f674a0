"""The rights that an `exec` task keeps: its user, its capabilities, and never more of either.

In: user and capabilities by name. Out: the calling process without the rest, for good. Standard
library only. Numbers are those of linux/capability.h and linux/prctl.h.
"""

import ctypes
import errno
import os
from collections.abc import Iterable
from pathlib import Path

from cluster.agent.key_filter import refuse_keys
from cluster.agent.task_child import Spec, become_user

_NAMES = (
    "chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap linux_immutable"
    " net_bind_service net_broadcast net_admin net_raw ipc_lock ipc_owner sys_module sys_rawio"
    " sys_chroot sys_ptrace sys_pacct sys_admin sys_boot sys_nice sys_resource sys_time"
    " sys_tty_config mknod lease audit_write audit_control setfcap mac_override mac_admin syslog"
    " wake_alarm block_suspend audit_read perfmon bpf checkpoint_restore"
)
#: By number.
CAPABILITIES = tuple(_NAMES.split())
#: What a task may ask for where the node's owner says nothing. Others of the reference's list
#: reach past the root: files of the host that only root reads, or programs that give root away.
DEFAULT_CAPABILITIES = frozenset(
    {"audit_write", "kill", "net_bind_service", "setpcap", "sys_chroot"}
)
_VERSION_3 = 0x20080522
_KEEP_CAPABILITIES, _DROP_FROM_BOUNDS, _NO_NEW_PRIVILEGES, _AMBIENT = 8, 24, 38, 47
_RAISE = 2
_KEYCTL, _JOIN_SESSION_KEYRING = {"x86_64": 250, "aarch64": 219, "riscv64": 219}, 1
_LAST = Path("/proc/sys/kernel/cap_last_cap")

_library = ctypes.CDLL(None, use_errno=True)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint32) for name in ("effective", "permitted", "inherited"))


def drop_rights(spec: Spec) -> None:
    """Become the task's user, with these capabilities and no way to any other. Raises OSError."""
    # The agent's own would come along, with what root keeps in it. Not every kernel has any.
    has_keys = False
    if number := _KEYCTL.get(os.uname().machine):
        done = _library.syscall(number, _JOIN_SESSION_KEYRING, None)
        has_keys = done >= 0 or ctypes.get_errno() != errno.ENOSYS
    rights = spec["rights"]
    bounds = _numbers(rights["bounds"])
    for number in range(_last() + 1):
        if number not in bounds:
            _prctl(_DROP_FROM_BOUNDS, number)
    _prctl(_KEEP_CAPABILITIES, 1)
    become_user(spec["user"])
    kept = _numbers(rights["kept"])
    _set(kept)
    for number in kept:
        _prctl(_AMBIENT, _RAISE, number)
    # From here on no program gives rights, whatever its mode says.
    _prctl(_NO_NEW_PRIVILEGES, 1)
    if has_keys:
        refuse_keys()


def _numbers(names: Iterable[str]) -> set[int]:
    return {CAPABILITIES.index(name) for name in names}


def _last() -> int:
    """Of this kernel's capabilities; it is read in a root that has no /proc of the host's."""
    try:
        return int(_LAST.read_text())
    except (OSError, ValueError):
        return len(CAPABILITIES) - 1


def _set(numbers: Iterable[int]) -> None:
    sets = (_Sets * 2)()
    for number in numbers:
        bit = 1 << (number % 32)
        for name in ("effective", "permitted", "inherited"):
            half = sets[number // 32]
            setattr(half, name, getattr(half, name) | bit)
    header = _Header(_VERSION_3, 0)
    if _library.capset(ctypes.byref(header), sets) != 0:
        _fail("capset")


def _prctl(option: int, first: int, second: int = 0) -> None:
    rest = (ctypes.c_ulong(first), ctypes.c_ulong(second), ctypes.c_ulong(0), ctypes.c_ulong(0))
    if _library.prctl(option, *rest) != 0:
        _fail(f"prctl {option} of {first}")


def _fail(what: str) -> None:
    raise OSError(f"{what}: {os.strerror(ctypes.get_errno())}")
