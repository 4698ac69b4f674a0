from enum import StrEnum

import pytest

from scheduler.errors import IllegalTransition
from scheduler.structs import transitions
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.transitions import Law

LAWS = [
    pytest.param(transitions.EVALUATION, id="evaluation"),
    pytest.param(transitions.DEPLOYMENT, id="deployment"),
    pytest.param(transitions.NODE, id="node"),
    pytest.param(transitions.DESIRED, id="desired"),
    pytest.param(transitions.CLIENT, id="client"),
]


@pytest.mark.parametrize("law", LAWS)
def test_every_status_has_its_law_and_is_at_most_one_step_from_a_beginning(
    law: Law[object, StrEnum],
) -> None:
    every = set(type(next(iter(law.births))))
    assert set(law.follows) == every
    reached = law.births.union(*(law.follows[birth] for birth in law.births))
    assert reached == every


def test_a_failed_evaluation_stays_failed() -> None:
    failed = Evaluation(id="e", status=EvalStatus.FAILED)
    transitions.EVALUATION.require(failed, failed)
    with pytest.raises(IllegalTransition, match="e is failed and may not become complete"):
        transitions.EVALUATION.require(failed, failed.changed(status=EvalStatus.COMPLETE))


def test_an_ended_deployment_stays_ended() -> None:
    paused, running, ended = (
        Deployment(id="d", status=status)
        for status in (
            DeploymentStatus.PAUSED,
            DeploymentStatus.RUNNING,
            DeploymentStatus.SUCCESSFUL,
        )
    )
    transitions.DEPLOYMENT.require(paused, running)
    with pytest.raises(IllegalTransition, match="d is successful and may not become running"):
        transitions.DEPLOYMENT.require(ended, running)
