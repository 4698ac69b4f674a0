"""What the server asks schedulers to do with allocations, and the evaluations that look at it."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from scheduler.ports import Change
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.structs.allocation import DesiredTransition
from scheduler.structs.evaluation import Evaluation


def mark_transitions(
    change: Change,
    transitions: Mapping[str, DesiredTransition],
    evaluations: Iterable[Evaluation] = (),
) -> tuple[Evaluation, ...]:
    """Merge transitions into allocations and store the evaluations; job statuses stay as they are.

    Only what a transition says is overwritten. Unknown allocations are passed over.
    """
    change.preload(allocs=transitions)
    for alloc_id, asked in transitions.items():
        alloc = change.allocation(alloc_id)
        if alloc is not None:
            change.put_allocation(
                alloc.changed(
                    desired_transition=_merged(alloc.desired_transition, asked),
                    modify_index=change.index,
                    alloc_modify_index=change.index,
                )
            )
    return write_evaluations(change, evaluations, recompute_jobs=False)


def _merged(stored: DesiredTransition, asked: DesiredTransition) -> DesiredTransition:
    said = {
        field: value
        for field in DesiredTransition.__struct_fields__
        if (value := getattr(asked, field)) is not None
    }
    return replace(stored, **said)
