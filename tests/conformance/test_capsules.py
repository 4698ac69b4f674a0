"""Recorded decisions: for each capsule the engine decides what the recorded scheduler decided.

More capsules than are kept here can be judged by naming their folder in BIVOUAC_CAPSULES.
"""

import json
import os
from itertools import chain, islice
from pathlib import Path

import pytest

from cluster.jobspec.patterns import Re2Matcher
from cluster.operations.capsules import decide_capsule
from scheduler.engine.capsule import CapsuleError, evaluate_capsule, read_capsule
from tests.vector_files import VECTORS, lines_of
from tests.vectors.compare import differences

MATCHER = Re2Matcher()
FOLDERS = [VECTORS / "capsules"]
if os.environ.get("BIVOUAC_CAPSULES"):
    FOLDERS.append(Path(os.environ["BIVOUAC_CAPSULES"]))
FILES = [path for folder in FOLDERS for path in sorted(folder.glob("*.jsonl.gz"))]

FAMILIES = (
    "affinities",
    "batch-fresh",
    "batch-mix",
    "blocked",
    "constraints",
    "devices",
    "disconnected",
    "drain",
    "everything",
    "failed-allocs",
    "host-volumes",
    "job-stop",
    "job-update",
    "node-down",
    "oversubscription-and-algorithm",
    "plan-rejection",
    "pools-and-datacenters",
    "ports",
    "preemption",
    "scale",
    "service-fresh",
    "spreads",
    "sysbatch",
    "system-fresh",
    "system-node-events",
    "system-update",
)


def test_every_family_is_there():
    assert [path.name.removesuffix(".jsonl.gz") for path in FILES[: len(FAMILIES)]] == [*FAMILIES]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_recorded_capsules_are_decided_as_recorded(path):
    differing = {}
    for line in lines_of(path):
        decision = decide_capsule(line["Capsule"], MATCHER)
        found = differences(line["Decision"], decision, more=True)
        if found:
            differing[line["Capsule"]["Name"]] = found[:3]
    assert differing == {}


def test_the_comparison_sees_what_differs():
    first, second = list(lines_of(VECTORS / "capsules" / "service-fresh.jsonl.gz"))[:2]
    assert differences(first["Decision"], first["Decision"], more=True) == []
    assert differences(first["Decision"], second["Decision"]) != []


def test_one_capsule_gives_one_decision_byte_for_byte():
    line = next(lines_of(VECTORS / "capsules" / "everything.jsonl.gz"))
    capsule = read_capsule(line["Capsule"])
    first, second = (json.dumps(evaluate_capsule(capsule, MATCHER)) for _ in range(2))
    assert first == second


def test_a_decision_says_nothing_of_the_story_that_its_evaluation_names():
    found = set()
    files = [VECTORS / "capsules" / f"{name}.jsonl.gz" for name in ("blocked", "service-fresh")]
    for line in chain.from_iterable(islice(lines_of(path), 40) for path in files):
        line["Capsule"]["Evaluation"]["Story"] = "of-somebody"
        decision = decide_capsule(line["Capsule"], MATCHER)
        evaluations = [
            decision["Evaluation"],
            *decision["CreatedEvals"],
            *decision["ReblockedEvals"],
        ]
        assert not [each for each in evaluations if each and "Story" in each]
        found |= {key for key in ("Evaluation", "CreatedEvals", "ReblockedEvals") if decision[key]}
    assert found == {"Evaluation", "CreatedEvals", "ReblockedEvals"}


@pytest.mark.parametrize(
    ("document", "path"),
    [
        pytest.param([], "$", id="not-an-object"),
        pytest.param({}, "$", id="no-evaluation"),
        pytest.param({"Evaluation": {"Priority": "high"}}, "$.Evaluation.Priority", id="text"),
        pytest.param(
            {"Evaluation": {}, "Nodes": [{}, {"Status": "sleepy"}]}, "$.Nodes[1].Status", id="enum"
        ),
    ],
)
def test_a_bad_capsule_is_refused_with_the_path_of_the_fault(document, path):
    with pytest.raises(CapsuleError) as refusal:
        read_capsule(document)
    assert refusal.value.path == path


def test_an_evaluation_that_no_scheduler_takes_is_refused():
    capsule = read_capsule({"Evaluation": {"Type": "_core"}})
    with pytest.raises(CapsuleError) as refusal:
        evaluate_capsule(capsule, MATCHER)
    assert refusal.value.path == "$.Evaluation.Type"
