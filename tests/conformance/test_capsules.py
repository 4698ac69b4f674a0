"""Recorded decisions: for each capsule the engine decides what the recorded scheduler decided.

A selection is kept here; the full set is read from beside the checkout, or from BIVOUAC_VECTORS.
"""

import gzip
import importlib.util
import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from cluster.jobspec.patterns import Re2Matcher
from cluster.operations.capsules import decide_capsule
from scheduler.engine.capsule import CapsuleError, evaluate_capsule, read_capsule
from tests.conformance.decisions import facts, strange_labels

HERE = Path(__file__).parent
VECTORS = Path(os.environ.get("BIVOUAC_VECTORS", HERE.parents[2] / "shared" / "vectors"))
MATCHER = Re2Matcher()

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


def read_lines(path: Path) -> Iterator[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


@cache
def load_comparer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("capsule_compare", VECTORS / "compare.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("family", FAMILIES)
def test_kept_capsules_are_decided_as_recorded(family):
    for line in read_lines(HERE / "capsules" / f"{family}.jsonl.gz"):
        decision = decide_capsule(line["Capsule"], MATCHER)
        assert facts(decision) == facts(line["Decision"]), line["Capsule"]["Name"]
        assert strange_labels(line["Decision"], decision) == {}, line["Capsule"]["Name"]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_recorded_capsule_is_decided_as_recorded(family):
    path = VECTORS / "capsules" / f"{family}.jsonl.gz"
    if not path.exists():
        pytest.skip("1 family of recorded capsules is not beside the checkout")
    differing = {}
    for line in read_lines(path):
        decision = decide_capsule(line["Capsule"], MATCHER)
        found = load_comparer().differences(line["Decision"], decision, more=True)
        if found:
            differing[line["Capsule"]["Name"]] = found[:3]
    assert differing == {}


def test_one_capsule_gives_one_decision_byte_for_byte():
    (line, *_) = read_lines(HERE / "capsules" / "everything.jsonl.gz")
    capsule = read_capsule(line["Capsule"])
    first, second = (json.dumps(evaluate_capsule(capsule, MATCHER)) for _ in range(2))
    assert first == second


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
