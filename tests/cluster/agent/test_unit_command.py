"""`bivouac agent --systemd` and what it prints: a configuration that the agent itself reads."""

import io
import re

import pytest
from django.core.management import CommandError, call_command

from cluster.agent.config_file import read_config
from cluster.agent.config_values import settings_from

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


def test_without_systemd_nothing_is_written(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CommandError, match="There is no systemctl here"):
        call_command("runagent", *JOIN, "--install")


def test_a_bad_fingerprint_is_named():
    with pytest.raises(CommandError, match="--fingerprint: a fingerprint looks like sha256"):
        call_command("runagent", "--join", "https://b.example", "--fingerprint", "12", "--systemd")
