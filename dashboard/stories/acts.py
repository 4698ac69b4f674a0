"""What people did to a rollout, told where it happened: promoted, paused, let go on, failed.

In: acts that a deployment remembers, phases in order. Out: phases with names and notes.
"""

from collections.abc import Sequence

from django.utils.translation import gettext, gettext_noop
from msgspec.structs import replace

from dashboard.stories.phase import RolloutPhase
from dashboard.wording import clock_time
from scheduler.structs.deployment import Deployment, DeploymentStatus, RolloutAct, RolloutVerb

#: In the words of a note; what has a phase of its own is told there.
_NOTED = {RolloutVerb.PAUSED: "paused", RolloutVerb.RESUMED: gettext_noop("went on")}


def act_of(deployment: Deployment, verb: RolloutVerb) -> RolloutAct | None:
    """The first act of this kind."""
    return next((act for act in deployment.acts if act.verb is verb), None)


def held_by(deployment: Deployment) -> RolloutAct | None:
    """Who holds it, while it is paused."""
    if deployment.status is not DeploymentStatus.PAUSED or not deployment.acts:
        return None
    last = deployment.acts[-1]
    return last if last.verb is RolloutVerb.PAUSED else None


def as_of(deployment: Deployment, index: int) -> Deployment:
    """With the acts that had happened by then, and paused where it was."""
    acts = tuple(act for act in deployment.acts if act.index <= index)
    known = replace(deployment, acts=acts)
    holds = [act.verb for act in acts if act.verb in _NOTED]
    if deployment.is_active and holds and holds[-1] is RolloutVerb.PAUSED:
        return replace(known, status=DeploymentStatus.PAUSED)
    return known


def with_acts(phases: Sequence[RolloutPhase], deployment: Deployment) -> list[RolloutPhase]:
    """Each pause and its end noted in the last phase that had begun by then."""
    noted = list(phases)
    for act in deployment.acts:
        if act.verb not in _NOTED or not noted:
            continue
        begun = [
            place
            for place, phase in enumerate(noted)
            if not phase.is_to_come and phase.since <= act.index
        ]
        place = begun[-1] if begun else 0
        note = f"{told(act)} {clock_time(act.at)}"
        noted[place] = replace(noted[place], notes=(*noted[place].notes, note))
    return noted


def told(act: RolloutAct) -> str:
    """`paused by kim`."""
    word = gettext(_NOTED.get(act.verb, act.verb.value))
    return gettext("{word} by {by}").format(word=word, by=act.by) if act.by else word
