"""`bivouac`, the command of the wheel: what it names, its help, its errors, its completion."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from cluster import installation
from cluster.management.bivouac import (
    COMMANDS,
    SHELLS,
    command_parser,
    completion_script,
    help_text,
)
from cluster.versions import VERSION

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = "from cluster.management.bivouac import main; main()"


def bivouac(*words: str, folder: Path, **variables: str) -> subprocess.CompletedProcess:
    environment = {
        "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(folder),
        "BIVOUAC_DATA_DIR": str(folder / "data"), **variables,
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_every_command_is_a_management_command_and_named_in_the_help():
    names = [front.name for front in COMMANDS]
    assert set(names) >= {
        "up", "agent", "fleet", "demo", "rehearse", "simulate", "evaluate", "backup", "restore",
        "token", "audit",
    }  # fmt: skip
    assert len(set(names)) == len(names)
    assert {front.behind for front in COMMANDS} <= set(get_commands())
    text = help_text()
    assert VERSION in text
    assert [f for f in COMMANDS if f"  {f.name} " not in text or f.does not in text] == []
    assert "the reference's command line" in text


def test_options_are_those_of_the_management_command_without_djangos():
    (commands,) = [action for action in command_parser()._actions if action.dest == "command"]
    for front in COMMANDS:
        text = commands.choices[front.name].format_help()
        assert text.startswith(f"usage: bivouac {front.name} ")
        assert "--traceback" not in text
        behind = load_command_class("cluster", front.behind).create_parser("x", front.behind)
        theirs = {option for action in behind._actions for option in action.option_strings}
        ours = commands.choices[front.name]._actions
        assert {option for action in ours for option in action.option_strings} == theirs


def test_it_needs_no_settings_and_works_from_any_folder(tmp_path):
    made = bivouac("token", "create", "--help", folder=tmp_path)
    assert made.returncode == 0
    assert made.stdout.startswith("usage: bivouac token create ")
    help_of_token = bivouac("token", "--help", folder=tmp_path).stdout
    assert "bivouac token create --name ci" in help_of_token
    assert "manage.py" not in help_of_token
    listed = bivouac("backup", str(tmp_path / "none.bv"), "--inspect", folder=tmp_path)
    assert listed.returncode == 1
    assert "none.bv" in listed.stderr
    assert "Traceback" not in listed.stderr


def test_errors_name_what_is_wrong(tmp_path):
    unknown = bivouac("jobs", folder=tmp_path)
    assert unknown.returncode == 1
    assert "there is no command 'jobs'; there are up, agent," in unknown.stderr
    assert "`nomad`" in unknown.stderr
    nothing = bivouac(folder=tmp_path)
    assert (nothing.returncode, nothing.stdout.split()[0]) == (2, "usage:")
    bad = bivouac("audit", folder=tmp_path, BIVOUAC_PORT="high")
    assert bad.returncode == 1
    assert bad.stderr.strip() == "BIVOUAC_PORT must be a number from 1 to 65535; it is 'high'"
    assert bivouac("--version", folder=tmp_path).stdout == f"bivouac {VERSION}\n"
    assert "Traceback" not in unknown.stderr + nothing.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_names_every_command_and_is_read_by_its_shell(shell, tmp_path):
    script = completion_script(shell)
    assert [front.name for front in COMMANDS if front.name not in script] == []
    assert "--traceback" not in script
    if program := shutil.which(shell):
        file = tmp_path / "completion"
        file.write_text(script)
        option = "--no-execute" if shell == "fish" else "-n"
        subprocess.run([program, option, str(file)], check=True)


def test_bash_completes_commands_and_their_options(tmp_path):
    script = bivouac("completion", "bash", folder=tmp_path).stdout

    def offered(*words: str) -> list[str]:
        asked = " ".join(f"'{word}'" for word in words)
        line = (
            f"{script}\nCOMP_WORDS=({asked}); COMP_CWORD={len(words) - 1}\n"
            '_shtab_bivouac bivouac "${COMP_WORDS[-1]}"; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        told = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
        return told.stdout.split()

    assert set(offered("bivouac", "re")) == {"rehearse", "restore"}
    assert offered("bivouac", "up", "--de") == ["--demo"]
    assert "create" in offered("bivouac", "token", "cr")


@pytest.mark.parametrize("read", ["source <(cat FILE)", "source FILE", 'eval "$(<FILE)"'])
def test_zsh_registers_completion_though_nothing_was_made_ready_for_it(read, tmp_path):
    script = completion_script("zsh")
    assert "compinit -i" in script.rpartition("loadautofunc")[2]
    if program := shutil.which("zsh"):
        file = tmp_path / "completion"
        file.write_text(script)
        line = f"{read.replace('FILE', str(file))} && print $_comps[bivouac]"
        told = subprocess.run(
            [program, "-f", "-c", line],
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (told.stdout, told.stderr) == ("_shtab_bivouac\n", "")


def test_fish_completes_commands_and_their_options(tmp_path):
    script = completion_script("fish")
    assert "complete -c bivouac" in script
    if program := shutil.which("fish"):
        file = tmp_path / "completion.fish"
        file.write_text(f'{script}\ncomplete -C "bivouac re"; complete -C "bivouac up --de"\n')
        told = subprocess.run(
            [program, "--no-config", str(file)],
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        offered = [each.partition("\t")[0] for each in told.stdout.splitlines()]
        assert sorted(offered) == ["--demo", "rehearse", "restore"]


def test_completion_refuses_other_shells(tmp_path):
    told = bivouac("completion", "tcsh", folder=tmp_path)
    assert (told.returncode, told.stderr.strip()) == (1, "usage: bivouac completion bash|zsh|fish")


def test_data_goes_where_the_xdg_specification_says_once_installed(monkeypatch, tmp_path):
    assert installation.usual_data_directory() == ROOT / ".bivouac"
    monkeypatch.setattr(installation, "IS_CHECKOUT", False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert installation.usual_data_directory() == tmp_path / ".local/share/bivouac"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert installation.usual_demo_directory() == tmp_path / ".local/share/bivouac-demo"
    monkeypatch.setenv("XDG_DATA_HOME", "/srv/data")
    assert installation.usual_data_directory() == Path("/srv/data/bivouac")
    assert installation.usual_agent_directory() == "/srv/data/bivouac/agent"
    assert installation.typed("restore FILE") == "bivouac restore FILE"
    assert installation.program("runweb")[1:] == ("-m", "cluster.management", "runweb")


def test_every_command_has_examples_as_they_are_typed():
    (commands,) = [action for action in command_parser()._actions if action.dest == "command"]
    for front in COMMANDS:
        text = commands.choices[front.name].format_help()
        assert f"bivouac {front.name}" in text.partition("\n\n")[2], front.name
        assert "manage.py" not in text, front.name
        assert max(map(len, text.splitlines())) < 110, front.name
