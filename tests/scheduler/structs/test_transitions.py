from collections.abc import Mapping
from enum import StrEnum

import pytest

from scheduler.errors import IllegalTransition
from scheduler.structs import transitions
from scheduler.structs.deployment import DeploymentStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.transitions import is_legal, require_legal


@pytest.mark.parametrize(
    "law",
    [
        transitions.EVALUATION,
        transitions.DEPLOYMENT,
        transitions.NODE,
        transitions.DESIRED,
        transitions.CLIENT,
    ],
    ids=["evaluation", "deployment", "node", "desired", "client"],
)
def test_every_status_has_its_law_and_may_stay(law: Mapping[StrEnum, frozenset[StrEnum]]) -> None:
    assert set(law) == set(type(next(iter(law))))
    assert all(is_legal(law, status, status) for status in law)


def test_a_failed_evaluation_stays_failed() -> None:
    with pytest.raises(IllegalTransition, match="failed may not become complete"):
        require_legal(transitions.EVALUATION, EvalStatus.FAILED, EvalStatus.COMPLETE)


def test_an_ended_deployment_stays_ended() -> None:
    assert is_legal(transitions.DEPLOYMENT, DeploymentStatus.PAUSED, DeploymentStatus.RUNNING)
    assert not is_legal(
        transitions.DEPLOYMENT, DeploymentStatus.SUCCESSFUL, DeploymentStatus.RUNNING
    )
