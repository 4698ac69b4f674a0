"""Why a rollout ended before it was done, in words: what happened, and what became of its job.

In: how far a deployment is. Out: clauses without their end; an unknown description as it stands.
"""

import re

from django.utils.translation import gettext

from dashboard.rollouts import RolloutProgress
from dashboard.wording import count_of
from scheduler.state.writes.rollouts import LATE, MARKED_FAILED, UNHEALTHY
from scheduler.structs.deployment import Deployment, RolloutVerb

#: As plans write them; pages know nothing of the engine.
_NEWER_JOB, _STOPPED_JOB = (
    "Cancelled due to newer version of job",
    "Cancelled because job is stopped",
)
_WENT_BACK = re.compile(r"rolling back to job version (\d+)")
_SAME = re.compile(r"not rolling back to stable job version (\d+).*")
_NONE_STABLE = "no stable job version to auto revert to"


def why_ended(progress: RolloutProgress) -> str:
    """`2 allocations became unhealthy`; empty where nothing is known of it."""
    return _why(progress, _parts(progress.deployment)[0])


def what_followed(deployment: Deployment) -> str:
    """`v0 was stored again as the newest version`; empty where nothing is said of it."""
    said = _parts(deployment)[1]
    if found := _WENT_BACK.fullmatch(said):
        told = gettext("v{version} was stored again as the newest version")
        return told.format(version=found[1])
    if found := _SAME.fullmatch(said):
        told = gettext("nothing was brought back: the stable v{version} asks for the same")
        return told.format(version=found[1])
    if said == _NONE_STABLE:
        return gettext("nothing was brought back: no version is stable")
    return said


def _parts(deployment: Deployment) -> tuple[str, str]:
    """Why it ended and what became of the job, as the description has it."""
    why, _, followed = deployment.status_description.rstrip(".").partition(" - ")
    return why, followed


def _why(progress: RolloutProgress, said: str) -> str:
    if said == UNHEALTHY:
        bad = progress.unhealthy_count
        if not bad:
            return gettext("allocations became unhealthy")
        return count_of(
            bad, "{count} allocation became unhealthy", "{count} allocations became unhealthy"
        )
    if said == LATE:
        return gettext("no progress was made in time")
    if said == MARKED_FAILED:
        name = _failed_by(progress.deployment)
        return gettext("{name} failed it").format(name=name) if name else gettext("it was failed")
    if said == _NEWER_JOB:
        return gettext("a newer version took its place")
    if said == _STOPPED_JOB:
        return gettext("its job was stopped")
    return said


def _failed_by(deployment: Deployment) -> str:
    """Whoever failed it last; empty where that is not kept."""
    acts = (act for act in reversed(deployment.acts) if act.verb is RolloutVerb.FAILED)
    return next((act.by for act in acts), "")
