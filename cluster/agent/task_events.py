"""The lines of a task's history: type, the sentence people read, details (node-agent.md 6.1)."""

from cluster.agent.restarts import Ending
from cluster.jobspec.durations import duration_text
from scheduler.structs.allocation import TaskEvent
from scheduler.structs.wire import Duration

KEPT = 10
DOWNLOADING = "Downloading Artifacts"
FAILED_DOWNLOAD = "Failed Artifact Download"
HOOK_FAILED = "Task hook failed"
_MIB = 1024 * 1024


def event(kind: str, now: int, text: str, **details: str) -> TaskEvent:
    """One line; empty details are left out."""
    return TaskEvent(
        type=kind,
        time=now,
        display_message=text,
        details={key: value for key, value in details.items() if value},
    )


def received(now: int) -> TaskEvent:
    """The agent took the task in."""
    return event("Received", now, "Task received by client")


def setting_up(now: int) -> TaskEvent:
    """Directories are about to be made."""
    text = "Building Task Directory"
    return TaskEvent(
        type="Task Setup",
        time=now,
        message=text,
        display_message=text,
        details={"message": text},
    )


#: The data of the allocation before comes from another node.
MIGRATING = "Migrating Disk"


def downloading(now: int, received: int = 0, expected: int = 0) -> TaskEvent:
    """Its artifacts are fetched; how far that is, in bytes, once anything came."""
    if not received:
        return event(DOWNLOADING, now, "Client is downloading artifacts")
    of = f" of {expected / _MIB:.1f}" if expected else ""
    return event(
        DOWNLOADING, now, f"Client is downloading artifacts: {received / _MIB:.1f}{of} MiB so far"
    )


def of_driver(now: int, sentence: str) -> TaskEvent:
    """What the driver has to say of a start that takes long."""
    return event("Driver", now, sentence)


def missing_for_templates(now: int, sentence: str) -> TaskEvent:
    """Its templates wait for what the cluster does not have yet."""
    return event("Template", now, sentence)


def setup_failure(now: int, error: str) -> TaskEvent:
    """The allocation's directories or network could not be made."""
    return event(
        "Setup Failure",
        now,
        f"failed to setup alloc: {error}",
        setup_error=error,
        fails_task="true",
    )


def start_failure(now: int, ending: Ending) -> TaskEvent:
    """The task could not be started: a download, bad driver options, or the driver's refusal."""
    if ending.failed_download:
        return event(FAILED_DOWNLOAD, now, ending.start_error, download_error=ending.start_error)
    if ending.failed_hook:
        return hook_failed(now, ending.start_error)
    if ending.invalid_config:
        return event(
            "Failed Validation", now, ending.start_error, validation_error=ending.start_error
        )
    return event(
        "Driver Failure",
        now,
        ending.start_error or "Failed to start task",
        driver_error=ending.start_error,
    )


def hook_failed(now: int, text: str) -> TaskEvent:
    """What comes before the driver, or beside it, has failed."""
    return TaskEvent(
        type=HOOK_FAILED,
        time=now,
        message=text,
        display_message=text,
        details={"message": text},
    )


def started(now: int) -> TaskEvent:
    """The process runs."""
    return event("Started", now, "Task started by client")


def terminated(now: int, ending: Ending) -> TaskEvent:
    """The process ended."""
    text = f"Exit Code: {ending.exit_code}"
    if ending.signal:
        text += f", Signal: {ending.signal}"
    if ending.message:
        text += f', Exit Message: "{ending.message}"'
    return event(
        "Terminated",
        now,
        text,
        exit_code=str(ending.exit_code),
        signal=str(ending.signal),
        oom_killed="true" if ending.oom_killed else "false",
        exit_message=ending.message,
    )


def restarting(now: int, delay: Duration, reason: str) -> TaskEvent:
    """It will run again after the delay."""
    text = f"Task restarting in {duration_text(delay)}"
    return event(
        "Restarting",
        now,
        f"{reason} - {text}" if reason else text,
        restart_reason=reason or "Restart within policy",
        start_delay=str(delay),
    )


def not_restarting(now: int, reason: str) -> TaskEvent:
    """It has failed for good on this node."""
    text = reason or "Task exceeded restart policy"
    return event("Not Restarting", now, text, restart_reason=text, fails_task="true")


def restart_signaled(now: int, reason: str) -> TaskEvent:
    """Someone wants it restarted."""
    text = reason or "Task signaled to restart"
    return event("Restart Signaled", now, text, restart_reason=reason)


def signaling(now: int, signal: str, reason: str = "") -> TaskEvent:
    """A signal is on its way; without a reason it is an operator's."""
    if not reason:
        return event("Signaling", now, "Task being sent a signal", signal=signal)
    text = f"Task being sent signal {signal}: {reason}"
    return event("Signaling", now, text, task_signal=signal, task_signal_reason=reason)


def killing(now: int, timeout: Duration, reason: str = "") -> TaskEvent:
    """It is being stopped."""
    span = duration_text(timeout)
    text = reason or f"Sent interrupt. Waiting {span} before force killing"
    return event("Killing", now, text, kill_timeout=span, kill_reason=reason)


def killed(now: int, error: str = "") -> TaskEvent:
    """A running process was stopped."""
    return event("Killed", now, error or "Task successfully killed", kill_error=error)


def sibling_failed(now: int, sibling: str) -> TaskEvent:
    """Another task of the allocation failed."""
    text = f'Task\'s sibling "{sibling}" failed'
    return event("Sibling Task Failed", now, text, failed_sibling=sibling)


def leader_dead(now: int) -> TaskEvent:
    """The group's leader ended."""
    return event("Leader Task Dead", now, "Leader Task in Group dead")


def main_tasks_dead(now: int) -> TaskEvent:
    """Only sidecars are left."""
    return event("Main Tasks Dead", now, "Main tasks in the group died")


def shutdown_delay(now: int, delay: Duration, *, skipped: bool) -> TaskEvent:
    """The kill waits, so that nobody sends the task new work; or it does not."""
    span = duration_text(delay)
    if skipped:
        return event(
            "Skipping shutdown delay",
            now,
            f"Skipping shutdown_delay of {span} before killing the task.",
        )
    return event(
        "Waiting for shutdown delay",
        now,
        f"Waiting for shutdown_delay of {span} before killing the task.",
    )


def withdrawn(now: int, delay: Duration) -> TaskEvent:
    """A restart of all tasks waits, so that nobody sends requests to its group's services."""
    return event(
        "Waiting for shutdown delay",
        now,
        f"Waiting for shutdown_delay of {duration_text(delay)} before all tasks are restarted.",
    )


def failed_restoring(now: int) -> TaskEvent:
    """The process was not found again after a restart of the agent."""
    return event(
        "Failed Restoring Task",
        now,
        "failed to restore task; will not run until server is contacted",
    )


def reconnected(now: int) -> TaskEvent:
    """The node came back in time for its allocation to go on."""
    return event("Reconnected", now, "Client reconnected")


def alloc_unhealthy(now: int, reason: str) -> TaskEvent:
    """Why the deployment counts this allocation as unhealthy."""
    return TaskEvent(
        type="Alloc Unhealthy",
        time=now,
        message=reason,
        display_message=reason,
        details={"message": reason},
    )
