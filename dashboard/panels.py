"""Everything that pages follow live, in one table: per topic its feed, its panels, its rows.

A line of `FOLLOWED` is all that a further live page needs here: what its topic's key names, the
feed that keeps it current, the panels that are read and rendered again when one of their topics
changes, and the tables whose rows are rendered from the changed value alone.
"""

from collections.abc import Mapping
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

from dashboard.feeds.chains import ChainFeed, TidyFeed, TimelineFeed
from dashboard.feeds.deployments import DeploymentFeed, DeploymentsFeed
from dashboard.feeds.drains import DrainFeed, DrainsFeed, StagedDrainFeed
from dashboard.feeds.evaluation import EvaluationFeed
from dashboard.feeds.events import EventsFeed
from dashboard.feeds.explain import ExplainFeed
from dashboard.feeds.feed import Feed, Panel, PanelQuery, Parts, RowContext, RowList
from dashboard.feeds.governance import PoolsFeed
from dashboard.feeds.lists import ListFeed
from dashboard.feeds.navigation import NavigationFeed
from dashboard.feeds.overview import OverviewFeed
from dashboard.feeds.scheduler import SchedulerFeed
from dashboard.feeds.stories import StoriesFeed, StoryFeed
from dashboard.feeds.subjects import AllocationFeed, JobFeed, JobPageFeed, NodeFeed
from dashboard.feeds.topology import TopologyFeed
from dashboard.queries import (
    allocation,
    chain,
    comparing,
    deployment,
    deployments,
    dispatch,
    drains,
    evaluation,
    evaluations,
    explain,
    job,
    job_checks,
    job_groups,
    launching,
    namespaces,
    nodes,
    pools,
    scale,
    scheduler,
    staged_drains,
    stories,
    versions,
    volumes,
)
from dashboard.queries.job_lists import JOB_LISTS
from dashboard.queries.node_refusals import refusals_panel
from dashboard.subscription import Subscription
from scheduler.state.events import Topic
from scheduler.structs.evaluation import Evaluation, LifecycleStep


class Names(Enum):
    """What the key of a topic names."""

    NAMESPACE = "a namespace, or `*` for all that one may see"
    WINDOW = "a namespace or `*`; after `/` how far back moves are counted"
    EVENTS = "a namespace or `*`; after `/` which events"
    LIST = "a view of a list: order, facets and expression, as its address has them"
    NODES = "nothing, one node, or a view of all"
    NODE = "a node, or something else of the cluster"
    GOVERNANCE = "nothing, or a namespace, pool or quota by its name"
    JOB = "a job, as `<namespace>/<id>`"
    ALLOCATION = "an allocation"
    EVALUATION = "an evaluation, collected or not"
    DEPLOYMENT = "a deployment"
    EXPLAINED = "an evaluation; after `/` what is asked of it, as the address of its page has it"
    STORY = "a story; after `/` the fold of it that is open"


class Followed(NamedTuple):
    """One kind of topic."""

    names: Names
    feed: type[Feed]
    panels: tuple[Panel, ...] = ()
    lists: tuple[RowList, ...] = ()
    #: What is followed instead where a key that may be missing is given.
    of_one: "Followed | None" = None


def _panel(target: str, partial_name: str, query: PanelQuery, *topics: Topic) -> Panel:
    return Panel(target, f"dashboard/partials/{partial_name}", query, frozenset(topics))


def _parted(
    page: str, query: PanelQuery, parts: tuple[str, ...], *topics: Topic
) -> tuple[Panel, ...]:
    return tuple(
        _panel(f"{page}-{part}", f"_{page}_{part}.html", query, *topics) for part in parts
    )


def _rows(topic: Topic, container: str, partial_name: str, context: RowContext) -> RowList:
    return RowList(topic, container, f"dashboard/partials/{partial_name}", context)


def _evaluation_rows(container: str) -> RowList:
    context = partial(_evaluation_row, container=container)
    return _rows(Topic.EVALUATION, container, "_evaluation_row.html", context)


def _evaluation_row(
    value: Evaluation, now: int, newest: LifecycleStep | None, *, container: str
) -> dict[str, Any]:
    return {"container": container, **evaluations.row_context(value, now, newest)}


def _groups(query: PanelQuery) -> tuple[Panel, ...]:
    return (_panel("job-groups", "_job_groups.html", query, *_COUNTED, Topic.ALLOCATION),)


_TOLD = (Topic.EVALUATION, Topic.LIFECYCLE)
_DECIDED = (*_TOLD, Topic.ALLOCATION)
_EXPLAINED = (*_TOLD, Topic.EXPLANATION)
_VERSIONS = (Topic.JOB, Topic.JOB_VERSION, Topic.DEPLOYMENT)
_COUNTED = (Topic.JOB, Topic.JOB_SUMMARY)
_LAUNCHED = (*_COUNTED, Topic.PERIODIC_LAUNCH)
_ON_NODES = (Topic.NODE, Topic.NODE_USE, Topic.ALLOCATION)
_ON_STAGES = (Topic.STAGED_DRAIN, Topic.NODE, Topic.NODE_USE)
_DRAINED = (Topic.NODE, Topic.ALLOCATION, Topic.EVALUATION)
_ROLLED = (Topic.DEPLOYMENT, Topic.ALLOCATION, *_TOLD, Topic.JOB, Topic.JOB_VERSION)
_SCHEDULER_PARTS = ("told", "actions", "flow", "workers", "waits", "disputed", "times", "settings")
_ALLOC_PARTS = ("standing", "actions", "tabs", "tasks", "why", "facts", "terminal", "events")
_ROLLOUT_PARTS = ("head", "phases", "groups", "steps", "facts", "ways")
_SPACES = (Topic.NAMESPACE, Topic.QUOTA, Topic.NAMESPACE_USE, Topic.JOB)
_ALL_SPACES = namespaces.namespaces_panel
_POOLS = (Topic.NODE_POOL, Topic.NODE)
_CHAIN_PANELS = (
    _panel("chain-sentence", "_chain_sentence.html", chain.chain_panel, *_TOLD),
    _panel("chain-rows", "_chain_rows.html", chain.chain_panel, *_TOLD),
    _panel("chain-facts", "_chain_facts.html", chain.chain_panel, *_TOLD),
    _panel("chain-chosen", "_chain_chosen.html", chain.chain_panel, *_TOLD),
)

#: A story is told from one look at it: its feed renders all of these at once.
_STORY_TOPICS = frozenset(
    {Topic.STORY, Topic.STORY_NODE, *_TOLD, Topic.DEPLOYMENT, Topic.ALLOCATION, Topic.NODE}
)
_STORY_PARTS = {
    "story-head": "_story_head.html",
    "story-actions": "_story_actions.html",
    "story-counted": "_story_counted.html",
    "tree": "_story_tree.html",
    "story-replay": "_story_replay.html",
    "story-losses": "_story_losses.html",
    "story-chosen": "_story_chosen.html",
    "story-waits": "_story_waits.html",
    "story-compared": "_story_compared.html",
    "phases": "_story_phases.html",
    "story-cells": "_story_cells.html",
    "story-facts": "_story_facts.html",
    "deployment-ways": "_deployment_ways.html",
}

FOLLOWED: Mapping[str, Followed] = {
    "overview": Followed(Names.WINDOW, OverviewFeed),
    "events": Followed(Names.EVENTS, EventsFeed),
    "navigation": Followed(Names.NAMESPACE, NavigationFeed),
    "jobs": Followed(Names.LIST, ListFeed),
    "job": Followed(
        Names.JOB,
        JobPageFeed,
        panels=(
            _panel(
                "job-standing", "_job_standing.html", job.standing_panel,
                *_LAUNCHED, Topic.EVALUATION, Topic.DEPLOYMENT,
            ),
            _panel(
                "stories-strip", "_story_strip.html", job.stories_panel,
                Topic.EVALUATION, Topic.STORY, Topic.JOB,
            ),
            _panel("job-actions", "_job_actions.html", job.actions_panel, Topic.JOB),
            _panel(
                "job-checks-place", "_job_checks_place.html", job_checks.checks_panel, Topic.JOB
            ),
            _panel("job-dispatch", "_job_dispatch.html", dispatch.dispatch_panel, Topic.JOB),
            _panel(
                "job-scale", "_job_scale.html", scale.scale_panel,
                Topic.JOB, Topic.DEPLOYMENT, Topic.SCALING_EVENT,
            ),
            _panel("stop-job-told", "_job_stop_told.html", job.standing_panel, *_COUNTED),
            _panel("purge-job-told", "_job_purge_told.html", job.standing_panel, *_COUNTED),
            _panel(
                "job-rollout", "_job_rollout.html", job.rollout_panel, Topic.JOB, Topic.DEPLOYMENT
            ),
        ),
    ),
    **{
        topic: Followed(Names.JOB, JobFeed, _groups(query))
        for topic, query in job_groups.PANELS.items()
    },
    **{
        topic: Followed(
            Names.JOB,
            JobFeed,
            (_panel("job-dispatched", "_job_dispatched.html", query, *_COUNTED),),
        )
        for topic, query in launching.PANELS.items()
    },
    **{
        topic: Followed(
            Names.JOB, JobFeed, (_panel("job-launches", "_job_launches.html", query, *_LAUNCHED),)
        )
        for topic, query in launching.LAUNCH_PANELS.items()
    },
    "versions": Followed(
        Names.JOB,
        JobFeed,
        panels=(
            _panel("job-versions", "_job_versions.html", versions.versions_panel, *_VERSIONS),
            _panel(
                "job-difference", "_version_difference.html", versions.versions_panel, *_VERSIONS
            ),
        ),
    ),
    **{
        kind.name: Followed(Names.LIST, StoriesFeed if kind.has_cluster_rows else ListFeed)
        for kind in JOB_LISTS.values()
    },
    "evaluations": Followed(Names.LIST, ListFeed),
    "evaluation": Followed(
        Names.EVALUATION,
        EvaluationFeed,
        panels=(
            _panel(
                "evaluation-head", "_evaluation_head.html", evaluation.head_panel, *_DECIDED
            ),
            _panel("decision", "_decision.html", evaluation.decision_panel, *_DECIDED),
            _panel("raw", "_raw.html", evaluation.raw_panel, *_TOLD),
        ),
    ),
    "explain": Followed(
        Names.EXPLAINED,
        ExplainFeed,
        panels=(
            *_parted("explain", explain.explain_panel, ("head", "then"), *_EXPLAINED),
            _panel("beside", "_beside.html", explain.explain_panel, *_EXPLAINED, Topic.ALLOCATION),
        ),
    ),
    "chain": Followed(Names.EVALUATION, ChainFeed, panels=_CHAIN_PANELS),
    "tidy": Followed(Names.EVALUATION, TidyFeed, panels=_CHAIN_PANELS),
    "timeline": Followed(
        Names.EVALUATION,
        TimelineFeed,
        panels=(
            _panel("chain-sentence", "_chain_sentence.html", chain.chain_timeline_panel, *_TOLD),
            _panel("chain-timeline", "_timeline.html", chain.chain_timeline_panel, *_TOLD),
            _panel("chain-facts", "_chain_facts.html", chain.chain_timeline_panel, *_TOLD),
        ),
    ),
    "stories": Followed(
        Names.LIST,
        StoriesFeed,
        # Without topics: its feed says when it is told anew.
        panels=(_panel("stories-told", "_stories_told.html", stories.told_panel),),
    ),
    "story": Followed(
        Names.STORY,
        StoryFeed,
        panels=tuple(
            _panel(target, partial_name, stories.told_panel, *_STORY_TOPICS)
            for target, partial_name in _STORY_PARTS.items()
        ),
    ),
    "allocations": Followed(Names.LIST, ListFeed),
    "allocation": Followed(
        Names.ALLOCATION,
        AllocationFeed,
        panels=(
            *_parted("alloc", allocation.allocation_panel, _ALLOC_PARTS, Topic.ALLOCATION),
        ),
    ),
    "nodes": Followed(Names.LIST, ListFeed),
    "scheduler": Followed(
        Names.WINDOW,
        SchedulerFeed,
        panels=_parted("scheduler", scheduler.scheduler_panel, _SCHEDULER_PARTS),
    ),
    "topology": Followed(Names.NODES, TopologyFeed),
    "node": Followed(
        Names.NODE,
        NodeFeed,
        panels=(
            *_parted("node", nodes.node_panel, ("head", "body"), *_ON_NODES),
            _panel("node-refusals", "_node_refusals.html", refusals_panel, Topic.LIFECYCLE),
        ),
    ),
    "deployments": Followed(
        Names.LIST,
        DeploymentsFeed,
        panels=(
            _panel(
                "deployments-told", "_deployments_told.html", deployments.running_panel,
                Topic.DEPLOYMENT,
            ),
            _panel(
                "deployments-running", "_deployments_running.html", deployments.running_panel,
                Topic.DEPLOYMENT,
            ),
        ),
    ),
    "deployment": Followed(
        Names.DEPLOYMENT,
        DeploymentFeed,
        panels=(
            *_parted("deployment", deployment.deployment_panel, _ROLLOUT_PARTS, *_ROLLED),
            *_parted("deployment", comparing.compared_panel, ("compared",), Topic.DEPLOYMENT),
        ),
    ),
    "drains": Followed(
        Names.NODES,
        DrainsFeed,
        panels=(
            _panel("drains-told", "_drains_told.html", drains.drains_panel, *_ON_STAGES),
            _panel("drain-list", "_drain_list.html", drains.drains_panel, *_ON_STAGES),
        ),
        of_one=Followed(
            Names.NODE,
            DrainFeed,
            panels=(
                _panel("drain-head", "_drain_head.html", drains.drain_panel, *_DRAINED),
                _panel("board", "_drain_board.html", drains.drain_panel, *_DRAINED),
            ),
        ),
    ),
    "services": Followed(Names.LIST, ListFeed),
    "variables": Followed(Names.LIST, ListFeed),
    "volumes": Followed(
        Names.LIST,
        ListFeed,
        panels=(
            _panel("volumes-offered", "_volumes_offered.html", volumes.offered_panel, Topic.NODE),
        ),
    ),
    "staged": Followed(
        Names.NODE,
        StagedDrainFeed,
        panels=_parted("staged", staged_drains.staged_panel, ("head", "nodes"), *_ON_STAGES),
    ),
    "namespaces": Followed(
        Names.GOVERNANCE,
        Feed,
        panels=(
            _panel("governance-told", "_governance_told.html", _ALL_SPACES, *_SPACES),
            _panel("namespace-list", "_namespace_list.html", _ALL_SPACES, *_SPACES),
        ),
        of_one=Followed(
            Names.GOVERNANCE,
            Feed,
            panels=_parted("namespace", namespaces.namespace_panel, ("head", "body"), *_SPACES),
        ),
    ),
    "quotas": Followed(
        Names.GOVERNANCE,
        Feed,
        panels=(
            _panel("governance-told", "_governance_told.html", namespaces.quotas_panel, *_SPACES),
            _panel("quota-list", "_quota_list.html", namespaces.quotas_panel, *_SPACES),
        ),
        of_one=Followed(
            Names.GOVERNANCE,
            Feed,
            panels=_parted("quota", namespaces.quota_panel, ("head", "body"), *_SPACES),
        ),
    ),
    "pools": Followed(
        Names.GOVERNANCE,
        PoolsFeed,
        panels=(
            _panel("governance-told", "_governance_told.html", pools.pools_panel, *_POOLS),
            _panel("pool-list", "_pool_list.html", pools.pools_panel, *_POOLS),
        ),
        of_one=Followed(
            Names.GOVERNANCE,
            PoolsFeed,
            panels=_parted("pool", pools.pool_panel, ("head", "body"), *_POOLS),
        ),
    ),
}  # fmt: skip


def feed_for(subscription: Subscription) -> Feed:
    """A new, unloaded feed. Raises KeyError for a kind that nothing is declared for."""
    followed = FOLLOWED[subscription.kind]
    if subscription.key and followed.of_one is not None:
        followed = followed.of_one
    return followed.feed(subscription, Parts(followed.panels, followed.lists))
