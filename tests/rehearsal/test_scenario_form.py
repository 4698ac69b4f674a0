"""Scenarios as they are sent: one change or several, and every problem with its place."""

import pytest

from cluster.rehearsal.scenario import (
    ChangeSettings,
    DrainNodes,
    LoseNodes,
    NodeChoice,
    ScenarioProblems,
    StopJob,
)
from cluster.rehearsal.scenario_form import read_scenario
from scheduler.structs.identity import JobKey

HOUR = 3_600_000_000_000


def problems_of(document):
    with pytest.raises(ScenarioProblems) as raised:
        read_scenario(document)
    return [(problem.path, problem.message) for problem in raised.value.problems]


def test_one_change_alone_a_list_and_a_request_say_the_same():
    one = {"Drain": {"NodeIDs": ["a"], "Spec": {"Deadline": "1h"}}}
    drained = DrainNodes(nodes=NodeChoice(node_ids=("a",)), deadline=HOUR)
    for document in (one, [one], {"Changes": [one]}, {"Changes": one}):
        assert read_scenario(document).changes == (drained,)


def test_several_changes_keep_their_order():
    changes = [
        {"Lose": {"Filter": 'NodeClass == "big"', "Share": 25}},
        {"Stop": {"JobID": "web", "Namespace": "team"}},
        {"Settings": {"SchedulerAlgorithm": "spread"}},
    ]
    assert read_scenario({"Changes": changes}).changes == (
        LoseNodes(nodes=NodeChoice(filter='NodeClass == "big"', share=25)),
        StopJob(key=JobKey("team", "web")),
        ChangeSettings(algorithm="spread"),
    )


def test_one_object_may_name_several_in_the_order_in_which_they_are_made():
    named = {"Settings": {"SchedulerAlgorithm": "spread"}, "Stop": {"JobID": "web"}}
    listed = [{name: inner} for name, inner in named.items()]
    assert read_scenario(named).changes == read_scenario(listed).changes
    assert [path for path, _ in problems_of({"Stop": {}, "Add": {}})] == [
        "Changes[0].Stop.JobID",
        "Changes[1].Add.Like",
        "Changes[1].Add.Count",
    ]


@pytest.mark.parametrize(
    ("change", "path", "says"),
    [
        ({"Drain": {}}, "Changes[0].Drain", "NodeIDs or by Filter"),
        ({"Drain": {"NodeIDs": "a"}}, "Changes[0].Drain.NodeIDs", "must be a list"),
        (
            {"Drain": {"NodeIDs": ["a"], "Spec": {"Deadline": "soon"}}},
            "Changes[0].Drain.Spec.Deadline",
            "no span of time",
        ),
        ({"Drain": {"NodeIDs": ["a"], "Node": 1}}, "Changes[0].Drain.Node", "not known"),
        ({"Lose": {"Filter": "Name =="}}, "Changes[0].Lose.Filter", "failed to read filter"),
        ({"Lose": {"Filter": "Name == a", "Share": 0}}, "Changes[0].Lose.Share", "from 1 to 100"),
        ({"Add": {"Like": "a", "Count": "5"}}, "Changes[0].Add.Count", "whole number"),
        ({"Scale": {"Count": 2}}, "Changes[0].Scale.JobID", "missing"),
        ({"Dispatch": {"JobID": "a", "Payload": "?"}}, "Changes[0].Dispatch.Payload", "base64"),
        ({"Dispatch": {"JobID": "a", "Meta": []}}, "Changes[0].Dispatch.Meta", "an object"),
        ({"Dispatch": {"JobID": "a", "Meta": {"b": 1}}}, "Changes[0].Dispatch.Meta.b", "a text"),
        ({"Revert": {"JobID": "a"}}, "Changes[0].Revert.JobVersion", "missing"),
        (
            {"Settings": {"SchedulerAlgorithm": "best"}},
            "Changes[0].Settings.SchedulerAlgorithm",
            "binpack or spread",
        ),
        ({"Settings": {}}, "Changes[0].Settings", "changes nothing"),
        ({"Quota": {"Name": "a"}}, "Changes[0].Quota.Limits", "names none of"),
        (
            {"Eligibility": {"NodeIDs": ["a"], "Eligibility": "perhaps"}},
            "Changes[0].Eligibility.Eligibility",
            "eligible or ineligible",
        ),
        ({"Explode": {}}, "Changes[0]", "must have one of Drain, Lose"),
        (17, "Changes[0]", "must be an object"),
    ],
)
def test_a_problem_is_named_with_its_place(change, path, says):
    found = problems_of({"Changes": [change]})
    assert (path, True) in [(place, says in message) for place, message in found]


def test_all_problems_are_named_at_once():
    assert [
        path for path, _ in problems_of({"Changes": [{"Stop": {}}, {"Add": {}}], "By": 1})
    ] == [
        "By",
        "Changes[0].Stop.JobID",
        "Changes[1].Add.Like",
        "Changes[1].Add.Count",
    ]


def test_nothing_is_no_scenario():
    assert problems_of({"Changes": []}) == [("Changes", "nothing is changed")]


def test_what_is_wrong_with_a_job_is_named_inside_it():
    job = {"ID": "web", "TaskGroups": [{"Name": "g", "Count": "many"}]}
    (problem,) = problems_of({"Job": job})
    assert problem[0].startswith("Changes[0].Job")
