"""What `bench` refuses to measure, and what it prints of two servers."""

import pytest
from django.core.management import CommandError, call_command

from cluster.bench import beside
from cluster.bench.scenario import Options
from cluster.management.commands.bench import SCENARIOS, Command


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("jobs", "--runs", "0"), "must be at least 1"),
        (("jobs", "--connections", "0"), "must be at least 1"),
        (("jobs", "--scale", "11"), "--scale must be above 0"),
        (("jobs", "--nodes", "-1"), "cannot be negative"),
        (("storm", "--nodes", "5"), "--nodes is for latency, jobs"),
        (("million", "--beside", "http://x"), "--beside is for latency, jobs"),
        (("jobs", "--data-dir", "/nowhere"), "--data-dir is for one run of million"),
        (("million", "--data-dir", "/nowhere", "--runs", "2"), "--data-dir is for one run"),
        (("engine", "--database", "postgresql://h/x"), "--database is for latency, jobs"),
        (("jobs", "--database", "mysql://h/x"), "must look like postgresql://"),
        (("jobs", "--database", "postgresql://h/x", "--addr", "http://x"), "goes without --addr"),
        (("jobs", "--database", "postgresql://u@%2Fnowhere/x"), "--database: connection "),
    ],
)
def test_what_cannot_be_measured_is_refused(words, reason):
    with pytest.raises(CommandError, match=reason):
        call_command("bench", *words)


def test_the_help_tells_of_every_scenario():
    text = Command().create_parser("manage.py", "bench").format_help()
    assert [name for name in SCENARIOS if f"  {name}  " not in text] == []


def test_two_servers_are_asked_by_turns_the_second_without_nodes_of_ours():
    asked = []

    def scenario(options):
        asked.append((options.address, options.has_nodes, options.by_requests))
        return {"per_s": 10.0 * len(asked)}

    mine, other = beside.run_beside(scenario, Options(), "http://other", 2)
    assert asked == [("", False, True), ("http://other", True, True)] * 2
    assert (mine, other) == (
        [{"per_s": 10.0}, {"per_s": 30.0}],
        [{"per_s": 20.0}, {"per_s": 40.0}],
    )


def test_both_databases_are_measured_by_turns():
    asked = []

    def scenario(options):
        asked.append((options.database, options.environment.get("DATABASE_URL")))
        return {"per_s": 10.0 * len(asked)}

    there, file = beside.run_on_both(scenario, Options(database="postgresql://h/x"), 2)
    # The variable is set to nothing for SQLite: whoever measures may have it set.
    assert asked == [("postgresql://h/x", None), ("", "")] * 2
    assert there == [{"per_s": 10.0}, {"per_s": 30.0}]
    assert file == [{"per_s": 20.0}, {"per_s": 40.0}]


def test_figures_that_both_have_stand_side_by_side():
    mine = [{"per_s": 30.0, "web_cpu_s": 1.0}, {"per_s": 10.0, "web_cpu_s": 1.0}]
    other = [{"per_s": 40.0, "refused": 0.0}]
    assert beside.ratios(mine, other) == {"per_s": 0.5}
    head, line = beside.side_by_side(mine, other, "http://other").splitlines()
    assert head.split() == ["figure", "ours", "http://other", "ours", "/", "other"]
    assert line.split() == ["per", "s", "20", "40", "0.5"]
