"""Rules for the policies of a group: update, restart, reschedule, migrate, disconnect, scaling.

In: one policy. Out: what is wrong with it, worded as the API words it.
"""

from cluster.jobspec.durations import duration_text
from cluster.jobspec.findings import Findings
from cluster.jobspec.quoting import quoted
from scheduler.structs.job import Job, JobType
from scheduler.structs.policies import (
    SECOND,
    DisconnectStrategy,
    MigrateStrategy,
    ReconcileChoice,
    ReschedulePolicy,
    RestartPolicy,
    UpdateStrategy,
)
from scheduler.structs.task_group import ScalingPolicy

_HEALTH_CHECKS = ("checks", "task_states", "manual")
_SHORTEST_DELAY = 5 * SECOND
_SHORTEST_INTERVAL = 15 * SECOND
#: After so many doublings every delay has become the same.
_COUNTED_DOUBLINGS = 200


def check_update(job: Job, update: UpdateStrategy, findings: Findings) -> None:
    """Add the faults of an update policy."""
    if update.health_check not in _HEALTH_CHECKS:
        text = f"Invalid health check given: {quoted(update.health_check)}"
        findings.add(text, "Update.HealthCheck")
    if update.max_parallel < 0:
        text = f"Max parallel can not be less than zero: {update.max_parallel} < 0"
        findings.add(text, "Update.MaxParallel")
    if update.canary < 0:
        text = f"Canary count can not be less than zero: {update.canary} < 0"
        findings.add(text, "Update.Canary")
    if update.canary == 0 and update.auto_promote:
        text = "Auto Promote requires a Canary count greater than zero"
        findings.add(text, "Update.AutoPromote")
    _check_update_times(update, findings)
    _check_update_strategy(job, update, findings)


def _check_update_times(update: UpdateStrategy, findings: Findings) -> None:
    healthy, deadline, progress = (
        update.min_healthy_time,
        update.healthy_deadline,
        update.progress_deadline,
    )
    if healthy < 0:
        text = f"Minimum healthy time may not be less than zero: {duration_text(healthy)}"
        findings.add(text, "Update.MinHealthyTime")
    if deadline <= 0:
        text = f"Healthy deadline must be greater than zero: {duration_text(deadline)}"
        findings.add(text, "Update.HealthyDeadline")
    if progress < 0:
        text = f"Progress deadline must be zero or greater: {duration_text(progress)}"
        findings.add(text, "Update.ProgressDeadline")
    if healthy >= deadline:
        text = "Minimum healthy time must be less than healthy deadline"
        findings.add(
            f"{text}: {duration_text(healthy)} > {duration_text(deadline)}",
            "Update.MinHealthyTime",
        )
    if progress != 0 and deadline >= progress:
        text = "Healthy deadline must be less than progress deadline"
        findings.add(
            f"{text}: {duration_text(deadline)} > {duration_text(progress)}",
            "Update.HealthyDeadline",
        )
    if update.stagger <= 0:
        text = f"Stagger must be greater than zero: {duration_text(update.stagger)}"
        findings.add(text, "Update.Stagger")


def _check_update_strategy(job: Job, update: UpdateStrategy, findings: Findings) -> None:
    if update.strategy not in ("", "deployment", "stagger"):
        text = f'Invalid update strategy "{update.strategy}"; must be "deployment" or "stagger"'
        findings.add(text, "Update.Strategy")
    if update.strategy == "stagger" and job.type != JobType.SYSTEM:
        text = 'Update strategy "stagger" can only be used with the "system" scheduler'
        findings.add(text, "Update.Strategy")
    if update.strategy == "stagger" and update.canary > 0:
        findings.add('Update strategy "stagger" does not allow canaries', "Update.Canary")


def check_restart(policy: RestartPolicy, findings: Findings) -> None:
    """Add the faults of a group's restart policy."""
    if policy.mode not in ("delay", "fail"):
        findings.add(f"Unsupported restart mode: {quoted(policy.mode)}", "RestartPolicy.Mode")
    if policy.attempts == 0 and policy.mode != "fail":
        text = f"Restart policy {quoted(policy.mode)} with 0 attempts is ambiguous"
        findings.add(text, "RestartPolicy.Attempts")
    if policy.interval < _SHORTEST_DELAY:
        text = f"Interval can not be less than 5s (got {duration_text(policy.interval)})"
        findings.add(text, "RestartPolicy.Interval")
    if _wrapped(policy.attempts * policy.delay) > policy.interval:
        interval, delay = duration_text(policy.interval), duration_text(policy.delay)
        text = (
            f"Nomad can't restart the TaskGroup {policy.attempts} times in an "
            f"interval of {interval}"
        )
        findings.add(f"{text} with a delay of {delay}", "RestartPolicy")


def check_reschedule(policy: ReschedulePolicy, findings: Findings) -> None:
    """Add the faults of a reschedule policy; one that never reschedules has none."""
    if policy.attempts <= 0 and not policy.unlimited:
        return
    if policy.attempts > 0:
        if policy.interval <= 0:
            text = "Interval must be a non zero value if Attempts > 0"
            findings.add(text, "ReschedulePolicy.Interval")
        if policy.unlimited:
            text = f"Reschedule Policy with Attempts = {policy.attempts}"
            text += (
                f", Interval = {duration_text(policy.interval)}, and Unlimited = true is ambiguous"
            )
            findings.add(text, "ReschedulePolicy.Unlimited")
            text = "If Attempts >0, Unlimited cannot also be set to true"
            findings.add(text, "ReschedulePolicy.Unlimited")
    is_delayed_well = _check_reschedule_delay(policy, findings)
    if not policy.unlimited:
        _check_reschedule_attempts(policy, findings, is_delayed_well=is_delayed_well)


def _check_reschedule_delay(policy: ReschedulePolicy, findings: Findings) -> bool:
    is_well = True
    if policy.delay < _SHORTEST_DELAY:
        text = f"Delay cannot be less than 5s (got {duration_text(policy.delay)})"
        findings.add(text, "ReschedulePolicy.Delay")
        is_well = False
    if policy.delay_function not in ("constant", "exponential", "fibonacci"):
        text = f"Invalid delay function {quoted(policy.delay_function)}, must be one of"
        findings.add(
            f'{text} ["constant" "exponential" "fibonacci"]', "ReschedulePolicy.DelayFunction"
        )
        is_well = False
    if policy.delay_function != "constant":
        if policy.max_delay < _SHORTEST_DELAY:
            # The reference names the delay here, not the ceiling.
            text = f"Max Delay cannot be less than 5s (got {duration_text(policy.delay)})"
            findings.add(text, "ReschedulePolicy.MaxDelay")
            is_well = False
        if policy.max_delay < policy.delay:
            text = f"Max Delay cannot be less than Delay {duration_text(policy.delay)}"
            text += f" (got {duration_text(policy.max_delay)})"
            findings.add(text, "ReschedulePolicy.MaxDelay")
            is_well = False
    return is_well


def _check_reschedule_attempts(
    policy: ReschedulePolicy, findings: Findings, *, is_delayed_well: bool
) -> None:
    if policy.interval < _SHORTEST_INTERVAL:
        text = f"Interval cannot be less than 15s (got {duration_text(policy.interval)})"
        findings.add(text, "ReschedulePolicy.Interval")
    if not is_delayed_well:
        return
    possible, needed = _possible_attempts(policy)
    if possible is None:
        return
    text = f"Nomad can only make {possible} attempts in {duration_text(policy.interval)}"
    text += f" with initial delay {duration_text(policy.delay)}"
    if policy.delay_function == "constant":
        text += f' and delay function "{policy.delay_function}"'
    else:
        text += f', delay function "{policy.delay_function}"'
        text += f", and delay ceiling {duration_text(policy.max_delay)}"
    findings.add(text, "ReschedulePolicy")
    wanted = (
        f"Set the interval to at least {duration_text(_whole_seconds(needed))} to accommodate "
        f"{policy.attempts} attempts"
    )
    findings.add(wanted, "ReschedulePolicy.Interval")


def _possible_attempts(policy: ReschedulePolicy) -> tuple[int | None, int]:
    """How many attempts fit the interval, None if all do; and the interval all would need."""
    if policy.delay_function == "constant":
        needed = policy.attempts * policy.delay
        possible = max(0, policy.interval) // policy.delay
        return (possible if policy.interval < needed else None), needed
    if policy.delay_function == "exponential":
        return _exponential_attempts(policy)
    return _fibonacci_attempts(policy)


def _exponential_attempts(policy: ReschedulePolicy) -> tuple[int | None, int]:
    # Delays double in 64-bit arithmetic that wraps around, as in the system whose sentence this
    # is: far out every delay is 0 or negative, so the rest of the attempts is alike.
    possible = needed = delay = 0
    counted = min(policy.attempts, _COUNTED_DOUBLINGS)
    for doublings in range(counted):
        delay = _wrapped((1 << min(doublings, 63)) * policy.delay)
        if delay > policy.max_delay:
            needed = _wrapped(needed + policy.max_delay)
        else:
            needed = delay
        possible += needed < policy.interval
    possible += (policy.attempts - counted) * (needed < policy.interval)
    return (possible if possible < policy.attempts else None), needed


def _fibonacci_attempts(policy: ReschedulePolicy) -> tuple[int | None, int]:
    delays = [policy.delay, policy.delay]
    is_at_ceiling = False
    while len(delays) < policy.attempts and not is_at_ceiling:
        step = delays[-1] + delays[-2]
        is_at_ceiling = step > policy.max_delay
        delays.append(policy.max_delay if is_at_ceiling else step)
    # From the ceiling on, the reference adds the ceiling each time.
    steps_left = max(0, policy.attempts - len(delays))
    needed = delays[-1] + steps_left * policy.max_delay
    if policy.interval >= needed:
        return None, needed
    short = next((count for count, delay in enumerate(delays) if delay > policy.interval), None)
    if short is None:
        short = len(delays) + (policy.interval - delays[-1]) // policy.max_delay
    return short, needed


def _whole_seconds(span: int) -> int:
    return (span + SECOND // 2) // SECOND * SECOND


def _wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def check_migrate(migrate: MigrateStrategy, findings: Findings) -> None:
    """Add the faults of a migrate policy."""
    if migrate.max_parallel < 0:
        text = f"MaxParallel must be >= 0 but found {migrate.max_parallel}"
        findings.add(text, "Migrate.MaxParallel")
    if migrate.health_check not in ("checks", "task_states"):
        is_needed = migrate.health_check != "" or migrate.max_parallel > 0
        if is_needed:
            text = f"Invalid HealthCheck: {quoted(migrate.health_check)}"
            findings.add(
                text if migrate.health_check else "Missing HealthCheck", "Migrate.HealthCheck"
            )
    healthy, deadline = migrate.min_healthy_time, migrate.healthy_deadline
    if healthy < 0:
        text = f"MinHealthyTime is {duration_text(healthy)} and must be >= 0"
        findings.add(text, "Migrate.MinHealthyTime")
    if deadline < 0:
        text = f"HealthyDeadline is {duration_text(deadline)} and must be >= 0"
        findings.add(text, "Migrate.HealthyDeadline")
    if healthy > deadline:
        findings.add("MinHealthyTime must be less than HealthyDeadline", "Migrate.MinHealthyTime")


def check_disconnect(job: Job, disconnect: DisconnectStrategy, findings: Findings) -> None:
    """Add the faults of a disconnect policy."""
    stop_after = disconnect.stop_on_client_after
    if stop_after is not None:
        if stop_after < 0:
            text = "stop_after cannot be a negative duration"
            findings.add(text, "Disconnect.StopOnClientAfter")
        if job.type not in (JobType.SERVICE, JobType.BATCH):
            text = "stop_after can only be used with service or batch job types"
            findings.add(text, "Disconnect.StopOnClientAfter")
    if disconnect.lost_after < 0:
        findings.add("lost_after cannot be a negative duration", "Disconnect.LostAfter")
    if stop_after is not None and disconnect.lost_after != 0:
        text = "Disconnect cannot be configured with both lost_after and stop_after"
        findings.add(text, "Disconnect")
    if disconnect.reconcile not in ("", *ReconcileChoice):
        text = f"reconcile option is invalid: {disconnect.reconcile}"
        findings.add(text, "Disconnect.Reconcile")


def check_scaling(policy: ScalingPolicy, count: int, findings: Findings) -> None:
    """Add the faults of a group's scaling policy; -1 stands for a bound that was not given."""
    prefix = "Scaling policy invalid:"
    if policy.type != "horizontal":
        findings.add(f'{prefix} scaling policy type "{policy.type}" is not valid', "Type")
    else:
        for name in ("Namespace", "Job", "Group"):
            if not policy.target.get(name):
                findings.add(f"{prefix} missing target {name.lower()}", "Target")
    if policy.max < 0:
        findings.add(f"{prefix} maximum count must be specified and non-negative", "Max")
    elif policy.max < policy.min:
        findings.add(f"{prefix} maximum count must not be less than minimum count", "Max")
    if policy.min < 0:
        findings.add(f"{prefix} minimum count must be specified and non-negative", "Min")
    head = f"{prefix} task group count must not be"
    if count > policy.max:
        findings.add(f"{head} greater than maximum count in scaling policy", "Max")
    if count < policy.min:
        findings.add(f"{head} less than minimum count in scaling policy", "Min")
