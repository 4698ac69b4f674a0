"""Requests of scenarios as operations: which path means which verb.

In: a method, a path, a body. Out: what the answer names. A path nobody serves yet raises NotBuilt.
"""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass

from cluster.operations.allocations import stop_allocation
from cluster.operations.deployments import (
    fail_deployment,
    pause_deployment,
    promote_deployment,
)
from cluster.operations.job_dispatch import Dispatch, dispatch_job
from cluster.operations.job_versions import revert_job
from cluster.operations.jobs import deregister_job, evaluate_job
from cluster.operations.namespaces import delete_namespace, put_namespace
from cluster.operations.nodes import evaluate_node
from cluster.operations.periodic import force_launch
from cluster.operations.scaling import ScalingRequest, scale_job
from cluster.operations.scheduler_settings import set_scheduler_settings
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Namespace
from scheduler.structs.scheduler_settings import PreemptionConfig, SchedulerSettings
from tests.callers import MANAGER


class NotBuilt(Exception):
    """The scenario asks for something this project does not offer yet."""


@dataclass(frozen=True)
class Reply:
    """What an answer names; `error` is the text of a refusal."""

    eval_id: str = ""
    eval_ids: tuple[str, ...] = ()
    dispatched_job_id: str = ""
    error: str = ""


@dataclass(frozen=True)
class Request:
    """A request whose path was recognised; `name` is the part of the path that names a thing."""

    world: object
    name: str
    query: dict[str, str]
    body: dict

    @property
    def key(self) -> JobKey:
        return JobKey(self.query.get("namespace", "default"), self.name)

    def run(self, operation, *arguments, ids: bool = True, **options):
        means = {"by": MANAGER, "now": self.world.clock.now()} | (
            {"ids": self.world.ids} if ids else {}
        )
        return operation(self.world.store, *arguments, **options, **means)


def call(world, method: str, path: str, query: dict[str, str], body: dict) -> Reply:
    """Do what the request asks. Raises OperationRefused or NotBuilt."""
    for wanted, pattern, view in ROUTES:
        found = re.fullmatch(pattern, path)
        if wanted == method and found:
            name = found.group(1) if found.groups() else ""
            return view(Request(world, name, query, body))
    raise NotBuilt(f"{method} {re.sub(r'[0-9a-f-]{36}', ':id', path)}")


def _deregister(request: Request) -> Reply:
    purge = request.query.get("purge") == "true"
    return Reply(eval_id=request.run(deregister_job, request.key, purge=purge).eval_id)


def _force_periodic(request: Request) -> Reply:
    return Reply(eval_id=request.run(force_launch, request.key).eval_id)


def _evaluate(request: Request) -> Reply:
    force = request.body.get("EvalOptions", {}).get("ForceReschedule", False)
    written = request.run(evaluate_job, request.key, force_reschedule=force)
    return Reply(eval_id=written.eval_id)


def _scale(request: Request) -> Reply:
    wanted = ScalingRequest(
        task_group=request.body["Target"]["Group"], count=request.body.get("Count")
    )
    return Reply(eval_id=request.run(scale_job, request.key, wanted).eval_id)


def _dispatch(request: Request) -> Reply:
    asked = Dispatch(
        payload=base64.b64decode(request.body.get("Payload") or ""),
        meta=request.body.get("Meta") or {},
        id_prefix=request.body.get("IdPrefixTemplate") or "",
        idempotency_token=request.query.get("idempotency_token", ""),
        priority=request.body.get("Priority") or 0,
    )
    dispatched = request.run(dispatch_job, request.key, asked)
    return Reply(eval_id=dispatched.eval_id, dispatched_job_id=dispatched.job_id)


def _revert(request: Request) -> Reply:
    written = request.run(
        revert_job,
        request.key,
        request.body["JobVersion"],
        enforce_prior_version=request.body.get("EnforcePriorVersion"),
    )
    return Reply(eval_id=written.eval_id)


def _stop_allocation(request: Request) -> Reply:
    return Reply(eval_id=request.run(stop_allocation, request.name).eval_id)


def _evaluate_node(request: Request) -> Reply:
    return Reply(eval_ids=request.run(evaluate_node, request.name).eval_ids)


def _settings(request: Request) -> Reply:
    asked = request.body.get("PreemptionConfig", {})
    preemption = PreemptionConfig(
        system_scheduler_enabled=asked.get("SystemSchedulerEnabled", False),
        sys_batch_scheduler_enabled=asked.get("SysBatchSchedulerEnabled", False),
        batch_scheduler_enabled=asked.get("BatchSchedulerEnabled", False),
        service_scheduler_enabled=asked.get("ServiceSchedulerEnabled", False),
    )
    paused = request.body.get("PauseEvalBroker", False)
    settings = SchedulerSettings(preemption_config=preemption, pause_eval_broker=paused)
    request.run(set_scheduler_settings, settings, ids=False)
    return Reply()


def _put_namespace(request: Request) -> Reply:
    request.run(put_namespace, Namespace(name=request.name), ids=False)
    return Reply()


def _delete_namespace(request: Request) -> Reply:
    request.run(delete_namespace, request.name, ids=False)
    return Reply()


def _promote(request: Request) -> Reply:
    groups = tuple(request.body.get("Groups") or ())
    every_group = request.body.get("All", False)
    written = request.run(promote_deployment, request.name, groups=groups, every_group=every_group)
    return Reply(eval_id=written.eval_id)


def _pause(request: Request) -> Reply:
    written = request.run(pause_deployment, request.name, pause=request.body["Pause"])
    return Reply(eval_id=written.eval_id)


def _fail(request: Request) -> Reply:
    return Reply(eval_id=request.run(fail_deployment, request.name).eval_id)


ROUTES: list[tuple[str, str, Callable[[Request], Reply]]] = [
    ("DELETE", r"/v1/job/([^/]+)", _deregister),
    ("PUT", r"/v1/job/([^/]+)/evaluate", _evaluate),
    ("PUT", r"/v1/job/([^/]+)/periodic/force", _force_periodic),
    ("PUT", r"/v1/job/([^/]+)/dispatch", _dispatch),
    ("PUT", r"/v1/job/([^/]+)/revert", _revert),
    ("PUT", r"/v1/job/([^/]+)/scale", _scale),
    ("PUT", r"/v1/allocation/([^/]+)/stop", _stop_allocation),
    ("PUT", r"/v1/deployment/promote/([^/]+)", _promote),
    ("PUT", r"/v1/deployment/pause/([^/]+)", _pause),
    ("PUT", r"/v1/deployment/fail/([^/]+)", _fail),
    ("PUT", r"/v1/node/([^/]+)/evaluate", _evaluate_node),
    ("PUT", r"/v1/operator/scheduler/configuration", _settings),
    ("PUT", r"/v1/namespace/([^/]+)", _put_namespace),
    ("DELETE", r"/v1/namespace/([^/]+)", _delete_namespace),
]
