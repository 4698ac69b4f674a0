"""The operator's corner: settings of the schedulers, garbage collection, namespaces."""

from typing import Any

from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.body import Body
from cluster.api.encode import to_plain, with_additions
from cluster.api.parameters import quoted, unsigned
from cluster.api.request import Call
from cluster.api.respond import Found, answer_empty, answer_write, read_meta
from cluster.api.watches import watch_table
from cluster.jobspec.problems import error_text
from cluster.operations import job_summaries
from cluster.operations.errors import OperationRefused
from cluster.operations.garbage import demand_collection
from cluster.operations.namespaces import delete_namespace, put_namespace
from cluster.operations.rights import require_reads
from cluster.operations.scheduler_settings import set_scheduler_settings
from scheduler.ports import StateReader
from scheduler.structs.job import Namespace, NamespaceCapabilities, NamespacePoolRules
from scheduler.structs.scheduler_settings import (
    PreemptionConfig,
    SchedulerAlgorithm,
    SchedulerSettings,
)

NAMELESS_NAMESPACE = "Missing Namespace Name"


async def read_scheduler_settings(call: Call) -> HttpResponse:
    """GET /v1/operator/scheduler/configuration."""
    require_reads(call.caller, "operator")

    def work(reader: StateReader) -> Found:
        settings = reader.scheduler_settings()
        index = settings.modify_index
        told = with_additions(settings) if call.additions else to_plain(settings)
        return Found(index=index, body=read_meta(index) | {"SchedulerConfig": told})

    return await answer_read(call, work, watch_table("scheduler_settings"))


async def write_scheduler_settings(call: Call) -> HttpResponse:
    """PUT /v1/operator/scheduler/configuration: replaces all of it."""
    settings = _settings_of(_scheduler_body(call))
    expected = None
    if "cas" in call.query:
        text = call.query.get("cas", "")
        expected = unsigned(text)
        if expected is None:
            problem = f"strconv.ParseUint: parsing {quoted(text)}: invalid syntax"
            raise OperationRefused(f"Error parsing cas value: {problem}")
    written = await call.write(
        set_scheduler_settings, settings, expected_index=expected, ids=False
    )
    body = {"Updated": written.updated, "Index": written.index}
    return answer_write(call.request, body, written.index)


def _scheduler_body(call: Call) -> Body:
    try:
        return call.body("SchedulerConfiguration")
    except OperationRefused as refused:
        if refused.status != OperationRefused.status:
            raise
        raise OperationRefused(f"Error parsing scheduler config: {refused}") from None


async def collect_garbage(call: Call) -> HttpResponse:
    """PUT /v1/system/gc: the leader collects all that may go; nobody waits for it."""
    await call.write(demand_collection, ids=False)
    return answer_empty()


async def reconcile_summaries(call: Call) -> HttpResponse:
    """PUT /v1/system/reconcile/summaries: the counts beside jobs, from their allocations."""
    await call.write(job_summaries.reconcile_summaries, ids=False)
    return answer_empty()


async def write_namespace(call: Call, name: str | None = None) -> HttpResponse:
    """PUT /v1/namespace and /v1/namespace/<name>."""
    if name == "":
        raise OperationRefused(NAMELESS_NAMESPACE)
    body = call.body("Namespace")
    namespace = Namespace(
        name=body.text("Name"),
        description=body.text("Description"),
        quota=body.text("Quota"),
        capabilities=_capabilities_of(body.nested("Capabilities")),
        node_pool_configuration=_pool_rules_of(body.nested("NodePoolConfiguration")),
        required_extra_claims=_claims_of(body, "RequiredExtraClaims"),
        optional_extra_claims=_claims_of(body, "OptionalExtraClaims"),
        meta=body.texts("Meta"),
    )
    if name is not None and namespace.name != name:
        raise OperationRefused("Namespace name does not match request path")
    unlicensed = [
        f"invalid {kind.lower()} configuration: Multi-Cluster {kind} is unlicensed."
        for kind in ("Vault", "Consul")
        if body.has(f"{kind}Configuration")
    ]
    if unlicensed:
        raise OperationRefused(f'Invalid namespace "{namespace.name}": {error_text(unlicensed)}')
    index = await call.write(put_namespace, namespace, ids=False)
    return answer_write(call.request, None, index)


async def remove_namespace(call: Call, name: str) -> HttpResponse:
    """DELETE /v1/namespace/<name>."""
    if not name:
        raise OperationRefused(NAMELESS_NAMESPACE)
    index = await call.write(delete_namespace, name, ids=False)
    return answer_write(call.request, None, index)


def _capabilities_of(body: Body | None) -> NamespaceCapabilities | None:
    if body is None:
        return None

    def names(field: str) -> tuple[str, ...] | None:
        return body.list_of_texts(field) if body.has(field) else None

    return NamespaceCapabilities(
        enabled_task_drivers=names("EnabledTaskDrivers"),
        disabled_task_drivers=names("DisabledTaskDrivers"),
        enabled_network_modes=names("EnabledNetworkModes"),
        disabled_network_modes=names("DisabledNetworkModes"),
    )


def _claims_of(body: Body, field: str) -> dict[str, str] | None:
    return body.texts(field) if body.has(field) else None


def _pool_rules_of(body: Body | None) -> NamespacePoolRules | None:
    if body is None:
        return None
    return NamespacePoolRules(
        default=body.text("Default"),
        allowed=body.list_of_texts("Allowed") if body.has("Allowed") else None,
        denied=body.list_of_texts("Denied") if body.has("Denied") else None,
    )


def _settings_of(body: Body) -> SchedulerSettings:
    preemption: Any = body.nested("PreemptionConfig") or Body({}, "PreemptionConfig")
    return SchedulerSettings(
        scheduler_algorithm=body.text("SchedulerAlgorithm") or SchedulerAlgorithm.BINPACK.value,
        preemption_config=PreemptionConfig(
            system_scheduler_enabled=preemption.flag("SystemSchedulerEnabled"),
            sys_batch_scheduler_enabled=preemption.flag("SysBatchSchedulerEnabled"),
            batch_scheduler_enabled=preemption.flag("BatchSchedulerEnabled"),
            service_scheduler_enabled=preemption.flag("ServiceSchedulerEnabled"),
        ),
        memory_oversubscription_enabled=body.flag("MemoryOversubscriptionEnabled"),
        reject_job_registration=body.flag("RejectJobRegistration"),
        pause_eval_broker=body.flag("PauseEvalBroker"),
        node_limit_for_feasibility_checks=body.number("NodeLimitForFeasibilityChecks"),
    )
