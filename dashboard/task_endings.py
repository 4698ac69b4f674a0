"""How a task ended, in a few words: `exit code 137`, `out of memory`, `by signal 9`."""

from django.utils.translation import gettext

from scheduler.structs.allocation import TaskEvent, TaskState

#: The type of the event that a task's end is.
TERMINATED = "Terminated"


def ending_of(state: TaskState) -> str:
    """Its last end; empty where none is kept."""
    ended = next((each for each in reversed(state.events) if each.type == TERMINATED), None)
    return code_of(ended) if ended is not None else ""


def code_of(ended: TaskEvent) -> str:
    """The same of the event itself."""
    if ended.details.get("oom_killed") == "true":
        return gettext("out of memory")
    signal = ended.details.get("signal", "0")
    if signal not in {"", "0"}:
        return gettext("by signal {signal}").format(signal=signal)
    if "exit_code" in ended.details:
        return gettext("exit code {code}").format(code=ended.details["exit_code"])
    return ended.display_message or ended.message
