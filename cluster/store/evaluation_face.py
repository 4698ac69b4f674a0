"""One of the many evaluations of a story, as its columns tell it."""

from typing import NamedTuple


class EvaluationFace(NamedTuple):
    """What is told of one of the many evaluations of a story."""

    id: str
    namespace: str
    job_id: str
    triggered_by: str
    status: str
    previous_eval: str
    create_index: int
    modify_index: int
    #: To the microsecond, ns.
    create_time: int
    modify_time: int
    #: What made it, and which one of them: of a loss and a drain a node.
    cause_kind: str = ""
    cause_id: str = ""
    #: Only its stub is left.
    is_stub: bool = False
