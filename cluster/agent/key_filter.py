"""Keeps the kernel's keys from `exec` tasks: the one store of secrets that no namespace divides.

All processes of one user share a keyring, so tasks of `nobody` would read each other's. In: the
machine's architecture. Out: the calling process, and whatever it starts, to which the system calls
of keys are not there. Numbers are those of the kernel's tables, linux/seccomp.h and linux/audit.h.
Standard library only.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterable, Iterator

_SET_SECCOMP, _FILTER = 22, 2
#: Load a word of what is asked; jump if it is equal; answer.
_LOAD, _JUMP_IF_EQUAL, _ANSWER = 0x20, 0x15, 0x06
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.ENOSYS
_X32 = 1 << 30
_GENERIC = (217, 218, 219)
#: add_key, request_key and keyctl by the kinds of programs that a machine runs, 32 bits too.
_KEY_CALLS: dict[str, dict[int, tuple[int, ...]]] = {
    "x86_64": {
        0xC000003E: (248, 249, 250, _X32 | 248, _X32 | 249, _X32 | 250),
        0x40000003: (286, 287, 288),
    },
    "aarch64": {0xC00000B7: _GENERIC, 0x40000028: (309, 310, 311)},
    "riscv64": {0xC00000F3: _GENERIC},
}
_library = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def refuse_keys(machine: str = "") -> bool:
    """Refuse them to this process for good; False: their numbers are not known here.

    It must have no way to new privileges by then. Raises OSError where the kernel has no filters.
    """
    calls = _KEY_CALLS.get(machine or os.uname().machine)
    if calls is None:
        return False
    instructions = b"".join(struct.pack("=HBBI", *each) for each in _program(calls))
    program = _Program(len(instructions) // 8, instructions)
    mode, none = ctypes.c_ulong(_FILTER), ctypes.c_ulong(0)
    if _library.prctl(_SET_SECCOMP, mode, ctypes.byref(program), none, none) != 0:
        raise OSError(f"filter of system calls: {os.strerror(ctypes.get_errno())}")
    return True


def _program(calls: dict[int, tuple[int, ...]]) -> Iterator[tuple[int, int, int, int]]:
    """Instructions: what to do, how many to pass over if it is so and if not, with what."""
    yield _LOAD, 0, 0, _ARCHITECTURE_AT
    left = sum(len(numbers) + 3 for numbers in calls.values())
    for architecture, numbers in calls.items():
        yield _JUMP_IF_EQUAL, 0, len(numbers) + 2, architecture
        yield _LOAD, 0, 0, _NUMBER_AT
        left -= 2
        yield from _refusals(numbers, left)
        yield _ANSWER, 0, 0, _ALLOW
        left -= len(numbers) + 1
    yield _ANSWER, 0, 0, _ALLOW
    yield _ANSWER, 0, 0, _REFUSE


def _refusals(numbers: Iterable[int], left: int) -> Iterator[tuple[int, int, int, int]]:
    """To the last instruction from each of these; `left`: before the last two, this one too."""
    for position, number in enumerate(numbers):
        yield _JUMP_IF_EQUAL, left - position, 0, number
