"""The nouns of the record, each declared once: struct, key, columns, indexes, topic, table.

In: the structs. Out: one constant per noun, and all of them in order. What is mechanical about a
noun, in memory, in the database, in the event log and in the admin, follows from here.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import cast

from scheduler.state import columns
from scheduler.state.collection_noun import COLLECTION_OVERRIDES, COLLECTIONS
from scheduler.state.events import Topic
from scheduler.state.explanation_noun import EXPLANATIONS
from scheduler.state.keyring_noun import ROOT_KEYS
from scheduler.state.node_use import NodeUse
from scheduler.state.noun import AnyNoun, Index, Noun, Owner
from scheduler.state.periodic_noun import PERIODIC_LAUNCHES
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.state.scaling_nouns import SCALING_EVENTS, SCALING_POLICIES
from scheduler.state.service_noun import SERVICES
from scheduler.state.staged_drain_noun import STAGED_DRAINS
from scheduler.state.story_nouns import STORIES, STORY_NODES
from scheduler.state.variable_nouns import LOCK_TIMERS, VARIABLES
from scheduler.state.volume_nouns import HOST_VOLUMES, VOLUME_CLAIMS
from scheduler.state.webhook_nouns import WEBHOOK_DELIVERIES, WEBHOOKS
from scheduler.structs.acl_auth import AuthMethod, BindingRule
from scheduler.structs.acl_policy import AclPolicy
from scheduler.structs.acl_token import AclBootstrap, AclRole, AclToken
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation, LifecycleStep
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobSubmission, JobSummary, Namespace
from scheduler.structs.node import Node, NodePool
from scheduler.structs.quota import NamespaceUse, QuotaSpec
from scheduler.structs.scheduler_settings import SchedulerSettings

#: Keys of single rows: of the settings, and of how the first management token came.
SETTINGS_KEY = "scheduler"
BOOTSTRAP_KEY = "bootstrap"

_OF_JOB = ("namespace", "job_id")
#: Without a call into Python: these are asked of every row of long lists.
_CREATION: Callable[[Allocation | Evaluation | Deployment], tuple[int, str]] = attrgetter(
    "create_index", "id"
)

JOBS: Noun[JobKey, Job] = Noun(
    struct=Job,
    topic=Topic.JOB,
    table="job",
    key=lambda job: job.key,
    key_columns=_OF_JOB,
    columns={
        "type": lambda job: job.type,
        "status": lambda job: job.status,
        "parent_id": lambda job: job.parent_id,
        "priority": lambda job: job.priority,
        "create_index": lambda job: job.create_index,
        "modify_index": lambda job: job.modify_index,
        "wanted_count": columns.wanted_count,
        "is_stopped": lambda job: job.stop,
        "dispatch_token": columns.dispatch_token,
    },
    instants={"submitted_at": lambda job: job.submit_time},
    indexes={
        "type": Index(lambda job: job.type, ("type",)),
        # The child of a parameterized job that was dispatched with a token.
        "dispatch_token": Index(
            columns.dispatch_place,
            ("namespace", "parent_id", "dispatch_token"),
            "NOT (dispatch_token = '')",
        ),
        # Children of a periodic or parameterized job that have not ended.
        "live_children": Index(
            columns.parent_while_alive, ("namespace", "parent_id"), columns.IS_LIVE_CHILD
        ),
    },
    namespace=lambda job: job.namespace,
    table_index="jobs",
)
#: By job, incarnation (its CreateIndex) and version.
JOB_VERSIONS: Noun[tuple[JobKey, int, int], Job] = Noun(
    struct=Job,
    topic=Topic.JOB_VERSION,
    table="job_version",
    key=lambda job: (job.key, job.create_index, job.version),
    key_columns=(*_OF_JOB, "create_index", "version"),
    columns={"is_listed": lambda _: True},
    indexes={"job": Index(lambda job: job.key, _OF_JOB)},
    namespace=lambda job: job.namespace,
    table_index="jobs",
)
JOB_SUMMARIES: Noun[JobKey, JobSummary] = Noun(
    struct=JobSummary,
    topic=Topic.JOB_SUMMARY,
    table="job_summary",
    key=lambda counts: JobKey(counts.namespace, counts.job_id),
    key_columns=_OF_JOB,
    namespace=lambda counts: counts.namespace,
    table_index="job_summaries",
)
#: By job and version.
JOB_SUBMISSIONS: Noun[tuple[JobKey, int], JobSubmission] = Noun(
    struct=JobSubmission,
    topic=Topic.JOB_SUBMISSION,
    table="job_submission",
    key=lambda text: (JobKey(text.namespace, text.job_id), text.version),
    key_columns=(*_OF_JOB, "version"),
    indexes={"job": Index(lambda text: JobKey(text.namespace, text.job_id), _OF_JOB)},
    namespace=lambda text: text.namespace,
    table_index="jobs",
    owner=Owner(Topic.JOB, "job"),
)
NODES: Noun[str, Node] = Noun(
    struct=Node,
    topic=Topic.NODE,
    table="node",
    key=lambda node: node.id,
    key_columns=("id",),
    columns={
        "name": lambda node: node.name,
        "datacenter": lambda node: node.datacenter,
        "node_pool": lambda node: node.node_pool,
        "status": lambda node: node.status.value,
        "eligibility": lambda node: node.scheduling_eligibility.value,
        "is_draining": lambda node: node.drain_strategy is not None,
        "create_index": lambda node: node.create_index,
        "modify_index": lambda node: node.modify_index,
        "cpu_mhz": columns.node_cpu_mhz,
        "memory_mb": columns.node_memory_mb,
    },
    instants={
        "drain_deadline": columns.drain_deadline,
        "status_changed_at": columns.status_changed_at,
    },
    table_index="nodes",
)
#: Moves no table's index, nor do those of namespaces: they are sums, not facts of their own.
NODE_USES: Noun[str, NodeUse] = Noun(
    struct=NodeUse,
    topic=Topic.NODE_USE,
    table="node_use",
    key=lambda use: use.node_id,
    key_columns=("node_id",),
)
ALLOCATIONS: Noun[str, Allocation] = Noun(
    struct=Allocation,
    topic=Topic.ALLOCATION,
    table="allocation",
    key=attrgetter("id"),
    key_columns=("id",),
    columns={
        "namespace": lambda alloc: alloc.namespace,
        "job_id": lambda alloc: alloc.job_id,
        "job_create_index": lambda alloc: alloc.job_create_index,
        "job_version": lambda alloc: alloc.job_version,
        "task_group": lambda alloc: alloc.task_group,
        "node_id": lambda alloc: alloc.node_id,
        "eval_id": lambda alloc: alloc.eval_id,
        "deployment_id": lambda alloc: alloc.deployment_id,
        "desired_status": lambda alloc: alloc.desired_status.value,
        "client_status": lambda alloc: alloc.client_status.value,
        "create_index": lambda alloc: alloc.create_index,
        "modify_index": lambda alloc: alloc.modify_index,
        "name": lambda alloc: alloc.name,
        "desired_transition": columns.desired_transition,
        "is_healthy": columns.is_healthy,
        "cpu_mhz": columns.cpu_mhz,
        "memory_mb": columns.memory_mb,
        "restart_count": columns.restart_count,
    },
    instants={"created_at": attrgetter("create_time"), "modified_at": attrgetter("modify_time")},
    indexes={
        "job": Index(lambda alloc: alloc.job_key, _OF_JOB),
        "node": Index(attrgetter("node_id"), ("node_id",)),
        "eval": Index(attrgetter("eval_id"), ("eval_id",)),
        "deployment": Index(
            attrgetter("deployment_id"), ("deployment_id",), "NOT (deployment_id = '')"
        ),
    },
    creation=_CREATION,
    namespace=lambda alloc: alloc.namespace,
    table_index="allocations",
)
EVALUATIONS: Noun[str, Evaluation] = Noun(
    struct=Evaluation,
    topic=Topic.EVALUATION,
    table="evaluation",
    key=attrgetter("id"),
    key_columns=("id",),
    columns=columns.EVALUATION_COLUMNS,
    instants=columns.EVALUATION_INSTANTS,
    indexes={
        "job": Index(lambda evaluation: evaluation.job_key, _OF_JOB),
        # One place only: those that have not ended.
        "open": Index(
            lambda evaluation: None if evaluation.is_terminal else (),
            condition="status IN ('pending', 'blocked')",
        ),
    },
    creation=_CREATION,
    namespace=lambda evaluation: evaluation.namespace,
    table_index="evaluations",
)
#: What stays of collected evaluations; made when an evaluation is deleted.
EVALUATION_STUBS: Noun[str, Evaluation] = Noun(
    struct=Evaluation,
    topic="",
    table="evaluation_stub",
    key=attrgetter("id"),
    key_columns=("id",),
    columns=columns.EVALUATION_COLUMNS,
    instants=columns.EVALUATION_INSTANTS,
    creation=_CREATION,
    namespace=lambda evaluation: evaluation.namespace,
)
DEPLOYMENTS: Noun[str, Deployment] = Noun(
    struct=Deployment,
    topic=Topic.DEPLOYMENT,
    table="deployment",
    key=attrgetter("id"),
    key_columns=("id",),
    columns={
        "namespace": lambda deployment: deployment.namespace,
        "job_id": lambda deployment: deployment.job_id,
        "status": lambda deployment: deployment.status.value,
        "create_index": lambda deployment: deployment.create_index,
        "modify_index": lambda deployment: deployment.modify_index,
        "waits_for_promotion": columns.waits_for_promotion,
        "story_id": lambda deployment: deployment.story_id,
    },
    instants={"created_at": attrgetter("create_time"), "modified_at": attrgetter("modify_time")},
    indexes={"job": Index(attrgetter("job_key"), _OF_JOB), "canaries": Index(*columns.CANARIES)},
    creation=_CREATION,
    namespace=lambda deployment: deployment.namespace,
    table_index="deployments",
)
#: By evaluation and number.
LIFECYCLE_STEPS: Noun[tuple[str, int], LifecycleStep] = Noun(
    struct=LifecycleStep,
    topic=Topic.LIFECYCLE,
    table="lifecycle",
    key=lambda step: (step.eval_id, step.number),
    key_columns=("eval_id", "number"),
    indexes={"eval": Index(lambda step: step.eval_id, ("eval_id",))},
    table_index="lifecycle",
    owner=Owner(Topic.EVALUATION, "eval"),
)
NAMESPACES: Noun[str, Namespace] = Noun(
    struct=Namespace,
    topic=Topic.NAMESPACE,
    table="namespace",
    key=lambda namespace: namespace.name,
    table_index="namespaces",
)
QUOTAS: Noun[str, QuotaSpec] = Noun(
    struct=QuotaSpec,
    topic=Topic.QUOTA,
    table="quota",
    key=lambda quota: quota.name,
    table_index="quotas",
)
NAMESPACE_USES: Noun[str, NamespaceUse] = Noun(
    struct=NamespaceUse,
    topic=Topic.NAMESPACE_USE,
    table="namespace_use",
    key=lambda use: use.namespace,
    key_columns=("namespace",),
    namespace=lambda use: use.namespace,
)
NODE_POOLS: Noun[str, NodePool] = Noun(
    struct=NodePool,
    topic=Topic.NODE_POOL,
    table="node_pool",
    key=lambda pool: pool.name,
    table_index="node_pools",
)
SCHEDULER_SETTINGS: Noun[str, SchedulerSettings] = Noun(
    struct=SchedulerSettings,
    topic=Topic.SCHEDULER_SETTINGS,
    table="scheduler_settings",
    key=lambda _: SETTINGS_KEY,
    table_index="scheduler_settings",
)
ACL_POLICIES: Noun[str, AclPolicy] = Noun(
    struct=AclPolicy,
    topic="ACLPolicy",
    table="acl_policy",
    key=lambda policy: policy.name,
    table_index="acl_policies",
)
ACL_ROLES: Noun[str, AclRole] = Noun(
    struct=AclRole,
    topic="ACLRole",
    table="acl_role",
    key=lambda role: role.id,
    key_columns=("id",),
    columns={"name": lambda role: role.name},
    indexes={"name": Index(lambda role: role.name, ("name",))},
    table_index="acl_roles",
)
ACL_TOKENS: Noun[str, AclToken] = Noun(
    struct=AclToken,
    topic="ACLToken",
    table="acl_token",
    key=lambda token: token.accessor_id,
    key_columns=("accessor_id",),
    columns={"name": lambda token: token.name, "type": lambda token: token.type},
    instants={
        "created_at": attrgetter("create_time"),
        "expires_at": attrgetter("expiration_time"),
    },
    table_index="acl_tokens",
    secret_column="secret_hash",  # noqa: S106 - the name of a column
)
ACL_AUTH_METHODS: Noun[str, AuthMethod] = Noun(
    struct=AuthMethod,
    topic="ACLAuthMethod",
    table="acl_auth_method",
    key=lambda method: method.name,
    table_index="acl_auth_methods",
)
ACL_BINDING_RULES: Noun[str, BindingRule] = Noun(
    struct=BindingRule,
    topic="ACLBindingRule",
    table="acl_binding_rule",
    key=lambda rule: rule.id,
    key_columns=("id",),
    columns={"auth_method": lambda rule: rule.auth_method},
    indexes={"method": Index(lambda rule: rule.auth_method, ("auth_method",))},
    table_index="acl_binding_rules",
)
ACL_BOOTSTRAP: Noun[str, AclBootstrap] = Noun(
    struct=AclBootstrap,
    topic="ACLBootstrap",
    table="acl_bootstrap",
    key=lambda _: BOOTSTRAP_KEY,
    table_index="acl_bootstrap",
)

#: Every noun of the record. Who takes one from here hands it values that an event or a row of
#: that very noun brought: their types differ.
NOUNS: tuple[AnyNoun, ...] = cast(
    "tuple[AnyNoun, ...]",
    (
        JOBS,
        JOB_VERSIONS,
        JOB_SUMMARIES,
        JOB_SUBMISSIONS,
        PERIODIC_LAUNCHES,
        NODES,
        NODE_USES,
        STAGED_DRAINS,
        ALLOCATIONS,
        EVALUATIONS,
        EVALUATION_STUBS,
        STORIES,
        STORY_NODES,
        DEPLOYMENTS,
        SCALING_POLICIES,
        SCALING_EVENTS,
        LIFECYCLE_STEPS,
        EXPLANATIONS,
        NAMESPACES,
        NAMESPACE_USES,
        QUOTAS,
        NODE_POOLS,
        SCHEDULER_SETTINGS,
        COLLECTIONS,
        COLLECTION_OVERRIDES,
        REHEARSALS,
        ACL_POLICIES,
        ACL_ROLES,
        ACL_TOKENS,
        ACL_AUTH_METHODS,
        ACL_BINDING_RULES,
        ACL_BOOTSTRAP,
        ROOT_KEYS,
        SERVICES,
        VARIABLES,
        LOCK_TIMERS,
        HOST_VOLUMES,
        VOLUME_CLAIMS,
        WEBHOOKS,
        WEBHOOK_DELIVERIES,
    ),
)

NOUN_OF_TOPIC: dict[str, AnyNoun] = {noun.topic: noun for noun in NOUNS if noun.topic}


def owned_by(topic: str) -> list[tuple[AnyNoun, str]]:
    """The nouns whose rows go when one of that topic is deleted, and the index to find them by."""
    return [
        (noun, noun.owner.index)
        for noun in NOUN_OF_TOPIC.values()
        if noun.owner is not None and noun.owner.topic == topic
    ]
