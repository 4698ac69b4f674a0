"""Brings a decision of an evaluation into the one form in which decisions are compared.

In: a decision (capsule.md 2), with new ids of any kind. Out: the same in its canonical form
(capsule.md 3): ids by first appearance, lists without an order sorted, free choices left out.
"""

import datetime as dt
import json
from collections import Counter

INSTANTS = {"WaitUntil", "Time", "RequireProgressBy", "Timestamp"}
METRIC_COUNTS = ("NodesEvaluated", "NodesFiltered", "NodesExhausted", "CoalescedFailures")
METRIC_MAPS = ("ConstraintFiltered", "DimensionExhausted")
METRIC_MORE = ("NodesInPool", "NodePool", "NodesAvailable", "ClassFiltered", "ClassExhausted")
EVALUATION = (
    "ID", "Namespace", "Priority", "Type", "TriggeredBy", "JobID", "NodeID", "DeploymentID",
    "Status", "StatusDescription", "Wait", "WaitUntil", "NextEval", "PreviousEval",
    "BlockedEval", "ClassEligibility", "EscapedComputedClass", "QueuedAllocations",
)  # fmt: skip
EVALUATION_LINKS = ("DeploymentID", "NextEval", "PreviousEval", "BlockedEval")
DEPLOYMENT = (
    "ID", "JobID", "JobVersion", "Status", "StatusDescription", "EvalPriority", "CreateIndex",
)  # fmt: skip
DEPLOYMENT_GROUP = (
    "AutoRevert", "AutoPromote", "ProgressDeadline", "Promoted", "DesiredCanaries",
    "DesiredTotal", "PlacedAllocs", "HealthyAllocs", "UnhealthyAllocs",
)  # fmt: skip
ALLOCATION = (
    "ID", "Name", "TaskGroup", "DesiredStatus", "DesiredDescription", "ClientStatus",
    "FollowupEvalID", "PreviousAllocation", "DeploymentID", "PreemptedByAllocation",
    "CreateIndex",
)  # fmt: skip
STOP = ("ID", "DesiredDescription", "ClientStatus", "FollowupEvalID", "PreemptedByAllocation")


def nanoseconds(value):
    """An instant as integer nanoseconds; RFC 3339 text is accepted, the zero time is None."""
    if not isinstance(value, str):
        return value or None
    if value.startswith("0001-01-01T00:00:00"):
        return None
    head, _, tail = value.partition(".")
    digits = ""
    while tail and tail[0].isdigit():
        digits, tail = digits + tail[0], tail[1:]
    moment = dt.datetime.fromisoformat(
        (head if digits else value).removesuffix("Z") + (tail if digits else "").removesuffix("Z")
    )
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    whole = moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return (whole.days * 86_400 + whole.seconds) * 1_000_000_000 + int(
        digits.ljust(9, "0")[:9] or 0
    )


def is_empty(value):
    """Whether a value says no more than its absence."""
    return value in (None, "", 0, False) or (isinstance(value, list | dict) and not value)


def pick(source, fields):
    """The named fields that are not empty."""
    made = {}
    for name in fields:
        value = source.get(name)
        if name in INSTANTS:
            value = nanoseconds(value)
        if not is_empty(value):
            made[name] = value
    return made


def job_version(alloc):
    return (
        alloc["JobVersion"]
        if alloc.get("JobVersion") is not None
        else (alloc.get("Job") or {}).get("Version") or 0
    )


def is_new(entry):
    return not entry.get("CreateIndex")


def per_node(lists):
    """(node, allocation) pairs of a map node -> allocations."""
    return [(node, alloc) for node in sorted(lists or {}) for alloc in lists[node] or ()]


def new_names(decision):
    """Every ID the decision made up -> a name by first appearance.

    Placements by node, group and name, then deployments, then evaluations.
    """
    names, counts = {}, Counter()

    def give(ident, kind):
        if ident and ident not in names:
            counts[kind] += 1
            names[ident] = f"{kind}-{counts[kind]}"

    for plan in decision.get("Plans") or ():
        made = [
            (
                node,
                alloc.get("TaskGroup") or "",
                alloc.get("Name") or "",
                names.get(alloc.get("PreviousAllocation"), alloc.get("PreviousAllocation") or ""),
                alloc["ID"],
            )
            for node, alloc in per_node(plan.get("NodeAllocation"))
            if is_new(alloc)
        ]
        for entry in sorted(made):
            give(entry[-1], "allocation")
        deployment = plan.get("Deployment")
        if deployment and is_new(deployment):
            give(deployment["ID"], "deployment")
    for evaluation in decision.get("CreatedEvals") or ():
        give(evaluation["ID"], "evaluation")
    return names


def rename(value, names):
    if isinstance(value, str):
        if value in names:
            return names[value]
        words = value.split(" ")
        return (
            " ".join(names.get(word, word) for word in words)
            if names.keys() & set(words)
            else value
        )
    if isinstance(value, list):
        return [rename(entry, names) for entry in value]
    if isinstance(value, dict):
        return {names.get(key, key): rename(entry, names) for key, entry in value.items()}
    return value


def canonical_metrics(metrics):
    made = pick(metrics or {}, METRIC_COUNTS + METRIC_MAPS + METRIC_MORE)
    for name in METRIC_MAPS:
        kept = {key: count for key, count in (made.get(name) or {}).items() if count}
        made.pop(name, None)
        if kept:
            made[name] = kept
    return made


def canonical_updates(annotations):
    groups = (annotations or {}).get("DesiredTGUpdates") or {}
    made = {
        group: {key: count for key, count in (updates or {}).items() if count}
        for group, updates in groups.items()
    }
    made = {group: updates for group, updates in made.items() if updates}
    return {"DesiredTGUpdates": made} if made else None


def canonical_resources(resources):
    """What does not depend on a free choice: no instances, no cores or ports by number."""
    if not resources:
        return None
    tasks = {}
    for name, task in (resources.get("Tasks") or {}).items():
        cpu, memory = task.get("Cpu") or {}, task.get("Memory") or {}
        entry = {
            "Cpu": {"CpuShares": cpu.get("CpuShares") or 0},
            "Memory": {"MemoryMB": memory.get("MemoryMB") or 0},
        }
        cores = cpu.get("ReservedCores") or 0
        if cores:
            entry["Cpu"]["ReservedCores"] = cores if isinstance(cores, int) else len(cores)
        if memory.get("MemoryMaxMB"):
            entry["Memory"]["MemoryMaxMB"] = memory["MemoryMaxMB"]
        devices = [
            {
                **pick(one, ("Vendor", "Type", "Name")),
                "DeviceIDs": one["DeviceIDs"]
                if isinstance(one["DeviceIDs"], int)
                else len(one["DeviceIDs"]),
            }
            for one in task.get("Devices") or ()
        ]
        if devices:
            entry["Devices"] = sorted(devices, key=by_text)
        tasks[name] = entry
    shared = resources.get("Shared") or {}
    fixed = {
        port.get("Label")
        for network in shared.get("Networks") or ()
        for port in network.get("ReservedPorts") or ()
    }
    ports = []
    for port in shared.get("Ports") or ():
        entry = pick(port, ("Label", "HostIP"))
        value, to = port.get("Value") or 0, port.get("To") or 0
        if port.get("Label") in fixed:
            entry["Value"] = value
        entry["To"] = (
            "Value" if to and to in (value, "Value") and port.get("Label") not in fixed else to
        )
        ports.append({key: one for key, one in entry.items() if one})
    made = {"Tasks": tasks, "Shared": pick(shared, ("DiskMB",))}
    if ports:
        made["Shared"]["Ports"] = sorted(ports, key=by_text)
        made["Shared"]["Networks"] = (
            [{"ReservedPorts": [{"Label": label} for label in sorted(fixed)]}] if fixed else []
        )
    return made


def canonical_allocation(alloc, node):
    made = pick(alloc, ALLOCATION)
    made["JobVersion"] = job_version(alloc)
    status = alloc.get("DeploymentStatus") or {}
    kept = {
        key: status[key]
        for key in ("Canary", "Healthy")
        if status.get(key) is not None and (status[key] or key == "Healthy")
    }
    if kept:
        made["DeploymentStatus"] = kept
    tracker = alloc.get("RescheduleTracker")
    if tracker:
        made["RescheduleTracker"] = {
            **pick(tracker, ("LastReschedule",)),
            "Events": [
                pick(event, ("RescheduleTime", "PrevAllocID", "PrevNodeID", "Delay"))
                for event in tracker.get("Events") or ()
            ],
        }
    states = [
        {**pick(state, ("Value", "Time")), "Field": state.get("Field") or 0}
        for state in alloc.get("AllocStates") or ()
    ]
    if states:
        made["AllocStates"] = states
    if not is_new(alloc):
        return made
    if alloc.get("PreemptedAllocations"):
        made["PreemptedAllocations"] = sorted(alloc["PreemptedAllocations"])
    resources = canonical_resources(alloc.get("AllocatedResources"))
    if resources:
        made["AllocatedResources"] = resources
    rows = [
        {
            "NodeID": row["NodeID"],
            "Scores": row.get("Scores") or {},
            "NormScore": row.get("NormScore") or 0,
        }
        for row in (alloc.get("Metrics") or {}).get("ScoreMetaData") or ()
        if row["NodeID"] == node
    ]
    if rows:
        made["Metrics"] = {"ScoreMetaData": rows}
    return made


def canonical_classes(classes):
    """Computed classes have no common names: how many are eligible and how many are not."""
    if not classes or set(classes) <= {"eligible", "ineligible"}:
        return classes
    counts = Counter("eligible" if fits else "ineligible" for fits in classes.values())
    return {name: counts[name] for name in sorted(counts)}


def canonical_evaluation(evaluation, final=False):
    made = pick(
        {**evaluation, "ClassEligibility": canonical_classes(evaluation.get("ClassEligibility"))},
        EVALUATION,
    )
    if final:
        failed = {
            group: canonical_metrics(metrics)
            for group, metrics in (evaluation.get("FailedTGAllocs") or {}).items()
        }
        if failed:
            made["FailedTGAllocs"] = failed
        updates = canonical_updates(evaluation.get("PlanAnnotations"))
        if updates:
            made["PlanAnnotations"] = updates
    return made


def by_text(entry):
    return json.dumps(entry, sort_keys=True)


def by_name(entry):
    names = [entry.get(key, "") for key in ("TaskGroup", "Name", "PreviousAllocation")]
    return (*names, entry["ID"])


def canonical_plan(plan):
    def lists(source, make, key):
        made = {}
        for node, alloc in per_node(source):
            made.setdefault(node, []).append(make(alloc, node))
        return {node: sorted(entries, key=key) for node, entries in made.items()}

    made = {
        "NodeUpdate": lists(plan.get("NodeUpdate"), lambda alloc, _: pick(alloc, STOP), by_text),
        "NodeAllocation": lists(plan.get("NodeAllocation"), canonical_allocation, by_name),
        "NodePreemptions": lists(
            plan.get("NodePreemptions"),
            lambda alloc, _: pick(alloc, ("ID", "PreemptedByAllocation")),
            by_text,
        ),
    }
    deployment = plan.get("Deployment")
    if deployment:
        made["Deployment"] = pick(deployment, DEPLOYMENT)
        made["Deployment"]["TaskGroups"] = {}
        for group, state in (deployment.get("TaskGroups") or {}).items():
            entry = pick(state, DEPLOYMENT_GROUP)
            if state.get("PlacedCanaries"):
                entry["PlacedCanaries"] = sorted(state["PlacedCanaries"])
            made["Deployment"]["TaskGroups"][group] = entry
    if plan.get("DeploymentUpdates"):
        made["DeploymentUpdates"] = sorted(
            (
                pick(one, ("DeploymentID", "Status", "StatusDescription"))
                for one in plan["DeploymentUpdates"]
            ),
            key=by_text,
        )
    updates = canonical_updates(plan.get("Annotations"))
    if updates:
        made["Annotations"] = updates
    return {key: value for key, value in made.items() if value}


def canonical(decision):
    """The decision in its wire shape, without what may vary; idempotent.

    New IDs are renamed, lists without an order sorted.
    """
    if decision.get("Error"):
        return {"Name": decision.get("Name", ""), "Error": decision["Error"]}
    renamed = rename(
        {key: value for key, value in decision.items() if key != "Name"}, new_names(decision)
    )
    return {
        "Name": decision.get("Name", ""),
        "Plans": [canonical_plan(plan) for plan in renamed.get("Plans") or ()],
        "Evaluation": canonical_evaluation(renamed.get("Evaluation") or {}, final=True),
        "CreatedEvals": [canonical_evaluation(one) for one in renamed.get("CreatedEvals") or ()],
        "ReblockedEvals": [
            canonical_evaluation(one) for one in renamed.get("ReblockedEvals") or ()
        ],
    }
