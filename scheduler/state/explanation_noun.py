"""The noun of explanations: why nodes were chosen or not, for one run and one group.

In: its struct. Out: its declaration, which `nouns` takes into its list with all others.
"""

from scheduler.state.events import Topic
from scheduler.state.noun import Index, Noun, Owner
from scheduler.structs.explanation import StoredExplanation

#: By evaluation and task group.
EXPLANATIONS: Noun[tuple[str, str], StoredExplanation] = Noun(
    struct=StoredExplanation,
    topic=Topic.EXPLANATION,
    table="explanation",
    key=lambda item: (item.eval_id, item.task_group),
    key_columns=("eval_id", "task_group"),
    columns={
        "namespace": lambda item: item.namespace,
        "job_id": lambda item: item.job_id,
        "stored_index": lambda item: item.index,
        "job_version": lambda item: item.job_version,
        "ended": lambda item: int(item.ended),
        "size": lambda item: len(item.packed),
    },
    indexes={
        "eval": Index(lambda item: item.eval_id, ("eval_id",)),
        "job": Index(lambda item: item.job_key, ("namespace", "job_id")),
    },
    namespace=lambda item: item.namespace,
    owner=Owner(Topic.EVALUATION, "eval"),
)
