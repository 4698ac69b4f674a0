"""What is said of rollouts: how one stands, what many come to, what each button would do.

In: how far deployments are, versions of their job. Out: words, made of counts. Knows no reader.
"""

from collections.abc import Sequence

from dashboard.needs import is_stuck
from dashboard.phases import at_a_time
from dashboard.rollouts import RolloutProgress, of_wanted
from dashboard.wording import count_of, number, one_of
from scheduler.state.writes.jobs import has_same_spec, version_to_go_back_to
from scheduler.structs.deployment import DeploymentStatus
from scheduler.structs.job import Job

#: Rollouts named in a sentence; the rest is counted.
_NAMED = 3
#: In this order in the list: what needs a person, what moves, what rests.
_RANKS = ("stuck", "canary", "unhealthy", "running", "blocked", "pending", "paused")
_WORDS = {"stuck": "stuck", "canary": "canaries wait", "unhealthy": "unhealthy"}


def standing_of(progress: RolloutProgress, now: int) -> str:
    """A key of the labels of deployments: the stored status, or what it means for people."""
    deployment = progress.deployment
    if deployment.status is not DeploymentStatus.RUNNING:
        return deployment.status.value
    if is_stuck(progress, now):
        return "stuck"
    if progress.waiting:
        return "canary"
    return "unhealthy" if progress.unhealthy_count else "running"


def standing_word(standing: str) -> str:
    """What stands beside the icon, where the label's own word does not say it."""
    return _WORDS.get(standing, "")


def rank_of(standing: str) -> int:
    """The smaller, the sooner a person should look."""
    return _RANKS.index(standing) if standing in _RANKS else len(_RANKS)


def where_told(progress: RolloutProgress, standing: str) -> str:
    """Where one of many stands, in the words of a cell."""
    healthy = progress.healthy
    unhealthy = f", {number(progress.unhealthy_count)} unhealthy"
    beside = unhealthy if progress.unhealthy_count else ""
    if standing == "canary":
        return f"{canaries_told(progress)}; waits for promotion"
    if standing == "stuck":
        return f"no progress: {healthy}{beside}"
    if standing == "paused":
        return f"paused: {healthy}{beside}"
    if unpromoted(progress):
        return f"{canaries_told(progress)}{beside}"
    return f"{healthy}{beside}"


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
    return f"{number(healthy)} of {count_of(wanted, 'canary', 'canaries')} healthy"


def list_sentence(standings: Sequence[tuple[str, RolloutProgress]]) -> tuple[str, str]:
    """The head of the list: strong clause and rest, from the standing of each that is active."""
    needing = [(word, item) for word, item in standings if word in ("stuck", "canary")]
    others = [word for word, _ in standings if word not in ("stuck", "canary")]
    paused = others.count("paused")
    moving = len(others) - paused
    rests = []
    if moving:
        rests.append(f"{number(moving)} {'goes' if moving == 1 else 'go'} on")
    if paused:
        rests.append(f"{number(paused)} {'is' if paused == 1 else 'are'} paused")
    if not standings:
        return "No rollout is under way.", ""
    if not needing:
        many = count_of(len(standings), "rollout is", "rollouts are")
        return f"{many} under way", f": {', '.join(rests)}."
    verb = "rollout needs" if len(needing) == 1 else "rollouts need"
    named = [
        f"{item.deployment.job_id} v{item.deployment.job_version} "
        + ("makes no progress" if word == "stuck" else "has healthy canaries to promote")
        for word, item in needing[:_NAMED]
    ]
    left = len(needing) - _NAMED
    named += [f"{number(left)} more"] if left > 0 else []
    after = f" {one_of(rests, 'and')}." if rests else ""
    return f"{number(len(needing))} {verb} a person", f": {', '.join(named)}.{after}"


def sentence_of(progress: RolloutProgress, standing: str) -> tuple[str, str]:
    """The head of one rollout's page: strong clause and rest."""
    deployment = progress.deployment
    description = deployment.status_description.rstrip(".")
    unhealthy = count_of(progress.unhealthy_count, "allocation is", "allocations are")
    bad = f"{unhealthy} unhealthy." if progress.unhealthy_count else ""
    if not deployment.is_active:
        strong = {DeploymentStatus.SUCCESSFUL: "Done", DeploymentStatus.FAILED: "Failed"}
        word = strong.get(deployment.status, "Canceled")
        if deployment.status is DeploymentStatus.SUCCESSFUL:
            return f"{word}: {progress.healthy}.", ""
        return f"{word}: {description}." if description else f"{word}.", f"{progress.healthy}."
    left = sum(group.rest for group in progress.groups)
    if standing == "canary":
        more = f"{count_of(left, 'more follows', 'more follow')} after it." if left else ""
        rest = f"They wait for a promotion, as long as it takes. {more}".strip()
        return f"{canaries_told(progress)}.", rest
    if standing == "paused":
        return f"Paused: {progress.healthy}.", "Nothing more is replaced until it goes on."
    if standing == "stuck":
        return f"No progress: {progress.healthy}.", bad
    if unpromoted(progress):
        waiting = [
            group.state
            for group in progress.groups
            if group.state.desired_canaries and not group.state.promoted
        ]
        by_itself = all(state.auto_promote for state in waiting)
        then = "promotes them" if not by_itself else ""
        rest = f"A person {then} once all are." if then else "They promote themselves then."
        return f"{canaries_told(progress)}.", f"{bad} {rest}".strip()
    return f"{progress.healthy}.", bad


def promote_told(progress: RolloutProgress, job: Job | None) -> str:
    """What promoting sets going."""
    groups = [group for group in progress.groups if group.name in progress.waiting]
    parts = [f"{number(group.rest)} of {group.name}" for group in groups if group.rest]
    if not parts:
        return "Nothing else has to be replaced: the canaries are all there is of their groups."
    verb = "is" if sum(group.rest for group in groups) == 1 else "are"
    pace = at_a_time(progress, job)
    return f"{' and '.join(parts)} {verb} rolled out next{', ' + pace if pace else ''}."


def pause_told(progress: RolloutProgress) -> str:
    """What pausing holds."""
    left = max(progress.wanted_count - progress.healthy_count, 0)
    told = (
        f"{number(left)} of {number(progress.wanted_count)} are not healthy yet. " if left else ""
    )
    return f"{told}Nothing more is replaced until somebody lets it go on, and no deadline passes."


def goes_back_to(versions: Sequence[Job], deployment_version: int) -> Job | None:
    """The version that failing brings back, where its groups ask for that; newest first."""
    target = version_to_go_back_to(versions)
    failed = next((each for each in versions if each.version == deployment_version), None)
    if target is None or (failed is not None and has_same_spec(target, failed)):
        return None
    return target


def fail_told(progress: RolloutProgress, versions: Sequence[Job]) -> str:
    """What failing leaves behind."""
    placed = sum(group.state.placed_allocs for group in progress.groups)
    verb = "was" if placed == 1 else "were"
    there = f"{count_of(placed, 'allocation')} of this version {verb} placed."
    if not progress.reverts:
        return f"{there} Nothing is brought back: what runs stays until the next version."
    target = goes_back_to(versions, progress.deployment.job_version)
    if target is None:
        return f"{there} No other stable version is kept to go back to: what runs stays."
    newest = versions[0].version
    return f"{there} v{target.version} is stored again as v{newest + 1} and rolled out instead."


def ended_told(progress: RolloutProgress) -> str:
    """What happened, in the words of a cell."""
    deployment = progress.deployment
    healthy = of_wanted(progress.healthy_count, progress.wanted_count, "became healthy")
    if deployment.status is DeploymentStatus.SUCCESSFUL:
        return f"{healthy} healthy" if progress.healthy_count <= progress.wanted_count else healthy
    return deployment.status_description or progress.healthy
