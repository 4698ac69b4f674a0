"""Keeps this process to some directories for good, where the kernel can (Landlock, Linux 5.13).

In: the directories to read and those to write. Out: whether the kernel does it. Numbers are from
linux/landlock.h and the system call table that all architectures share from 424 on.
"""

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READ = _EXECUTE | _READ_FILE | _READ_DIR


class _Ruleset(ctypes.Structure):
    _fields_ = (("handled_access_fs", ctypes.c_uint64),)


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def version() -> int:
    """Of the kernel's Landlock; 0 where there is none."""
    return max(0, _call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION)))


def keep_to(*, reading: Iterable[Path], writing: Iterable[Path]) -> bool:
    """Refuse this process and its children every other file from now on; False: not possible here.

    Directories stand for everything below them; one that is not there is left out.
    """
    known = version()
    if not known:
        return False
    handled = _handled(known)
    ruleset = _Ruleset(handled)
    size = ctypes.c_size_t(ctypes.sizeof(ruleset))
    rules = _call(_CREATE_RULESET, ctypes.byref(ruleset), size, ctypes.c_uint32(0))
    if rules < 0:
        return False
    try:
        for path in reading:
            _allow(rules, path, _READ & handled)
        for path in writing:
            _allow(rules, path, handled & ~_IOCTL_DEV)
        library = ctypes.CDLL(None, use_errno=True)
        if library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            return False
        return _call(_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0)) == 0
    finally:
        os.close(rules)


def _handled(known: int) -> int:
    rights = (1 << 13) - 1
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        if known >= since:
            rights |= right
    return rights


def _allow(rules: int, path: Path, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not path.is_dir():
            rights &= _OF_FILES
        beneath = _Beneath(rights, opened)
        number = ctypes.c_int(_PATH_BENEATH)
        _call(_ADD_RULE, ctypes.c_int(rules), number, ctypes.byref(beneath), ctypes.c_uint32(0))
    finally:
        os.close(opened)


def _call(number: int, *arguments: object) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    return int(library.syscall(ctypes.c_long(number), *arguments))
