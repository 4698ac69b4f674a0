"""The image of pause containers: one program of some hundred bytes, made here, never pulled.

In: the machine's kind of processor. Out: the archive that an engine imports. The program enters
the network namespace at `/netns` and then waits for ever; it ends with 1 where it cannot enter.
System calls: man7.org, `open(2)`, `openat(2)`, `setns(2)`, `pause(2)`, `ppoll(2)`; numbers of
`asm/unistd_64.h` (x86-64) and `asm-generic/unistd.h` (aarch64). The file: man7.org, `elf(5)`.
"""

import io
import platform
import struct
import tarfile

#: Where the container sees the namespace.
SEEN_AT = "/netns"
PROGRAM = "/pause"
_PATH = SEEN_AT.encode() + b"\0"
#: CLONE_NEWNET is 0x40000000 in both.
_X86_64 = bytes.fromhex(
    "488d3d30000000"  # lea rdi, [path]
    "31f6"  # xor esi, esi: O_RDONLY
    "b8020000000f05"  # open
    "89c7"  # mov edi, eax
    "be00000040"  # mov esi, CLONE_NEWNET
    "b8340100000f05"  # setns
    "85c0"  # test eax, eax
    "7509"  # jnz to the end
    "b8220000000f05"  # pause
    "ebf7"  # again
    "bf01000000"  # mov edi, 1
    "b83c0000000f05"  # exit
)
_AARCH64 = struct.pack(
    "<20I",
    0x92800C60,  # movn x0, #99: AT_FDCWD
    0x10000261,  # adr x1, path
    0xD2800002,  # mov x2, 0: O_RDONLY
    0xD2800708,  # mov x8, 56
    0xD4000001,  # openat
    0xD2A80001,  # mov x1, CLONE_NEWNET
    0xD2802188,  # mov x8, 268
    0xD4000001,  # setns
    0xB5000100,  # cbnz x0, to the end
    0xD2800000,  # mov x0, 0
    0xD2800001,  # mov x1, 0
    0xD2800002,  # mov x2, 0
    0xD2800003,  # mov x3, 0
    0xD2800928,  # mov x8, 73
    0xD4000001,  # ppoll
    0x17FFFFFA,  # again
    0xD2800020,  # mov x0, 1
    0xD2800BA8,  # mov x8, 93
    0xD4000001,  # exit
    0x00000000,
)
#: Kind of processor -> its number in the file's header, and the program.
_PROGRAMS = {"x86_64": (62, _X86_64 + _PATH), "aarch64": (183, _AARCH64 + _PATH)}
_LOADED_AT, _HEADERS, _PAGE = 0x400000, 64 + 56, 0x1000
#: Read and execute.
_SEGMENT_RIGHTS = 5


def image_name(machine: str = "") -> str:
    """What the image is called at the engine. Another program needs another number."""
    return f"bivouac-pause:1-{machine or platform.machine()}"


def why_none(machine: str = "") -> str:
    """Why there is no such image for this kind of processor; "": there is one."""
    kind = machine or platform.machine()
    if kind in _PROGRAMS:
        return ""
    return f"containers join networks of groups on {' and '.join(_PROGRAMS)} alone, not on {kind}"


def image_archive(machine: str = "") -> bytes:
    """The image's files, for one of the kinds that `why_none` has nothing against."""
    number, code = _PROGRAMS[machine or platform.machine()]
    program = _executable(number, code)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo(PROGRAM.lstrip("/"))
        entry.size, entry.mode = len(program), 0o555
        archive.addfile(entry, io.BytesIO(program))
        # What is shown there needs a file to be shown over, as nothing can be written.
        archive.addfile(tarfile.TarInfo(SEEN_AT.lstrip("/")))
    return packed.getvalue()


def _executable(machine: int, code: bytes) -> bytes:
    """A file of one segment that begins with its first instruction."""
    length = _HEADERS + len(code)
    header = struct.pack(
        "<4s5B7xHHIQQQIHHHHHH",
        b"\x7fELF", 2, 1, 1, 0, 0,
        2, machine, 1, _LOADED_AT + _HEADERS, 64, 0, 0, 64, 56, 1, 0, 0, 0,
    )  # fmt: skip
    segment = struct.pack(
        "<IIQQQQQQ", 1, _SEGMENT_RIGHTS, 0, _LOADED_AT, _LOADED_AT, length, length, _PAGE
    )
    return header + segment + code
