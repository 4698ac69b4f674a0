"""What operators may say of agents and fleets, and what is refused."""

import os
from pathlib import Path

import pytest
from django.core.management import CommandError, load_command_class

from cluster.agent import state_lock
from cluster.agent.networks.lists import USUAL_PLACES
from cluster.agent.state_lock import alone_with
from cluster.management.commands.runagent import config_from
from cluster.management.commands.runfleet import blueprint_from


def options_of(command, *arguments):
    parser = load_command_class("cluster", command).create_parser("manage.py", command)
    return vars(parser.parse_args(list(arguments)))


def test_an_agent_runs_no_commands_of_its_host_unless_told(monkeypatch):
    monkeypatch.delenv("BIVOUAC_RAW_EXEC", raising=False)
    assert config_from(options_of("runagent")).raw_exec is False
    monkeypatch.setenv("BIVOUAC_RAW_EXEC", "1")
    assert config_from(options_of("runagent")).raw_exec is True


def test_a_second_agent_does_not_work_in_the_directory_of_another(tmp_path, monkeypatch):
    monkeypatch.setattr(state_lock, "PATIENCE_S", 0.2)
    command = load_command_class("cluster", "runagent")
    told = rf"Another agent \(process {os.getpid()}\) works in {tmp_path}\."
    with alone_with(tmp_path / "state"), pytest.raises(CommandError, match=told):
        command.handle(**options_of("runagent", "--agent-dir", str(tmp_path)))
    with alone_with(tmp_path / "state"):
        assert (tmp_path / "state" / "agent.lock").read_text() == str(os.getpid())


def test_an_agent_finds_its_introduction_and_plugins_where_the_reference_s_looks(
    tmp_path, monkeypatch
):
    def found(*words):
        config = config_from(options_of("runagent", "--agent-dir", str(tmp_path), *words))
        return config.join_token, config.network.plugin_directories

    monkeypatch.delenv("CNI_PATH", raising=False)
    assert found() == ("", USUAL_PLACES)
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "intro_token.jwt").write_text("of a file\n")
    assert found()[0] == "of a file"
    monkeypatch.setenv("NOMAD_CLIENT_INTRO_TOKEN", "of the environment")
    monkeypatch.setenv("CNI_PATH", "/a/bin:/b/bin")
    assert found() == ("of the environment", (Path("/a/bin"), Path("/b/bin")))
    assert found("--token", "given")[0] == "given"


def test_options_of_an_agent(tmp_path):
    config = config_from(
        options_of(
            "runagent", "--addr", "http://10.0.0.1:4646", "--node-name", "n1", "--meta", "rack=r1",
            "--agent-dir", str(tmp_path), "--memory-mb", "1024",
        )
    )  # fmt: skip
    assert (config.server, config.name, config.meta, config.memory_mb, config.dev) == (
        "http://10.0.0.1:4646",
        "n1",
        {"rack": "r1"},
        1024,
        False,
    )
    assert (config.state_dir, config.alloc_dir) == (tmp_path / "state", tmp_path / "alloc")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param(["--addr", "localhost:4646"], "must look like", id="address"),
        pytest.param(["--meta", "rack"], "expected KEY=VALUE", id="meta"),
        pytest.param(["--cpu-mhz", "-1"], "must be a number", id="size"),
    ],
)
def test_a_wrong_option_of_an_agent_is_named(arguments, text):
    with pytest.raises(CommandError, match=text):
        config_from(options_of("runagent", *arguments))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param(["--nodes", "0"], "from 1 to 20000", id="no-nodes"),
        pytest.param(["--cpu", "many"], "list of numbers", id="size"),
        pytest.param(["--attribute", "rack"], "expected KEY=V1,V2", id="attribute"),
    ],
)
def test_a_wrong_option_of_a_fleet_is_named(arguments, text):
    with pytest.raises(CommandError, match=text):
        blueprint_from(options_of("runfleet", *arguments))
