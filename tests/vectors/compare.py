"""Compares decisions of evaluation capsules as capsule.md 3 asks.

    python -m tests.vectors.compare EXPECTED GOT [--first N] [--more] [--family NAME]

Both files hold one JSON object per line, plain or gzipped: a decision, or `{"Capsule": ...,
"Decision": ...}`. Prints equal/total per family and the first differences; the exit code is 1 when
anything differs. `--more` also compares what section 3 leaves open: resources given, classes of
nodes, reschedule events, who preempts what, further metrics.
"""

import argparse
import gzip
import json
import sys
from collections import Counter

from tests.vectors.canonical import (
    DEPLOYMENT_GROUP,
    EVALUATION_LINKS,
    METRIC_COUNTS,
    METRIC_MAPS,
    METRIC_MORE,
    canonical,
    is_new,
    per_node,
)

TOLERANCE = 1e-9
MEMO = "computed class ineligible"
CHANGED = (
    "ClientStatus", "DesiredStatus", "DesiredDescription", "FollowupEvalID", "DeploymentID",
    "JobVersion",
)  # fmt: skip
CHANGED_MORE = ("DeploymentStatus", "AllocStates")
PLACED_MORE = (
    "AllocatedResources", "RescheduleTracker", "PreemptedAllocations", "DesiredStatus",
    "ClientStatus",
)  # fmt: skip
DEPLOYED = ("ID", "JobVersion", "Status", "StatusDescription", "EvalPriority")
CREATED = (
    "Type", "TriggeredBy", "Status", "Priority", "Wait", "WaitUntil", "NodeID", *EVALUATION_LINKS,
)  # fmt: skip
CREATED_MORE = ("StatusDescription", "ClassEligibility", "EscapedComputedClass", "JobID")


class Facts(dict):
    """Readable path -> compared value; a path that occurs again is numbered."""

    def base(self, path):
        number, wanted = 2, path
        while path in self:
            path, number = f"{wanted}#{number}", number + 1
        self[path] = "present"
        return path

    def fields(self, path, source, names):
        for name in names:
            if source.get(name) not in (None, "", 0, False):
                self[f"{path}.{name}"] = source[name]


def plan_facts(facts, path, plan, more):
    for _, alloc in per_node(plan.get("NodeUpdate")):
        here = facts.base(f"{path}.stops[{alloc['ID']}]")
        facts.fields(here, alloc, ("DesiredDescription", "ClientStatus", "FollowupEvalID"))
    for _, alloc in per_node(plan.get("NodePreemptions")):
        here = facts.base(f"{path}.preemptions[{alloc['ID']}]")
        if more:
            facts.fields(here, alloc, ("PreemptedByAllocation",))
    for node, alloc in per_node(plan.get("NodeAllocation")):
        told = placement_facts if is_new(alloc) else changed_facts
        told(facts, path, node, alloc, more)
    deployment_facts(facts, path, plan)
    update_facts(facts, f"{path}.DesiredTGUpdates", plan.get("Annotations"))


def changed_facts(facts, path, _node, alloc, more):
    here = facts.base(f"{path}.updates[{alloc['ID']}]")
    facts.fields(here, alloc, CHANGED)
    tracker = alloc.get("RescheduleTracker") or {}
    facts.fields(here + ".RescheduleTracker", tracker, ("LastReschedule",))
    if more:
        tree_facts(facts, here, {name: alloc.get(name) for name in CHANGED_MORE})


def placement_facts(facts, path, node, alloc, more):
    after = alloc.get("PreviousAllocation", "-")
    place = f"{alloc.get('TaskGroup')} {alloc.get('Name')} on {node} after {after}"
    here = facts.base(f"{path}.placements[{place}]")
    facts[here + ".Canary"] = bool((alloc.get("DeploymentStatus") or {}).get("Canary"))
    events = (alloc.get("RescheduleTracker") or {}).get("Events") or ()
    facts[here + ".RescheduleEvents"] = len(events)
    facts[here + ".InDeployment"] = bool(alloc.get("DeploymentID"))
    facts[here + ".JobVersion"] = alloc["JobVersion"]
    for row in (alloc.get("Metrics") or {}).get("ScoreMetaData") or ():
        facts[here + ".NormScore"] = float(row["NormScore"])
        for name, score in row["Scores"].items():
            facts[f"{here}.Scores[{name}]"] = float(score)
    if more:
        tree_facts(facts, here, {name: alloc.get(name) for name in PLACED_MORE})


def deployment_facts(facts, path, plan):
    deployment = plan.get("Deployment")
    if deployment:
        here = facts.base(f"{path}.Deployment")
        facts.fields(here, deployment, DEPLOYED)
        for group, state in deployment["TaskGroups"].items():
            there = facts.base(f"{here}.TaskGroups[{group}]")
            facts.fields(there, state, DEPLOYMENT_GROUP)
            facts[there + ".PlacedCanaries"] = len(state.get("PlacedCanaries") or ())
    for update in plan.get("DeploymentUpdates") or ():
        here = facts.base(f"{path}.DeploymentUpdates[{update['DeploymentID']}]")
        facts.fields(here, update, ("Status", "StatusDescription"))


def tree_facts(facts, path, value):
    if isinstance(value, dict | list):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            tree_facts(facts, f"{path}.{key}", entry)
    elif value is not None:
        facts[path] = value


def update_facts(facts, path, annotations):
    for group, counts in ((annotations or {}).get("DesiredTGUpdates") or {}).items():
        for name, count in counts.items():
            facts[f"{path}[{group}].{name}"] = count


def decision_facts(decision, more=False):
    facts = Facts()
    if decision.get("Error"):
        facts["Error"] = "present"
        return facts
    final = decision["Evaluation"]
    facts.fields("Evaluation", final, ("Status", "StatusDescription", *EVALUATION_LINKS))
    for group, count in (final.get("QueuedAllocations") or {}).items():
        facts[f"Evaluation.QueuedAllocations[{group}]"] = count
    for group, metrics in (final.get("FailedTGAllocs") or {}).items():
        failure_facts(facts, group, metrics, more)
    update_facts(facts, "Evaluation.DesiredTGUpdates", final.get("PlanAnnotations"))
    facts["Plans"] = f"{len(decision['Plans'])} submitted"
    for number, plan in enumerate(decision["Plans"]):
        plan_facts(facts, f"Plans[{number}]", plan, more)
    for name in ("CreatedEvals", "ReblockedEvals"):
        facts[name] = f"{len(decision[name])} in all"
        for number, evaluation in enumerate(decision[name]):
            here = f"{name}[{number}]"
            facts.fields(here, evaluation, CREATED)
            if more:
                tree_facts(facts, here, {name: evaluation.get(name) for name in CREATED_MORE})
    return facts


def failure_facts(facts, group, metrics, more):
    here = facts.base(f"Evaluation.FailedTGAllocs[{group}]")
    facts.fields(here, metrics, METRIC_COUNTS)
    for name in METRIC_MAPS:
        for label, count in (metrics.get(name) or {}).items():
            facts[f"{here}.{name}[{label}]"] = count
    if more:
        tree_facts(facts, here, {name: metrics.get(name) for name in METRIC_MORE})


def settle_labels(expected, got):
    """Count nodes as expected where only the label differs, and may differ.

    Nodes counted under the label of a remembered class may be counted under the label that the
    class failed for instead.
    """
    failed = (got.get("Evaluation") or {}).get("FailedTGAllocs") or {}
    for group, metrics in ((expected.get("Evaluation") or {}).get("FailedTGAllocs") or {}).items():
        if not metrics.get("ConstraintFiltered") or group not in failed:
            continue
        wanted, found = (
            metrics["ConstraintFiltered"],
            failed[group].get("ConstraintFiltered") or {},
        )
        moved = {
            label: found.get(label, 0) - count for label, count in wanted.items() if label != MEMO
        }
        if (
            found.keys() - {MEMO} == moved.keys()
            and all(count >= 0 for count in moved.values())
            and sum(moved.values()) == wanted.get(MEMO, 0) - found.get(MEMO, 0)
        ):
            failed[group]["ConstraintFiltered"] = wanted


def same(left, right):
    if isinstance(left, float) or isinstance(right, float):
        return (
            isinstance(left, int | float)
            and isinstance(right, int | float)
            and abs(left - right) <= TOLERANCE
        )
    return left == right


def differences(expected, got, more=False):
    """Readable differences of two decisions; empty when they are equal.

    `more`: whether details are compared that capsule.md 3 leaves open.
    """
    left, right = canonical(expected), canonical(got)
    settle_labels(left, right)
    left, right = decision_facts(left, more), decision_facts(right, more)
    found = []
    for path in sorted(left.keys() | right.keys()):
        if path not in right:
            found.append(f"{path}: expected {left[path]!r}, missing")
        elif path not in left:
            found.append(f"{path}: unexpected {right[path]!r}")
        elif not same(left[path], right[path]):
            found.append(f"{path}: expected {left[path]!r}, got {right[path]!r}")
    return found


def read(path):
    """(name, decision) of every line."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                entry = json.loads(line)
                decision = entry.get("Decision", entry)
                yield decision.get("Name", ""), decision


def tell(line):
    sys.stdout.write(line + "\n")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("expected")
    parser.add_argument("got")
    parser.add_argument("--first", type=int, default=20, help="differences to print")
    parser.add_argument("--family")
    parser.add_argument("--more", action="store_true")
    options = parser.parse_args(arguments)
    got = dict(read(options.got))
    total, equal, shown, names = Counter(), Counter(), 0, set()
    for name, decision in read(options.expected):
        family = name.split("/")[0]
        if options.family and family != options.family:
            continue
        names.add(name)
        total[family] += 1
        found = differences(decision, got[name], options.more) if name in got else ["no decision"]
        if not found:
            equal[family] += 1
        for line in found[: max(0, options.first - shown)]:
            tell(f"{name}\n    {line}")
        shown += len(found)
    for family in sorted(total):
        tell(f"{family:34}{equal[family]:7}/{total[family]}")
    tell(f"{'total':34}{sum(equal.values()):7}/{sum(total.values())}")
    extra = len(got.keys() - names)
    if extra and not options.family:
        tell(f"{extra} decisions were not expected")
    return 0 if sum(equal.values()) == sum(total.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
