"""What is left of rows that are collected."""

from scheduler.structs.evaluation import Evaluation


def evaluation_stub(evaluation: Evaluation) -> Evaluation:
    """What stays of a collected evaluation: who, when, why and its links, without explanations."""
    return evaluation.changed(
        failed_task_groups={},
        plan_annotations=None,
        class_eligibility={},
        queued_allocations={},
        missing_non_node_resources=(),
        nearest={},
    )
