"""The routes below `/v1/` (http-api.md 3).

Job ids may hold slashes, so job routes go by their suffix; what has no suffix is an id.
"""

from django.urls import URLPattern, re_path

from cluster.api import (
    allocations,
    client_proxy,
    deployments,
    evaluations,
    events,
    fuzzy_search,
    health,
    host_route,
    job_dispatch,
    job_statuses,
    job_versions,
    job_writes,
    jobs,
    keyring,
    log_following,
    metrics,
    node_pools,
    nodes,
    operator,
    outside,
    plain_nouns,
    quotas,
    rehearsals,
    scaling,
    search,
    server_facts,
    server_group,
    services,
    session_door,
    snapshots,
    staged_drains,
    stories,
    upgrade_check,
    usage,
    variables,
    volumes,
    webhooks,
)
from cluster.api.acl_routes import ACL_ROUTES, OPEN_ACL_ROUTES
from cluster.api.not_built import (
    ENTERPRISE,
    NO_GROUP,
    NO_LICENSE,
    NO_OTHER_SERVERS,
    NO_POOL,
    NOT_BUILT,
    RAFT,
    REFUSED,
    VOLUMES,
    answer_not_built,
)
from cluster.api.not_built_rights import RIGHTS, WITH_CSI, everybody, none_there
from cluster.api.openapi.serve import serve_document
from cluster.api.request import View, door, unknown_path

#: Any text, slashes and line breaks included.
_ANY = r"[\s\S]*"
_SEGMENT = r"[^/]*"
_METHODS = ("GET", "PUT", "POST", "PATCH", "DELETE")
_NAME = r"[^/]+"


def _route(pattern: str, **views: View) -> URLPattern:
    return re_path(rf"^{pattern}\Z", door(views))


def _open_route(pattern: str, **views: View) -> URLPattern:
    """For everybody, whatever token they show."""
    return re_path(rf"^{pattern}\Z", door(views, asks_who=False))


def _open_local_route(pattern: str, **views: View) -> URLPattern:
    return re_path(rf"^{pattern}\Z", door(views, asks_who=False, answers_itself=True))


def _local_route(pattern: str, **views: View) -> URLPattern:
    """Of the process that answers, which is of no region."""
    return re_path(rf"^{pattern}\Z", door(views, answers_itself=True))


def _with_others(pattern: str, others: View, **views: View) -> URLPattern:
    """Where the reference answers further methods by `others`."""
    return re_path(rf"^{pattern}\Z", door(views, others=others))


def _only_put(pattern: str, view: View) -> URLPattern:
    return re_path(rf"^{pattern}\Z", door({"PUT": view}, strict=True))


def _of_job(suffix: str, **views: View) -> URLPattern:
    return _route(rf"job/(?P<job_id>{_ANY})/{suffix}", **views)


def _of_eval(suffix: str, **views: View) -> URLPattern:
    return _route(rf"evaluation/(?P<eval_id>{_ANY}){suffix}", **views)


def _of_node(suffix: str, **views: View) -> URLPattern:
    return _route(rf"node/(?P<node_id>{_ANY}){suffix}", **views)


def _of_alloc(verb: str, **views: View) -> URLPattern:
    return _route(rf"client/allocation/(?P<alloc_id>{_SEGMENT})/{verb}", **views)


_JOBS = [
    _route("jobs", GET=jobs.list_jobs, PUT=job_writes.register),
    _local_route("jobs/parse", PUT=job_writes.parse),
    _route("jobs/statuses", GET=job_statuses.list_statuses, POST=job_statuses.named_statuses),
    _route("validate/job", PUT=job_writes.validate),
    _of_job("allocations", GET=jobs.job_allocations),
    _of_job("evaluations", GET=jobs.job_evaluations),
    _of_job("deployments", GET=jobs.job_deployments),
    _of_job("deployment", GET=jobs.job_deployment),
    _of_job("summary", GET=jobs.job_summary),
    _of_job("usage", GET=usage.of_job),
    _of_job("versions", GET=job_versions.job_versions),
    _of_job("submission", GET=jobs.job_submission),
    _of_job("services", GET=jobs.job_services),
    _of_job("actions", GET=jobs.job_actions),
    _of_job("action", GET=session_door.not_upgraded),
    _of_job("evaluate", PUT=job_writes.evaluate),
    _of_job("periodic/force", PUT=job_writes.force_periodic),
    _of_job("plan", PUT=job_writes.plan),
    _of_job("dispatch", PUT=job_dispatch.dispatch),
    _of_job("dispatch/payload", PUT=job_dispatch.dispatch_payload),
    _of_job("revert", PUT=job_versions.revert),
    _of_job("stable", PUT=job_versions.stable),
    _of_job("scale", GET=scaling.scale_status, PUT=scaling.scale),
    _route(
        rf"job/(?P<job_id>{_NAME})/versions/(?P<name>{_NAME})/tag",
        PUT=job_versions.tag,
        DELETE=job_versions.untag,
    ),
    _route(rf"job/{_ANY}/tag", GET=outside.no_tag, PUT=outside.no_tag, DELETE=outside.no_tag),
    _route(
        rf"job/(?P<job_id>{_ANY})",
        GET=jobs.read_job,
        PUT=job_writes.update,
        DELETE=job_writes.deregister,
    ),
]

_EVALUATIONS = [
    _route("evaluations", GET=evaluations.list_evaluations, DELETE=evaluations.delete),
    _route("evaluations/count", GET=evaluations.count_evaluations),
    _of_eval("/allocations", GET=evaluations.evaluation_allocations),
    _of_eval("/lifecycle", GET=evaluations.evaluation_lifecycle),
    _of_eval("/explanation", GET=evaluations.evaluation_explanation),
    _of_eval("/unblock", GET=evaluations.evaluation_unblock),
    _of_eval("/capsule", GET=evaluations.evaluation_capsule),
    _of_eval("", GET=evaluations.read_evaluation),
]

_ALLOCATIONS = [
    _route("allocations", GET=allocations.list_allocations),
    _route(rf"allocation/(?P<alloc_id>{_SEGMENT})/stop", PUT=allocations.stop),
    _route(rf"allocation/(?P<alloc_id>{_SEGMENT})/services", GET=allocations.allocation_services),
    _route(rf"allocation/(?P<alloc_id>{_SEGMENT})/checks", GET=client_proxy.checks),
    _route(rf"allocation/{_SEGMENT}/{_ANY}", GET=outside.no_resource, PUT=outside.no_resource),
    _route(rf"allocation/(?P<alloc_id>{_SEGMENT})", GET=allocations.read_allocation),
    _of_alloc("exec", GET=session_door.not_upgraded),
    _of_alloc("restart", PUT=client_proxy.restart),
    _of_alloc("signal", PUT=client_proxy.signal),
    _of_alloc("stats", GET=client_proxy.stats),
    _of_alloc("usage", GET=usage.of_allocation),
    _of_alloc("checks", GET=client_proxy.checks),
    # These two take any method.
    _of_alloc("gc", **dict.fromkeys(_METHODS, client_proxy.collect)),
    _route("client/gc", **dict.fromkeys(_METHODS, client_proxy.collect_on_node)),
    _route(
        rf"client/allocation/{_SEGMENT}/{_ANY}", GET=outside.no_resource, PUT=outside.no_resource
    ),
    _route("client/stats", GET=client_proxy.host_stats),
    _route("client/usage", GET=usage.of_node),
    _route("client/identity", GET=client_proxy.read_identity),
    _route("client/identity/renew", PUT=client_proxy.renew_identity),
    _route("client/metadata", GET=client_proxy.read_metadata, POST=client_proxy.change_metadata),
    _with_others(
        rf"client/fs/(?P<verb>logs|ls|stat|cat|readat|stream)/(?P<alloc_id>{_ANY})",
        client_proxy.file_route,
        GET=client_proxy.file_route,
    ),
]

_STORIES = [
    _route("stories", GET=stories.list_stories),
    _route(rf"story/(?P<story_id>{_SEGMENT})", GET=stories.read_story),
]

_DEPLOYMENTS = [
    _route("deployments", GET=deployments.list_deployments),
    *(
        _route(rf"deployment/{verb}/(?P<deployment_id>{_SEGMENT})", PUT=view)
        for verb, view in (
            ("promote", deployments.promote),
            ("pause", deployments.pause),
            ("fail", deployments.fail),
            ("unblock", deployments.unblock),
            ("allocation-health", deployments.set_health),
        )
    ),
    _route(
        rf"deployment/allocations/(?P<deployment_id>{_SEGMENT})",
        GET=deployments.deployment_allocations,
    ),
    _route(rf"deployment/(?P<deployment_id>{_SEGMENT})", GET=deployments.read_deployment),
]

_NODES = [
    _route("nodes", GET=nodes.list_nodes),
    _of_node("/allocations", GET=nodes.node_allocations),
    _of_node("/drain", PUT=nodes.drain),
    _of_node("/eligibility", PUT=nodes.set_eligibility),
    _of_node("/evaluate", PUT=nodes.evaluate),
    _of_node("/purge", PUT=nodes.purge),
    _of_node("", GET=nodes.read_node),
]

_SERVER = [
    _open_local_route("metrics", GET=metrics.metrics),
    _open_local_route(r"openapi\.json", GET=serve_document(lambda: urlpatterns)),
    _open_route("status/leader", GET=server_facts.leader),
    _open_route("status/peers", GET=server_facts.peers),
    _open_local_route("regions", GET=server_facts.regions),
    _local_route("agent/self", GET=server_facts.agent_self),
    _local_route("agent/members", GET=server_facts.members),
    _local_route(
        "agent/servers",
        GET=server_facts.servers,
        PUT=answer_not_built(NO_OTHER_SERVERS, RIGHTS["agent/servers"]),
    ),
    _local_route("agent/join", PUT=server_group.join),
    _local_route("agent/force-leave", PUT=server_group.force_leave),
    _open_local_route("agent/health", GET=health.health),
    _route(
        "agent/schedulers/config",
        GET=server_facts.schedulers,
        PUT=answer_not_built(NO_POOL, RIGHTS["agent/schedulers/config"]),
    ),
    _route(
        "operator/scheduler/configuration",
        GET=operator.read_scheduler_settings,
        PUT=operator.write_scheduler_settings,
    ),
    _route("operator/keyring/keys", GET=keyring.list_keys),
    _route("operator/keyring/rotate", PUT=keyring.rotate),
    _route(rf"operator/keyring/key/(?P<key_id>{_SEGMENT})", DELETE=keyring.remove),
    _route("operator/snapshot", GET=snapshots.save, PUT=snapshots.restore),
    _only_put("system/gc", operator.collect_garbage),
    _only_put("system/reconcile/summaries", operator.reconcile_summaries),
    _route("namespace", PUT=operator.write_namespace),
    _route("quota", PUT=quotas.write_quota),
    _route("quota-usages", GET=quotas.list_usages),
    _route(rf"quota/usage/(?P<name>{_SEGMENT})", GET=quotas.read_usage),
    _route("rehearsals", GET=rehearsals.list_all, PUT=rehearsals.ask),
    _route(
        rf"rehearsal/(?P<rehearsal_id>{_SEGMENT})", GET=rehearsals.read, DELETE=rehearsals.cancel
    ),
    _route("drains", GET=staged_drains.list_all, PUT=staged_drains.start),
    _route(
        rf"drain/(?P<drain_id>{_SEGMENT})", GET=staged_drains.read, DELETE=staged_drains.cancel
    ),
    _route(rf"webhook/(?P<name>{_SEGMENT})/test", PUT=webhooks.test_webhook),
    _route(rf"webhook/(?P<name>{_SEGMENT})/deliveries", GET=webhooks.list_deliveries),
    _route("scaling/policies", GET=scaling.list_policies),
    _route(rf"scaling/policy/(?P<policy_id>{_SEGMENT})", GET=scaling.read_policy),
    _route("search", PUT=search.search),
    _route("search/fuzzy", PUT=fuzzy_search.fuzzy_search),
    _route("event/stream", GET=events.stream),
    *(
        _route(path, GET=outside.empty_list(may_ask))
        for path, may_ask in outside.EMPTY_LISTS.items()
    ),
]

_SERVICES = [
    _route("services", GET=services.list_services),
    _route(
        rf"service/(?P<name>{_SEGMENT})/(?P<service_id>{_NAME})", DELETE=services.remove_service
    ),
    _route(rf"service/(?P<name>{_SEGMENT})", GET=services.service_instances),
    _route(rf"service/{_SEGMENT}/{_NAME}/{_ANY}", GET=services.too_many_parts),
]

_VARIABLES = [
    _route("vars", GET=variables.list_variables),
    _with_others(
        rf"var/(?P<path>{_ANY})",
        variables.no_method,
        GET=variables.read_one,
        PUT=variables.write_one,
        DELETE=variables.remove_one,
        PATCH=variables.no_method,
    ),
]

_VOLUMES = [
    _route("volumes", GET=volumes.list_volumes, PUT=answer_not_built(VOLUMES, WITH_CSI)),
    _route("volumes/claims", GET=volumes.list_claims),
    _route(rf"volumes/claim/(?P<claim_id>{_SEGMENT})", DELETE=volumes.remove_claim),
    _route("volume/host/create", PUT=volumes.create_volume),
    _route("volume/host/register", PUT=volumes.register_volume),
    _route(
        rf"volume/host/(?P<volume_id>{_SEGMENT})",
        GET=volumes.read_volume,
        DELETE=volumes.delete_volume,
    ),
]

_PLAIN_NOUNS = [
    route
    for plain in plain_nouns.PLAIN_NOUNS
    for route in (
        (_open_route if plain.is_list_open else _route)(
            plain.list_path, GET=plain_nouns.list_view(plain), **plain.list_writes
        ),
        _route(
            rf"{plain.row_path}/(?P<name>{_SEGMENT})",
            GET=plain_nouns.read_view(plain),
            **plain.writes,
        ),
    )
]


def _said_not_to_be(table: dict[str, str], status: int) -> list[URLPattern]:
    # Reversing an address reads every pattern, and takes no flags in them.
    return [
        _route(pattern.replace(".*", _ANY), **dict.fromkeys(_METHODS, view) | none_there(pattern))
        for pattern, sentence in table.items()
        for view in [answer_not_built(sentence, RIGHTS.get(pattern, everybody), status=status)]
    ]


_ACL = [
    *(_route(pattern, **views) for pattern, views in ACL_ROUTES.items()),
    *(_open_route(pattern, **views) for pattern, views in OPEN_ACL_ROUTES.items()),
]

_NO_GROUP = answer_not_built(NO_GROUP, RIGHTS[RAFT])


def _of_group(path: str, others: View = server_group.no_method, **views: View) -> URLPattern:
    """Below `operator/`, where PUT does not stand for POST and unknown things are 404."""
    return re_path(rf"^operator/{path}\Z", door(views, strict=True, others=others))


#: Before what is said of their neighbours.
_SERVER_GROUP = [
    _of_group(
        "raft/configuration", server_group.empty_refusal, GET=server_group.raft_configuration
    ),
    _of_group("raft/peer", DELETE=_NO_GROUP),
    _of_group("raft/transfer-leadership", PUT=_NO_GROUP, POST=_NO_GROUP),
    _of_group("autopilot/configuration", GET=server_group.autopilot_configuration, PUT=_NO_GROUP),
    _of_group("autopilot/health", GET=server_group.autopilot_health),
    _of_group(rf"(?:raft|autopilot)/{_ANY}"),
    _route("operator/utilization", PUT=answer_not_built(ENTERPRISE)),
    _route("operator/upgrade-check/vault-workload-identity", GET=upgrade_check.vault_identities),
    _route(rf"operator/upgrade-check/(?P<name>{_ANY})", GET=upgrade_check.no_check),
    _route("operator/license", GET=server_group.no_license, PUT=answer_not_built(NO_LICENSE)),
    _route("agent/schedulers", GET=server_group.schedulers),
    _route("agent/monitor", GET=log_following.monitor),
    _route("agent/monitor/export", GET=log_following.export),
    _route("agent/host", GET=host_route.read_host),
]

urlpatterns: list[URLPattern] = [
    *_SERVER_GROUP,
    # Before the jobs, whose ids may end like any of them.
    *_said_not_to_be(NOT_BUILT, 501),
    *_said_not_to_be(REFUSED, 400),
    *_ACL,
    _route(rf"node/pool/(?P<name>{_ANY})/nodes", GET=node_pools.pool_nodes),
    _route(rf"node/pool/(?P<name>{_ANY})/jobs", GET=node_pools.pool_jobs),
    # Before the nodes, whose ids may be any text.
    *_PLAIN_NOUNS,
    *_JOBS,
    *_EVALUATIONS,
    *_ALLOCATIONS,
    *_STORIES,
    *_DEPLOYMENTS,
    *_NODES,
    *_SERVER,
    *_SERVICES,
    *_VARIABLES,
    *_VOLUMES,
    re_path(rf"^{_ANY}\Z", unknown_path),
]
