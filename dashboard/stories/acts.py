"""What people did to a rollout, told where it happened: promoted, paused, let go on, failed.

In: acts that a deployment remembers, phases in order. Out: phases with names and notes.
"""

from collections.abc import Sequence

from django.utils.translation import gettext
from msgspec.structs import replace

from dashboard.stories.phase import RolloutPhase
from dashboard.wording import clock_time
from scheduler.structs.deployment import Deployment, DeploymentStatus, RolloutAct, RolloutVerb

#: What is noted in a phase; the others have a phase of their own.
_NOTED = frozenset({RolloutVerb.PAUSED, RolloutVerb.RESUMED})


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
        note = note_of(act)
        noted[place] = replace(noted[place], notes=(*noted[place].notes, note))
    return noted


def note_of(act: RolloutAct) -> str:
    """The act as a sentence: `Paused by kim at 14:40:10.`."""
    told = {
        RolloutVerb.PROMOTED: (
            gettext("Promoted by {by} at {time}."), gettext("Promoted at {time}."),
        ),
        RolloutVerb.PAUSED: (gettext("Paused by {by} at {time}."), gettext("Paused at {time}.")),
        RolloutVerb.RESUMED: (
            gettext("Let go on by {by} at {time}."), gettext("Let go on at {time}."),
        ),
        RolloutVerb.FAILED: (gettext("Failed by {by} at {time}."), gettext("Failed at {time}.")),
    }[act.verb]  # fmt: skip
    return told[0 if act.by else 1].format(by=act.by, time=clock_time(act.at))
