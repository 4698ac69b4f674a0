"""A tree as the kernel shows it below `/sys/bus/pci/devices`, as files of a test.

The files and links are those of a machine with two cards of one kind, a processor for
inference, cards that nobody can use, and devices that are nobody's to have.
"""

MIB = 1024 * 1024
#: Address -> files; a value with `->` is a link to a place of that name, a folder ends with `/`.
MACHINE = {
    "0000:00:00.0": {"class": "0x060000", "vendor": "0x8086", "device": "0x1237"},
    "0000:01:00.0": {
        "class": "0x030000", "vendor": "0x1002", "device": "0x744c", "numa_node": "0",
        "driver": "-> amdgpu", "drm/card0/": "", "drm/renderD128/": "", "drm/controlD64/": "",
        "mem_info_vram_total": str(24560 * MIB), "mem_info_vram_used": str(512 * MIB),
        "gpu_busy_percent": "37",
    },
    "0000:02:00.0": {
        "class": "0x030000", "vendor": "0x1002", "device": "0x744c", "numa_node": "1",
        "driver": "-> amdgpu", "drm/card1/": "", "drm/renderD129/": "",
        "mem_info_vram_total": str(24560 * MIB), "mem_info_vram_used": "0",
        "gpu_busy_percent": "0",
    },
    "0000:03:00.0": {
        "class": "0x120000", "vendor": "0x8086", "device": "0x7d1d", "numa_node": "-1",
        "driver": "-> intel_vpu", "accel/accel0/": "",
    },
    "0000:04:00.0": {"class": "0x030200", "vendor": "0x10de", "device": "0x20b0",
                     "driver": "-> nvidia"},
    "0000:05:00.0": {"class": "0x020000", "vendor": "0x8086", "device": "0x1533",
                     "driver": "-> igb"},
    "0000:06:00.0": {"class": "0x030000", "vendor": "0x102b", "device": "0x0522"},
    "0000:07:00.0": {"class": "0x0b4000", "vendor": "0x1d0f", "device": "0xf010",
                     "driver": "-> vfio-pci", "iommu_group": "-> 17"},
    "0000:08:00.0": {"class": "0x030000", "vendor": "0x1234", "device": "0x1111",
                     "driver": "-> bochs"},
}  # fmt: skip
NAMES = """\
# Two spaces stand between a number and its name.
1002  Advanced Micro Devices, Inc. [AMD/ATI]
\t744c  Navi 31 [Radeon RX 7900 XT/7900 XTX]
\t\t1002 0e3b  A board
8086  Intel Corporation
\t7d1d  Meteor Lake NPU
"""


def written(place, machine=MACHINE):
    """The tree and the list of names."""
    for address, files in machine.items():
        (place / "pci" / address).mkdir(parents=True)
        for name, value in files.items():
            file = place / "pci" / address / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith("/"):
                file.mkdir()
            elif value.startswith("-> "):
                file.symlink_to(f"../../../elsewhere/{value.removeprefix('-> ')}")
            else:
                file.write_text(f"{value}\n")
    (place / "pci.ids").write_text(NAMES)
    return place / "pci", place / "pci.ids"
