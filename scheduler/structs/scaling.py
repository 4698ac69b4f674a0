"""What became of an attempt to change the count of a group, kept for people and autoscalers."""

from scheduler.structs.identity import DEFAULT_NAMESPACE, JobKey
from scheduler.structs.wire import Nanoseconds, Wire


class ScalingEvent(Wire, frozen=True):
    """A group was scaled, or whoever watches it says why it was not."""

    namespace: str = DEFAULT_NAMESPACE
    job_id: str = ""
    task_group: str = ""
    time: Nanoseconds = 0
    #: None: nothing was scaled, this is a note.
    count: int | None = None
    previous_count: int = 0
    message: str = ""
    #: The note is about something that went wrong.
    error: bool = False
    meta: dict[str, object] = {}
    #: What people call whoever asked; empty where nobody did, and in what older versions kept.
    actor: str = ""
    #: Empty when no evaluation was made.
    eval_id: str = ""
    create_index: int = 0

    @property
    def job_key(self) -> JobKey:
        """The job of the group."""
        return JobKey(self.namespace, self.job_id)
