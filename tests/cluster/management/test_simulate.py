"""`manage.py simulate`: seeds, a history told, a broken law with a short history; exit codes."""

import io

import pytest
from django.core.management import CommandError, call_command

from cluster.simulation import run
from cluster.simulation.laws.law import Laws
from scheduler.structs.allocation import ClientStatus


def simulate(*arguments):
    out = io.StringIO()
    try:
        call_command("simulate", *arguments, "--processes", "1", stdout=out)
    except SystemExit as ended:
        return ended.code, out.getvalue()
    return 0, out.getvalue()


@pytest.fixture
def nothing_fails(monkeypatch):
    """A law that does not hold: no allocation ever fails."""
    laws = Laws()

    @laws.add("nothing-fails", "no allocation ever fails")
    def _failed(look):
        for _, before, after in look.rows:
            if before is not None and getattr(after, "client_status", "") == ClientStatus.FAILED:
                yield f"{after.name} failed"

    monkeypatch.setattr(run, "_WRITTEN_LAWS", (*run._WRITTEN_LAWS, *laws))


def test_seeds_that_hold_end_with_zero():
    code, said = simulate("--seeds", "2", "--from", "5", "--length", "10")
    assert code == 0
    assert said.startswith("Every law holds: 2 seeds, ")


def test_one_seed_is_told():
    code, said = simulate("--replay", "5", "--length", "8")
    assert code == 0
    assert said.startswith("Seed 5: ")
    assert "register " in said
    assert "PlanResult: " in said


def test_a_broken_law_is_told_with_the_moves_that_it_takes(nothing_fails):
    code, said = simulate("--seeds", "30", "--length", "20")
    assert code == 1
    assert "breaks the law 'nothing-fails': no allocation ever fails." in said
    assert " fails on node-" in said
    replay = said.split("manage.py simulate ")[-1].split()
    assert replay[0] == "--replay"
    assert len(replay[-1].split(",")) <= 4
    again, told = simulate(*replay)
    assert again == 1
    assert "Broken: 'nothing-fails': no allocation ever fails." in told


@pytest.mark.parametrize(
    "arguments",
    [("--seeds", "0"), ("--from", "-1"), ("--replay", "-1"), ("--replay", "1", "--moves", "x")],
)
def test_what_makes_no_sense_is_refused(arguments):
    with pytest.raises(CommandError, match=r"at least [01]|are numbers"):
        simulate(*arguments)
