"""What an evaluation is linked to: rows 64 and 65 of evaluations.md 17."""

import pytest

from cluster.api.evaluations import relatives
from scheduler.state.events import WriteKind
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.evaluation import Evaluation
from tests.builders import make_evaluation


def id_of(number: int) -> str:
    return make_evaluation(number).id


#: Each with the one before, the one after, and the one that waits for room.
CHAIN = [
    make_evaluation(1, next_eval=id_of(2)),
    make_evaluation(2, previous_eval=id_of(1), next_eval=id_of(3)),
    make_evaluation(3, previous_eval=id_of(2), next_eval=id_of(5), blocked_eval=id_of(4)),
    make_evaluation(4, previous_eval=id_of(3), next_eval=id_of(6)),
    make_evaluation(5, previous_eval=id_of(3)),
    make_evaluation(6, previous_eval=id_of(4)),
]
OTHER = make_evaluation(8)
WIDOWED = make_evaluation(7, previous_eval=id_of(99))


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        pytest.param(CHAIN[0], [2, 3, 5, 4, 6], id="64-from-its-beginning"),
        pytest.param(CHAIN[3], [6, 3, 5, 2, 1], id="64-from-its-middle"),
        pytest.param(CHAIN[2], [5, 2, 4, 1, 6], id="64-nearest-first"),
        pytest.param(WIDOWED, [], id="65-linked-to-one-that-is-gone"),
    ],
)
def test_relatives_are_found_step_by_step(start: Evaluation, expected: list[int]) -> None:
    store = MemoryStateStore()

    def put(change) -> None:
        for evaluation in (*CHAIN, OTHER, WIDOWED):
            change.put_evaluation(evaluation)

    store.write(WriteKind.EVALUATION_UPDATED, put, now=1)
    assert [found.id for found in relatives(store, start)] == [id_of(n) for n in expected]
