"""The certificate that an agent pins at joining: over real TLS, taken once and held ever after."""

import asyncio
import contextlib
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve

from cluster.agent.joining import join_command, put_files, unit_files
from cluster.agent.server_trust import BadCertificate, fingerprint_of, read_fingerprint, trust


def certificate(folder, name, *, lasts=30):
    """A certificate of its own making (PEM), and the file with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)  # noqa: TID251 - what TLS itself compares with
    made = (
        x509.CertificateBuilder()
        .subject_name(who).issuer_name(who).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=60)).not_valid_after(now + timedelta(days=lasts))
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    pem = made.public_bytes(serialization.Encoding.PEM)
    file = folder / f"{name}.pem"
    file.write_bytes(
        pem
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return pem.decode(), file


@contextlib.asynccontextmanager
async def server(file):
    """Answers every connection over TLS with an empty 200; its address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)

    async def answer(reader, writer):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            await writer.drain()
        writer.close()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        yield f"https://127.0.0.1:{port}"


async def get(address, context):
    async with httpx.AsyncClient(verify=context, trust_env=False) as client:
        return (await client.get(address)).text


async def test_the_certificate_is_compared_once_and_kept(tmp_path):
    pem, file = certificate(tmp_path, "ours")
    keep = tmp_path / "state"
    async with server(file) as address:
        told = fingerprint_of(pem)
        context = await asyncio.to_thread(trust, address, fingerprint=told, directory=keep)
        assert await get(address, context) == "ok"
        assert (keep / "server.pem").read_text().strip() == pem.strip()
        # The next start needs no fingerprint.
        again = trust(address, directory=keep)
        assert await get(address, again) == "ok"
        with pytest.raises(httpx.ConnectError):
            await get(address, ssl.create_default_context())


async def test_another_certificate_is_refused_at_joining_and_later(tmp_path):
    pem, _ = certificate(tmp_path, "ours")
    other, other_file = certificate(tmp_path, "theirs")
    keep = tmp_path / "state"
    async with server(other_file) as address:
        with pytest.raises(BadCertificate) as refused:
            await asyncio.to_thread(
                trust, address, fingerprint=fingerprint_of(pem), directory=keep
            )
        assert fingerprint_of(other) in str(refused.value)
        assert not (keep / "server.pem").exists()
        keep.mkdir()
        (keep / "server.pem").write_text(pem)
        with pytest.raises(httpx.ConnectError):
            await get(address, trust(address, directory=keep))


async def test_one_that_has_run_out_is_refused(tmp_path):
    pem, file = certificate(tmp_path, "old", lasts=-1)
    async with server(file) as address:
        told = fingerprint_of(pem)
        context = await asyncio.to_thread(trust, address, fingerprint=told, directory=tmp_path)
        with pytest.raises(httpx.ConnectError, match="expired"):
            await get(address, context)


async def test_the_channel_takes_the_pinned_certificate_too(tmp_path):
    pem, file = certificate(tmp_path, "ours")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    (tmp_path / "server.pem").write_text(pem)
    async with serve(
        lambda socket: socket.send("hello"), "127.0.0.1", 0, ssl=context
    ) as listening:
        port = listening.sockets[0].getsockname()[1]
        pinned = trust(f"https://127.0.0.1:{port}", directory=tmp_path)
        async with connect(f"wss://127.0.0.1:{port}", ssl=pinned, proxy=None) as socket:
            assert await socket.recv() == "hello"


def test_what_makes_no_sense_is_named(tmp_path):
    with pytest.raises(BadCertificate, match="64 digits"):
        read_fingerprint("sha256:12")
    assert read_fingerprint("AB:" * 31 + "AB") == "sha256:" + "ab" * 32
    with pytest.raises(BadCertificate, match="it is not https"):
        trust("http://127.0.0.1:1", fingerprint="sha256:" + "0" * 64, directory=tmp_path)
    with pytest.raises(BadCertificate, match="shows no certificate"):
        trust("https://127.0.0.1:1", fingerprint="sha256:" + "0" * 64, directory=tmp_path)
    with pytest.raises(BadCertificate, match=r"none\.pem holds no certificates"):
        trust("https://x", ca_file=str(tmp_path / "none.pem"), directory=tmp_path)
    assert trust("http://127.0.0.1:1", directory=tmp_path) is None
    assert trust("https://127.0.0.1:1", directory=tmp_path) is None


async def test_the_join_command_names_what_the_server_shows(tmp_path):
    pem, file = certificate(tmp_path, "ours")
    async with server(file) as address:
        command = await asyncio.to_thread(join_command, address, "secret")
    assert command.text == (
        f"bivouac agent --join {address} --token secret --fingerprint {fingerprint_of(pem)}"
        " --install"
    )
    assert command.warning == ""
    plain = join_command("http://10.0.0.1:4646", "secret")
    assert "--fingerprint" not in plain.text
    assert "in the clear" in plain.warning
    assert "No certificate is pinned" in join_command("https://127.0.0.1:1", "secret").warning


def test_the_units_files_are_private_where_they_must_be_and_keep_what_was_changed(tmp_path):
    files = unit_files("https://b.example", "secret", "sha256:" + "0" * 64)
    told = put_files(files, tmp_path)
    written = [Path(sentence.removeprefix("Wrote ")) for sentence in told]
    assert [str(place.relative_to(tmp_path)) for place in written] == [
        "etc/bivouac/agent.hcl", "etc/bivouac/agent.env",
        "etc/systemd/system/bivouac-agent.service",
    ]  # fmt: skip
    config, secrets, unit = written
    assert [path.stat().st_mode & 0o777 for path in written] == [0o644, 0o600, 0o644]
    assert "secret" not in config.read_text() + unit.read_text()
    assert "BIVOUAC_JOIN_TOKEN=secret\n" in secrets.read_text()
    assert "KillMode=process\n" in unit.read_text()
    assert "--config /etc/bivouac/agent.hcl\n" in unit.read_text()
    config.write_text("changed")
    assert f"Wrote {config}" not in put_files(files, tmp_path)
    assert config.read_text() == "changed"
