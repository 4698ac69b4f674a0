"""Rules of the engine and a way to break each: the text that states it, and what to put instead.

By file under `scheduler/engine`. Each text stands exactly once in its file.
"""

from dataclasses import dataclass

#: Draws the rules that one run of the check breaks.
SEED = 20_251_121
DRAWN = 20


@dataclass(frozen=True)
class Rule:
    """One rule and its opposite."""

    file: str
    text: str
    broken: str


#: Tests that must notice, by folder; whatever is not here is noticed by the whole engine's tests.
TESTS_OF = {
    "reconcile": (
        "scheduler/engine/reconcile",
        "scheduler/engine/test_generic.py",
        "scheduler/engine/test_generic_lost.py",
        "scheduler/engine/test_generic_reschedule.py",
    ),
    "feasibility": ("scheduler/engine/feasibility", "scheduler/engine/test_stack.py"),
    "measure": ("scheduler/engine/measure", "scheduler/engine/feasibility"),
    "rank": ("scheduler/engine/rank", "scheduler/engine/test_stack.py"),
    "plan": ("scheduler/engine/plan",),
}
EVERYTHING = ("scheduler/engine",)

_TEXTS: dict[str, list[tuple[str, str]]] = {
    "reconcile/buckets.py": [
        ("if not reconnects and alloc.is_terminal:", "if reconnects and alloc.is_terminal:"),
        ("if is_canary(alloc) and alloc.desired_transition.migrate:", "if is_canary(alloc):"),
        ("    if alloc.client_status is ClientStatus.PENDING:", "    if False:"),
        ("    if node.status is not NodeStatus.DOWN:", "    if node.status is NodeStatus.DOWN:"),
        ("if not replace_on_disconnect(", "if replace_on_disconnect("),
    ],
    "reconcile/reschedule.py": [
        ("if alloc.next_allocation and alloc.is_terminal:", "if alloc.next_allocation:"),
        ("    if wish.migrate_disable_placement:", "    if False:"),
        ("and not alloc.desired_transition.reschedule\n", "\n"),
        ("at - situation.now <= _DUE_TOLERANCE", "at - situation.now <= 0"),
        ("at if not alloc.followup_eval_id else 0", "at"),
        ("(policy.attempts or policy.unlimited)", "policy.attempts"),
        ("< policy.attempts\n", "<= policy.attempts\n"),
        ("and delay < policy.interval", "and delay <= policy.interval"),
        ("failed_at + delay if is_eligible", "failed_at if is_eligible"),
        ("if not 0 < policy.max_delay < delay:", "if True:"),
        ("return newest if was_just_reset else before + newest", "return before + newest"),
        ("if len(events) < 2:", "if len(events) < 3:"),
        (">= _FOLLOW_UP_WINDOW", "> _FOLLOW_UP_WINDOW"),
    ],
    "reconcile/rollout.py": [
        ("if job is None or job.stop:", "if job is None:"),
        ("    if not deployment.is_active:", "    if deployment.is_active:"),
        (
            "if update is None or update.max_parallel == 0:\n        return GroupRollout",
            "if update is None:\n        return GroupRollout",
        ),
        ("and len(work.canaries) < update.canary", "and len(work.canaries) <= update.canary"),
        ("and not work.state.promoted\n", "\n"),
        ("if work.rollout.is_paused or work.rollout.has_failed:", "if work.rollout.has_failed:"),
        ("if not work.destructive and not work.migrate:", "if not work.destructive:"),
        ("if any(is_unhealthy(alloc) for alloc in members):", "if False:"),
        ("sum(not is_healthy(alloc) for alloc in members)", "0"),
        ("if had_running and not is_updating:", "if had_running:"),
        ("is_promoted = state.promoted or state.desired_canaries == 0", "is_promoted = True"),
        ("state.healthy_allocs >= max(", "state.healthy_allocs > max("),
    ],
    "reconcile/history.py": [
        ('state.state == "dead" and not state.failed', 'state.state == "dead"'),
        ('not in ("", "ok")', 'not in ("",)'),
        ("began + lost_after(origin) <= now", "began + lost_after(origin) < now"),
        ("return finished or alloc.modify_time", "return alloc.modify_time"),
        ("if state.restarts > 0 else", "if state.restarts > 1 else"),
        ("max(_DEFAULT_KILL_TIMEOUT, kill)", "kill"),
    ],
    "reconcile/placements.py": [
        ("if held >= wanted:", "if held > wanted:"),
        ("return limit - min(len(found), limit)", "return limit"),
        ("min(len(work.destructive), limit) if work.may_place else 0", "len(work.destructive)"),
        ("work.is_canarying and not is_canary(alloc)", "work.is_canarying"),
    ],
    "reconcile/group_work.py": [
        (
            "self.state.desired_canaries > 0 and not self.state.promoted",
            "self.state.desired_canaries > 0",
        ),
        ("self.rollout.is_paused or self.rollout.has_failed or", "self.rollout.has_failed or"),
    ],
    "reconcile/node_rollout.py": [
        ('and update.strategy == "stagger"', ""),
        ("if has_version and not has_updates:", "if has_version:"),
        ("(version == _OLDEST_AGENT and bool(prerelease))", "False"),
    ],
    "reconcile/stops.py": [
        ("    if excess <= 0:", "    if excess < 0:"),
        ("sum(not _is_unknown(alloc)", "sum(True or not _is_unknown(alloc)"),
    ],
    "feasibility/distinct_hosts.py": [
        ("self._counts > 0", "self._counts > 1"),
        ("first.r_target not in FALSE_TEXTS", "True"),
    ],
    "feasibility/distinct_property.py": [
        ("used >= allowed", "used > allowed"),
        ("yield RefusedRows(codes < 0,", "yield RefusedRows(codes < -1,"),
        ("int(self._wanted or 1)", "int(self._wanted or 2)"),
    ],
    "feasibility/drivers.py": [
        ("reported.detected and reported.healthy", "reported.detected"),
    ],
    "feasibility/networks.py": [
        ('or "host"\n        if mode', 'or "none"\n        if mode'),
        (
            "compare_versions(version, _FIRST_WITH_BRIDGE) < 0",
            "compare_versions(version, _FIRST_WITH_BRIDGE) <= 0",
        ),
    ],
    "feasibility/volumes.py": [
        ("        if self._ask.sticky:", "        if False:"),
        ("return self._ask.read_only or what == _READ_WRITE", "return True"),
        ("    if not volume.per_alloc:", "    if True:"),
    ],
    "feasibility/devices.py": [
        ("taken = min(wanted, count)", "taken = wanted"),
    ],
    "feasibility/readiness.py": [
        ('if pool in {"", ALL_NODE_POOLS}:', 'if pool in {""}:'),
    ],
    "feasibility/class_memo.py": [
        ("into.get(name, False) or is_eligible", "into.get(name, True) and is_eligible"),
    ],
    "measure/fit.py": [
        ("0 < node.node_max_allocs < alloc_count", "0 < node.node_max_allocs <= alloc_count"),
        ("if use.cpu > cpu:", "if use.cpu >= cpu:"),
        ("if use.memory_mb > memory_mb:", "if use.memory_mb >= memory_mb:"),
        ("if use.disk_mb > disk_mb else", "if use.disk_mb >= disk_mb else"),
        ("if usable and not taken <= usable:", "if False:"),
        ("if not taken.isdisjoint(use.cores):", "if False:"),
        ("        if instance in seen:", "        if False:"),
    ],
    "measure/operands.py": [
        ('(left or "") != (right or "")', "left is not None and left != right"),
    ],
    "rank/binpack.py": [
        (
            "if algorithm == SchedulerAlgorithm.SPREAD else _FULL - free\n    scores",
            "if not algorithm else _FULL - free\n    scores",
        ),
        ("min(max(raw, 0.0), _LARGEST)", "max(raw, 0.0)"),
    ],
    "rank/spread.py": [
        ("(combined.get(key, 0) + 1)", "combined.get(key, 0)"),
        ("if 0 < total < count - _NEGLIGIBLE:", "if 0 < total < count:"),
        (
            "return -1.0 if least == 0 else (least - used) / least",
            "return (least - used) / max(least, 1)",
        ),
        ("return 1.0 if least == 0 else (most - least) / least", "return 1.0"),
    ],
    "rank/victim.py": [
        ("self.evicted_before + 1 - self.max_parallel", "self.evicted_before - self.max_parallel"),
        ("self.evicted_before >= self.max_parallel", "self.evicted_before > self.max_parallel"),
        ("if a > 0 else 0.0", "if a > 1e12 else 0.0"),
        ("if candidate.is_evictable]", "]"),
    ],
    "rank/evict_resources.py": [
        (" + item.penalty", ""),
        ("        if remaining.covers(ask):", "        if False:"),
    ],
    "rank/evict_networks.py": [
        ("if bandwidth.total < ask.mbits:", "if False:"),
        ("if holder is None and port.value in blocked:", "if False:"),
    ],
    "rank/evict_devices.py": [
        ("rating < best[0]", "rating > best[0]"),
        (
            "if free + sum(user.held for user in taken) >= wanted:",
            "if sum(user.held for user in taken) >= wanted:",
        ),
    ],
    "rank/ranking.py": [
        ("_PENALTY if is_penalised else None", "None"),
        ("if score is None:", "if not score:"),
    ],
    "rank/room.py": [
        ("table.alloc_count + 1 > table.max_allocs", "table.alloc_count > table.max_allocs"),
        ("self.dimension[self.memory_after > table.memory_capacity] = 2", "pass"),
    ],
    "plan/evaluate.py": [
        ("            if plan.all_at_once:\n", "            if False:\n"),
        ("    if node.status is not NodeStatus.READY:", "    if False:"),
        ("if len(set(claims)) == len(claims):", "if True:"),
        ("if rejected and deployment is not None:", "if False:"),
    ],
    "generic.py": [
        ("if not run.evaluation.wait_until:", "if True:"),
        ("_SERVICE_ATTEMPTS = 5", "_SERVICE_ATTEMPTS = 4"),
        ("if run.is_blocked and run.failed:", "if False:"),
    ],
    "run.py": [
        (
            "        if not node_id:\n            self.blocked_eval = blocked.id",
            "        self.blocked_eval = blocked.id",
        ),
        ("        if self.next_eval:\n            return\n", ""),
    ],
    "placing.py": [
        (
            "coalesced_failures=metric.coalesced_failures + 1",
            "coalesced_failures=metric.coalesced_failures",
        ),
        ("if previous.client_status is ClientStatus.FAILED:", "if False:"),
        ("if node is not None and node.is_ready else ()", 'if node is not None else ("gone",)'),
    ],
    "system_placing.py": [
        ("            if not entry.is_canary:\n", "            if True:\n"),
        ("attempt.queued[name] -= 1", "pass"),
    ],
}

RULES = tuple(Rule(file, text, broken) for file, texts in _TEXTS.items() for text, broken in texts)
