"""Reduce a decision to the facts that make two decisions equal (docs: the capsule's comparison).

In: a decision document, with new ids of any kind. Out: a plain value to compare with `==`. Ids
made by the run are renamed by first appearance; scores are rounded to nine digits.
"""

from collections.abc import Iterator

Document = dict[str, object]

_LINKS = ("BlockedEval", "NextEval", "PreviousEval", "DeploymentID")
_COUNTS = ("NodesEvaluated", "NodesFiltered", "NodesExhausted", "CoalescedFailures")
_CREATED = ("Type", "TriggeredBy", "Status", "Priority", "Wait", "WaitUntil", "NodeID", *_LINKS)
_UPDATED = (
    "ID",
    "ClientStatus",
    "DesiredStatus",
    "DesiredDescription",
    "FollowupEvalID",
    "DeploymentID",
    "JobVersion",
)
_ROLLOUT = (
    "AutoRevert",
    "AutoPromote",
    "ProgressDeadline",
    "Promoted",
    "DesiredCanaries",
    "DesiredTotal",
    "PlacedAllocs",
    "HealthyAllocs",
    "UnhealthyAllocs",
)
_REMEMBERED = "computed class ineligible"


def facts(decision: Document) -> Document:
    """Everything two decisions must agree in."""
    if decision.get("Error"):
        return {"Error": True}
    decision = _renamed(decision, _new_names(decision))
    final = decision["Evaluation"]
    return {
        "Evaluation": _some(final, ("Status", "StatusDescription", *_LINKS)),
        "Queued": dict(final.get("QueuedAllocations") or {}),
        "Failed": {
            group: _metric(metric) for group, metric in (final.get("FailedTGAllocs") or {}).items()
        },
        "Desired": _desired(final.get("PlanAnnotations")),
        "Plans": [_plan(plan) for plan in decision.get("Plans") or ()],
        "Created": [_some(one, _CREATED) for one in decision.get("CreatedEvals") or ()],
        "Reblocked": [_some(one, _CREATED) for one in decision.get("ReblockedEvals") or ()],
    }


def strange_labels(expected: Document, decision: Document) -> Document:
    """Groups whose filtered nodes are counted under labels that cannot be right.

    A node of a class that failed before may be counted under the label the class failed for, so
    only new labels and counts below the expected ones are strange.
    """
    strange = {}
    for group, metric in (expected["Evaluation"].get("FailedTGAllocs") or {}).items():
        wanted = {**(metric.get("ConstraintFiltered") or {})}
        wanted.pop(_REMEMBERED, None)
        failed = (decision["Evaluation"].get("FailedTGAllocs") or {}).get(group) or {}
        found = {**(failed.get("ConstraintFiltered") or {})}
        found.pop(_REMEMBERED, None)
        if found.keys() != wanted.keys() or any(found[name] < wanted[name] for name in wanted):
            strange[group] = found
    return strange


def _new_names(decision: Document) -> dict[str, str]:
    names: dict[str, str] = {}
    for plan in decision.get("Plans") or ():
        fresh = [(node, alloc) for node, alloc in _rows(plan, "NodeAllocation") if _is_new(alloc)]
        fresh.sort(key=_placement_order)
        for _, alloc in fresh:
            names.setdefault(alloc["ID"], f"allocation-{_count(names, 'allocation')}")
        deployment = plan.get("Deployment")
        if deployment and not deployment.get("CreateIndex"):
            names.setdefault(deployment["ID"], f"deployment-{_count(names, 'deployment')}")
    for created in decision.get("CreatedEvals") or ():
        names.setdefault(created["ID"], f"evaluation-{_count(names, 'evaluation')}")
    return names


def _placement_order(row: tuple[str, Document]) -> tuple[str, ...]:
    node, alloc = row
    parts = (alloc.get(name) or "" for name in ("TaskGroup", "Name", "PreviousAllocation"))
    return (node, *parts)


def _count(names: dict[str, str], kind: str) -> int:
    return 1 + sum(name.startswith(kind) for name in names.values())


def _renamed(value: object, names: dict[str, str]) -> object:
    if isinstance(value, dict):
        return {_renamed(key, names): _renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


def _plan(plan: Document) -> Document:
    placed = list(_rows(plan, "NodeAllocation"))
    return {
        "Stops": _sorted(
            _some(alloc, ("ID", "DesiredDescription", "ClientStatus", "FollowupEvalID"))
            for _, alloc in _rows(plan, "NodeUpdate")
        ),
        "Updates": _sorted(_update(alloc) for _, alloc in placed if not _is_new(alloc)),
        "Placements": _sorted(_placement(node, alloc) for node, alloc in placed if _is_new(alloc)),
        "Preemptions": sorted(alloc["ID"] for _, alloc in _rows(plan, "NodePreemptions")),
        "Deployment": _deployment(plan.get("Deployment")),
        "DeploymentUpdates": _sorted(
            _some(one, ("DeploymentID", "Status", "StatusDescription"))
            for one in plan.get("DeploymentUpdates") or ()
        ),
        "Desired": _desired(plan.get("Annotations")),
    }


def _update(alloc: Document) -> Document:
    tracker = alloc.get("RescheduleTracker") or {}
    return {**_some(alloc, _UPDATED), "LastReschedule": tracker.get("LastReschedule") or ""}


def _placement(node: str, alloc: Document) -> Document:
    tracker = alloc.get("RescheduleTracker") or {}
    scores = [
        row
        for row in (alloc.get("Metrics") or {}).get("ScoreMetaData") or ()
        if row["NodeID"] == node
    ]
    return {
        **_some(alloc, ("TaskGroup", "Name", "PreviousAllocation", "JobVersion")),
        "Node": node,
        "Canary": bool((alloc.get("DeploymentStatus") or {}).get("Canary")),
        "Events": len(tracker.get("Events") or ()),
        "InDeployment": bool(alloc.get("DeploymentID")),
        "Scores": [
            {
                **{name: round(score, 9) for name, score in (row.get("Scores") or {}).items()},
                "": round(row.get("NormScore") or 0, 9),
            }
            for row in scores
        ],
    }


def _deployment(deployment: Document | None) -> Document:
    if not deployment:
        return {}
    return {
        **_some(deployment, ("ID", "JobVersion", "Status", "StatusDescription", "EvalPriority")),
        "TaskGroups": {
            name: {**_some(state, _ROLLOUT), "Canaries": len(state.get("PlacedCanaries") or ())}
            for name, state in (deployment.get("TaskGroups") or {}).items()
        },
    }


def _metric(metric: Document) -> Document:
    return {
        **_some(metric, _COUNTS),
        "Filtered": sum((metric.get("ConstraintFiltered") or {}).values()),
        "Exhausted": dict(metric.get("DimensionExhausted") or {}),
    }


def _desired(annotations: Document | None) -> Document:
    updates = (annotations or {}).get("DesiredTGUpdates") or {}
    counted = {
        group: {name: count for name, count in counts.items() if count}
        for group, counts in updates.items()
    }
    return {group: counts for group, counts in counted.items() if counts}


def _rows(plan: Document, name: str) -> Iterator[tuple[str, Document]]:
    for node, allocs in (plan.get(name) or {}).items():
        for alloc in allocs:
            yield node, alloc


def _is_new(alloc: Document) -> bool:
    return not alloc.get("CreateIndex")


def _some(source: Document, names: tuple[str, ...]) -> Document:
    return {name: source[name] for name in names if source.get(name) not in (None, "", 0, False)}


def _sorted(rows: Iterator[Document]) -> list[Document]:
    return sorted(rows, key=repr)
