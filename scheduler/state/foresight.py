"""What is about to be looked at, so that who is far from the rows fetches them together.

In: a job, and what is going to happen to it. A hint and nothing more: what was not foreseen is
read when it is asked for, and what was foreseen in vain was read for nothing.
"""

from enum import Enum
from typing import NamedTuple

from scheduler.structs.identity import DEFAULT_NODE_POOL, JobKey


class JobAct(Enum):
    """What is going to happen to a job."""

    #: It is stored, with its evaluation.
    REGISTRATION = "registration"
    #: A run decides about it.
    RUN = "run"
    #: A plan of it is judged and committed.
    PLAN = "plan"


class Foresight(NamedTuple):
    """One act, and the names of what it looks at beside the job."""

    act: JobAct
    job: JobKey
    eval_id: str = ""
    #: Of a plan: the version that it places, by its incarnation and number.
    version: tuple[int, int] | None = None
    pool: str = DEFAULT_NODE_POOL
