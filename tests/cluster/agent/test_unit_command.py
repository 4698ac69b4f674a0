"""`bivouac agent --systemd` and what it prints: a configuration that the agent itself reads."""

import io
import re
import shlex

import pytest
from django.core.management import CommandError, call_command

from cluster.agent.config_file import read_config
from cluster.agent.config_values import settings_from
from cluster.agent.joining import put_files, unit_files

FINGERPRINT = "sha256:" + "0f" * 32
JOIN = ("--join", "https://b.example", "--token", "secret", "--fingerprint", FINGERPRINT)


def test_what_is_printed_is_what_the_agent_reads(tmp_path):
    told = io.StringIO()
    call_command("runagent", *JOIN, "--systemd", stdout=told)
    text = told.getvalue()
    parts = re.split(r"^# (/\S+), mode \d+\n", text, flags=re.MULTILINE)
    files = dict(zip(parts[1::2], parts[2::2], strict=True))
    (tmp_path / "agent.hcl").write_text(files["/etc/bivouac/agent.hcl"])
    options = settings_from(read_config(tmp_path / "agent.hcl")).options
    assert options == {
        "addr": "https://b.example",
        "fingerprint": FINGERPRINT,
        "agent_dir": "/var/lib/bivouac/agent",
    }
    assert "ExecStart=" in files["/etc/systemd/system/bivouac-agent.service"]


def unit_of(*words):
    told = io.StringIO()
    call_command("runagent", *words, "--systemd", stdout=told)
    text = told.getvalue()
    (line,) = re.findall(r"^ExecStart=(.*)$", text, flags=re.MULTILINE)
    words = shlex.split(line)
    return text, words[words.index("--config") :]


def test_whatever_else_was_said_of_the_agent_is_said_by_its_unit(monkeypatch):
    monkeypatch.setenv("BIVOUAC_DATACENTER", "hall 7")
    more = ("--node-name", "press", "--raw-exec", "--meta", "rack=r1", "--meta", "row=2")
    _, words = unit_of(*JOIN, *more, "--ca-file", "/etc/ca.pem")
    assert words[:2] == ["--config", "/etc/bivouac/agent.hcl"]
    pairs = " ".join(words[2:])
    assert pairs == (
        "--ca-file /etc/ca.pem --node-name press --datacenter hall 7"
        " --meta rack=r1 --meta row=2 --raw-exec"
    )
    monkeypatch.delenv("BIVOUAC_DATACENTER")
    assert unit_of(*JOIN)[1] == ["--config", "/etc/bivouac/agent.hcl"]


def test_a_configuration_that_is_named_is_the_units_own(tmp_path):
    config = tmp_path / "own.hcl"
    config.write_text('client {\n  servers = ["http://10.0.0.1:4646"]\n}\n')
    text, words = unit_of("--config", str(config), "--token", "t")
    assert words == ["--config", str(config)]
    assert "# /etc/bivouac/agent.hcl" not in text
    assert unit_of("--config", str(config), *JOIN)[1][2:4] == ["--addr", "https://b.example"]


def test_a_configuration_that_is_there_is_kept_and_that_is_said(tmp_path):
    files = unit_files("http://a:1", "t", "")
    assert [line.split()[0] for line in put_files(files, tmp_path)] == ["Wrote"] * 3
    told = put_files(unit_files("http://b:1", "t", ""), tmp_path)
    assert told[0] == f"Kept {tmp_path}/etc/bivouac/agent.hcl as it is"
    assert "http://a:1" in (tmp_path / "etc/bivouac/agent.hcl").read_text()


def test_without_systemd_nothing_is_written(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CommandError, match="There is no systemctl here"):
        call_command("runagent", *JOIN, "--install")


def test_a_bad_fingerprint_is_named():
    with pytest.raises(CommandError, match="--fingerprint: a fingerprint looks like sha256"):
        call_command("runagent", "--join", "https://b.example", "--fingerprint", "12", "--systemd")
