"""Archives: every kind, and the ones that mean harm."""

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile

import pytest
import zstandard

from cluster.agent.artifacts.order import ArtifactRefused, Limits
from cluster.agent.artifacts.unpack import kind_of, unpack
from tests.file_server import tar_of

PACKERS = {
    "": lambda content: content,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda content: zstandard.ZstdCompressor().compress(content),
}


def zip_of(*members, mode=0o644):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            archive.writestr(entry, content)
    return file.getvalue()


@pytest.fixture
def unpacked(tmp_path):
    def run(name, content, kind=None, **limits):
        file = tmp_path / name
        file.write_bytes(content)
        into = tmp_path / "into"
        unpack(file, kind or kind_of(name, ""), into, Limits(**limits))
        return into

    return run


@pytest.mark.parametrize("packer", PACKERS)
def test_every_kind_of_tar(unpacked, packer):
    name = f"app.tar.{packer}".rstrip(".")
    into = unpacked(name, PACKERS[packer](tar_of(("bin/run", b"hello"), packed=False)))
    assert (into / "bin/run").read_bytes() == b"hello"
    # Neither setuid nor setgid.
    assert stat.S_IMODE((into / "bin/run").stat().st_mode) == 0o755


@pytest.mark.parametrize("packer", ["gz", "bz2", "xz", "zst"])
def test_one_packed_file(unpacked, packer):
    into = unpacked(f"app.bin.{packer}", PACKERS[packer](b"hello"))
    assert (into / "app.bin").read_bytes() == b"hello"


def test_a_zip(unpacked):
    into = unpacked("a.zip", zip_of(("bin/run", b"hello"), ("empty/", b""), mode=0o100755))
    assert (into / "bin/run").read_bytes() == b"hello"
    assert os.access(into / "bin/run", os.X_OK)
    assert (into / "empty").is_dir()


@pytest.mark.parametrize(
    ("name", "wanted", "kind"),
    [
        ("a.tar.gz", "", "tar.gz"),
        ("A.TGZ", "", "tgz"),
        ("a.gz", "", "gz"),
        ("a.tar.gz", "false", ""),
        ("a", "zip", "zip"),
        ("a.zip", "true", "zip"),
        ("a.txt", "", ""),
    ],
)
def test_how_a_file_is_packed_is_told_by_its_option_or_its_name(name, wanted, kind):
    assert kind_of(name, wanted) == kind


def test_a_kind_that_nobody_knows_is_refused():
    with pytest.raises(ArtifactRefused, match="unsupported archive type: rar"):
        kind_of("a", "rar")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(tar_of(("../x", b"")), "leads out of its directory", id="tar out"),
        pytest.param(tar_of(("/etc/x", b"")), "leads out of its directory", id="tar absolute"),
        pytest.param(tar_of(("x", tarfile.SYMTYPE.decode())), "holds the link x", id="symlink"),
        pytest.param(tar_of(("x", tarfile.LNKTYPE.decode())), "holds the link x", id="hard link"),
        pytest.param(tar_of(("x", tarfile.CHRTYPE.decode())), "holds the device x", id="device"),
        pytest.param(tar_of(("x", tarfile.FIFOTYPE.decode())), "holds the device x", id="fifo"),
        pytest.param(
            tar_of(("a", b"1"), ("b", b"2"), ("c", b"3"), ("d", b"4")), "3 files", id="n"
        ),
        pytest.param(tar_of(("a", bytes(2_000_000))), "more than 1000000 bytes", id="bomb"),
        pytest.param(b"no archive", "cannot unpack", id="rubbish"),
        pytest.param(tar_of(("a", b"1" * 5000))[:60], "cannot unpack", id="cut off"),
    ],
)
def test_a_bad_tar_is_refused(unpacked, tmp_path, content, why):
    with pytest.raises(ArtifactRefused, match=why):
        unpacked("a.tar.gz", content, max_files=3, max_unpacked=1_000_000)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(zip_of(("../x", b"")), "leads out of its directory", id="zip out"),
        pytest.param(zip_of(("..\\x", b"")), "leads out of its directory", id="zip of Windows"),
        pytest.param(zip_of(("x", b"/etc"), mode=stat.S_IFLNK | 0o777), "link x", id="symlink"),
        pytest.param(zip_of(("a", bytes(2_000_000))), "more than 1000000 bytes", id="bomb"),
        pytest.param(b"PK\3\4 no zip", "cannot unpack", id="rubbish"),
    ],
)
def test_a_bad_zip_is_refused(unpacked, tmp_path, content, why):
    with pytest.raises(ArtifactRefused, match=why):
        unpacked("a.zip", content, max_unpacked=1_000_000)
    assert not (tmp_path / "x").exists()


def test_a_bomb_of_one_packed_file_is_refused(unpacked):
    with pytest.raises(ArtifactRefused, match="more than 1000000 bytes"):
        unpacked("a.gz", gzip.compress(bytes(2_000_000)), max_unpacked=1_000_000)
