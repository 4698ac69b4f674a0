"""What is said of rollouts: how one stands, what many come to, what each button would do.

In: how far deployments are, versions of their job. Out: words, made of counts. Knows no reader.
"""

from collections.abc import Sequence

from django.utils.translation import gettext, gettext_noop, ngettext

from dashboard.needs import is_stuck
from dashboard.phases import at_a_time
from dashboard.rollout_endings import what_followed, why_ended
from dashboard.rollouts import RolloutProgress, of_wanted
from dashboard.wording import count_of, number, one_of
from scheduler.state.writes.jobs import has_same_spec, version_to_go_back_to
from scheduler.structs.deployment import Deployment, DeploymentStatus, RolloutVerb
from scheduler.structs.job import Job

#: Rollouts named in a sentence; the rest is counted.
_NAMED = 3
#: In this order in the list: what needs a person, what moves, what rests.
_RANKS = ("stuck", "canary", "unhealthy", "waits", "running", "blocked", "pending", "paused")
_WORDS = {
    "stuck": gettext_noop("stuck"),
    "canary": gettext_noop("canaries wait"),
    "unhealthy": gettext_noop("unhealthy"),
}


def standing_of(progress: RolloutProgress, now: int, *, is_blocked: bool = False) -> str:
    """A key of the labels of deployments: the stored status, or what it means for people.

    `is_blocked`: an evaluation of its job waits for room.
    """
    deployment = progress.deployment
    if deployment.status is not DeploymentStatus.RUNNING:
        return deployment.status.value
    if is_stuck(progress, now):
        return "stuck"
    if progress.waiting:
        return "canary"
    if progress.unhealthy_count:
        return "unhealthy"
    return "waits" if is_blocked and progress.is_short else "running"


def standing_word(standing: str) -> str:
    """What stands beside the icon, where the label's own word does not say it."""
    return gettext(_WORDS.get(standing, ""))


def rank_of(standing: str) -> int:
    """The smaller, the sooner a person should look."""
    return _RANKS.index(standing) if standing in _RANKS else len(_RANKS)


def where_told(progress: RolloutProgress, standing: str, why: str = "") -> str:
    """Where one of many stands, in the words of a cell; `why`: of one that waits for room."""
    healthy = progress.healthy
    if standing == "waits" and why:
        told = gettext("{told}: {why}")
        return told.format(told=_with_placed(progress, healthy), why=why)
    if standing == "canary":
        return gettext("{canaries}; waits for promotion").format(canaries=canaries_told(progress))
    if standing == "stuck":
        told = gettext("no progress: {healthy}").format(healthy=healthy)
    elif standing == "paused":
        told = _paused_told(progress.deployment, healthy)
    elif unpromoted(progress):
        told = canaries_told(progress)
    else:
        told = _with_placed(progress, healthy)
    if not progress.unhealthy_count:
        return told
    return gettext("{told}, {count} unhealthy").format(
        told=told, count=number(progress.unhealthy_count)
    )


def _paused_told(deployment: Deployment, healthy: str) -> str:
    """With the name of whoever paused it, where that is remembered."""
    last = deployment.acts[-1] if deployment.acts else None
    if last is None or last.verb is not RolloutVerb.PAUSED or not last.by:
        return gettext("paused: {healthy}").format(healthy=healthy)
    return gettext("paused by {name}: {healthy}").format(name=last.by, healthy=healthy)


def _with_placed(progress: RolloutProgress, healthy: str) -> str:
    """How many are healthy and, while not all have a node, how many were placed."""
    placed = progress.placed_count
    if placed >= progress.wanted_count:
        return healthy
    if not placed:
        return gettext("{healthy}, none placed yet").format(healthy=healthy)
    return gettext("{healthy}, {count} placed").format(healthy=healthy, count=number(placed))


def unpromoted(progress: RolloutProgress) -> bool:
    """Whether canaries of it have not been promoted yet."""
    return any(
        group.state.desired_canaries and not group.state.promoted for group in progress.groups
    )


def canaries_told(progress: RolloutProgress) -> str:
    """`2 of 5 canaries healthy`, of those that are not promoted."""
    groups = [
        group
        for group in progress.groups
        if group.state.desired_canaries and not group.state.promoted
    ]
    wanted = sum(group.state.desired_canaries for group in groups)
    healthy = sum(group.canaries_healthy for group in groups)
    return ngettext(
        "{healthy} of {count} canary healthy", "{healthy} of {count} canaries healthy", wanted
    ).format(healthy=number(healthy), count=number(wanted))


def list_sentence(standings: Sequence[tuple[str, RolloutProgress]]) -> tuple[str, str]:
    """The head of the list: strong clause and rest, from the standing of each that is active."""
    needing = [(word, item) for word, item in standings if word in ("stuck", "canary")]
    others = [word for word, _ in standings if word not in ("stuck", "canary")]
    paused = others.count("paused")
    short = others.count("waits")
    empty = sum(
        not item.placed_count
        for word, item in standings
        if word not in ("stuck", "canary", "paused", "waits")
    )
    moving = len(others) - paused - short - empty
    rests = []
    if moving:
        rests.append(count_of(moving, "{count} goes on", "{count} go on"))
    if short:
        rests.append(count_of(short, "{count} waits for room", "{count} wait for room"))
    if empty:
        rests.append(
            count_of(empty, "{count} has nothing placed yet", "{count} have nothing placed yet")
        )
    if paused:
        rests.append(count_of(paused, "{count} is paused", "{count} are paused"))
    if not standings:
        return gettext("No rollout is under way."), ""
    if not needing:
        many = count_of(
            len(standings), "{count} rollout is under way", "{count} rollouts are under way"
        )
        return many, f": {', '.join(rests)}."
    named = [_needing_told(word, item) for word, item in needing[:_NAMED]]
    left = len(needing) - _NAMED
    named += [count_of(left, "{count} more", "{count} more")] if left > 0 else []
    after = f" {one_of(rests, 'and')}." if rests else ""
    strong = count_of(
        len(needing), "{count} rollout needs a person", "{count} rollouts need a person"
    )
    return strong, f": {', '.join(named)}.{after}"


def _needing_told(word: str, item: RolloutProgress) -> str:
    told = (
        gettext("{job} v{version} makes no progress")
        if word == "stuck"
        else gettext("{job} v{version} has healthy canaries to promote")
    )
    return told.format(job=item.deployment.job_id, version=item.deployment.job_version)


def sentence_of(progress: RolloutProgress, standing: str) -> tuple[str, str]:
    """The head of one rollout's page: strong clause and rest."""
    if not progress.deployment.is_active:
        return _ended_sentence(progress)
    healthy = progress.healthy
    if standing == "canary":
        left = sum(group.rest for group in progress.groups)
        more = count_of(left, "{count} more follows after it.", "{count} more follow after it.")
        rest = gettext("They wait for a promotion, as long as it takes.")
        return f"{canaries_told(progress)}.", f"{rest} {more}" if left else rest
    if standing == "paused":
        told = gettext("Paused: {healthy}.").format(healthy=healthy)
        return told, gettext("Nothing more is replaced until it goes on.")
    bad = count_of(
        progress.unhealthy_count,
        "{count} allocation is unhealthy.",
        "{count} allocations are unhealthy.",
    )
    bad = bad if progress.unhealthy_count else ""
    if standing == "stuck":
        return gettext("No progress: {healthy}.").format(healthy=healthy), bad
    if unpromoted(progress):
        waiting = [
            group.state
            for group in progress.groups
            if group.state.desired_canaries and not group.state.promoted
        ]
        by_itself = all(state.auto_promote for state in waiting)
        rest = (
            gettext("They promote themselves then.")
            if by_itself
            else gettext("A person promotes them once all are.")
        )
        return f"{canaries_told(progress)}.", f"{bad} {rest}".strip()
    return f"{healthy}.", bad


def _ended_sentence(progress: RolloutProgress) -> tuple[str, str]:
    deployment = progress.deployment
    if deployment.status is DeploymentStatus.SUCCESSFUL:
        return gettext("Done: {healthy}.").format(healthy=progress.healthy), ""
    why, followed = why_ended(progress), what_followed(deployment)
    has_failed = deployment.status is DeploymentStatus.FAILED
    # `v1 was stored again` begins with the name of a version, which stays as it is.
    rest = f"{progress.healthy}; {followed}." if followed else f"{progress.healthy}."
    if why:
        told = gettext("Failed: {why}.") if has_failed else gettext("Canceled: {why}.")
        return told.format(why=why), rest
    return gettext("Failed.") if has_failed else gettext("Canceled."), rest


def promote_told(progress: RolloutProgress, job: Job | None) -> str:
    """What promoting sets going."""
    groups = [group for group in progress.groups if group.name in progress.waiting]
    parts = [
        gettext("{count} of {group}").format(count=number(group.rest), group=group.name)
        for group in groups
        if group.rest
    ]
    if not parts:
        return gettext(
            "Nothing else has to be replaced: the canaries are all there is of their groups."
        )
    pace = at_a_time(progress, job)
    rest = sum(group.rest for group in groups)
    told = (
        ngettext("{what} is rolled out next, {pace}.", "{what} are rolled out next, {pace}.", rest)
        if pace
        else ngettext("{what} is rolled out next.", "{what} are rolled out next.", rest)
    )
    return told.format(what=one_of(parts, "and"), pace=pace)


def pause_told(progress: RolloutProgress) -> str:
    """What pausing holds."""
    left = max(progress.wanted_count - progress.healthy_count, 0)
    told = ngettext(
        "{count} of {wanted} is not healthy yet.", "{count} of {wanted} are not healthy yet.", left
    ).format(count=number(left), wanted=number(progress.wanted_count))
    holds = gettext(
        "Nothing more is replaced until somebody lets it go on, and no deadline passes."
    )
    return f"{told} {holds}" if left else holds


def goes_back_to(versions: Sequence[Job], deployment_version: int) -> Job | None:
    """The version that failing brings back, where its groups ask for that; newest first."""
    target = version_to_go_back_to(versions)
    failed = next((each for each in versions if each.version == deployment_version), None)
    if target is None or (failed is not None and has_same_spec(target, failed)):
        return None
    return target


def fail_told(progress: RolloutProgress, versions: Sequence[Job]) -> str:
    """What failing leaves behind."""
    there = count_of(
        progress.placed_count,
        "{count} allocation of this version was placed.",
        "{count} allocations of this version were placed.",
    )
    if not progress.reverts:
        rest = gettext("Nothing is brought back: what runs stays until the next version.")
        return f"{there} {rest}"
    target = goes_back_to(versions, progress.deployment.job_version)
    if target is None:
        rest = gettext("No other stable version is kept to go back to: what runs stays.")
        return f"{there} {rest}"
    rest = gettext("v{version} is stored again as v{newest} and rolled out instead.")
    return f"{there} {rest.format(version=target.version, newest=versions[0].version + 1)}"


def ended_told(progress: RolloutProgress) -> str:
    """What happened, in the words of a cell."""
    deployment = progress.deployment
    healthy = of_wanted(progress.healthy_count, progress.wanted_count, gettext("became healthy"))
    if deployment.status is DeploymentStatus.SUCCESSFUL:
        if progress.healthy_count > progress.wanted_count:
            return healthy
        return gettext("{healthy} healthy").format(healthy=healthy)
    said = [each for each in (why_ended(progress), what_followed(deployment)) if each]
    return "; ".join(said) or progress.healthy
