"""Every operation is told who wants it, asks whether they may, and names them in its write."""

import ast
import inspect
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from cluster import operations
from cluster.operations.errors import NotAllowed, NotFound
from cluster.operations.variables import put_items
from scheduler.access.caller import ANONYMOUS, CLUSTER
from scheduler.messages import Reap
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.keyring_noun import ROOT_KEYS
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import (
    ACL_AUTH_METHODS,
    ACL_BINDING_RULES,
    ACL_POLICIES,
    ACL_ROLES,
    ACL_TOKENS,
    NAMESPACES,
    NODE_POOLS,
    QUOTAS,
)
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.state.service_noun import SERVICES
from scheduler.state.staged_drain_noun import STAGED_DRAINS
from scheduler.state.variable_nouns import LOCK_TIMERS, VARIABLES
from scheduler.state.volume_nouns import HOST_VOLUMES, VOLUME_CLAIMS
from scheduler.state.webhook_nouns import WEBHOOK_DELIVERIES, WEBHOOKS
from scheduler.state.writes.jobs import name_version, write_job
from scheduler.structs.acl_auth import AuthConfig, AuthMethod, BindingRule
from scheduler.structs.acl_policy import AclPolicy
from scheduler.structs.acl_token import AclRole, AclToken, PolicyLink
from scheduler.structs.allocation import ClientStatus, DesiredTransition
from scheduler.structs.collection import CollectionOverrides, forced_cutoffs
from scheduler.structs.deployment import Deployment, GroupRollout
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.host_volume import DynamicVolume, VolumeClaim
from scheduler.structs.job import Namespace, ParameterizedJob, Periodic, VersionTag
from scheduler.structs.node import DrainStrategy, NodeEvent, NodePool, NodeStatus
from scheduler.structs.quota import QuotaSpec
from scheduler.structs.rehearsal import RehearsalStatus, StoredRehearsal
from scheduler.structs.root_key import RootKeyState
from scheduler.structs.scheduler_settings import NodeRejection, SchedulerSettings
from scheduler.structs.service_registration import ServiceRegistration
from scheduler.structs.staged_drain import StagedDrain
from scheduler.structs.variable import LockTimer, VariableLock
from scheduler.structs.webhook import Webhook, WebhookDelivery
from tests.builders import (
    SOME_MOMENT,
    CountingIDs,
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
)
from tests.callers import MANAGER
from tests.root_keys import root_key

PACKAGE = Path(inspect.getfile(operations)).parent
MODULES = sorted(file.stem for file in PACKAGE.glob("*.py") if file.stem != "__init__")
METHOD = AuthMethod(
    name="sso",
    type="JWT",
    token_locality="local",
    max_token_ttl=3600 * 10**9,
    config=AuthConfig(jwks_url="https://sso.example/keys"),
)
RULE = BindingRule(auth_method="sso", bind_type="management")
PARENT = make_job(id="parent", type="batch", parameterized_job=ParameterizedJob())
TWICE = make_job(id="twice")
CRON = make_job(id="cron", type="batch", periodic=Periodic(specs=("@daily",)))
REAP = Reap(core_job="force-gc", started_at=1, cutoffs=forced_cutoffs(SOME_MOMENT))
DEPLOYMENT = "dddddddd-0000-0000-0000-000000000001"
SERVICE = ServiceRegistration(
    id="_nomad-task-a-group-g-web-http", alloc_id="a", service_name="web", namespace="default"
)
VOLUME = DynamicVolume(name="data", namespace="default", plugin_id="mkdir")
MADE = replace(VOLUME, id="v1", name="made")
#: Their right is what an agent shows, not what somebody was granted.
OF_AGENTS = {"register_node", "report_from_client", "report_services"}
#: Their right is what was proved before, or that nobody has any yet.
OF_PROOFS = {"bootstrap", "token_for"}


def sources():
    for name in MODULES:
        yield name, ast.parse((PACKAGE / f"{name}.py").read_text())


def is_operation(function):
    """Whether somebody outside calls it with a store."""
    arguments = [*function.args.args, *function.args.kwonlyargs]
    annotations = [ast.unparse(each.annotation) for each in arguments if each.annotation]
    return not function.name.startswith("_") and any("StateStore" in text for text in annotations)


OPERATIONS = {
    function.name: f"cluster.operations.{name}"
    for name, tree in sources()
    for function in tree.body
    if isinstance(function, ast.FunctionDef) and is_operation(function)
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_must_be_told_who_wants_it(name):
    operation = getattr(import_module(OPERATIONS[name]), name)
    by = inspect.signature(operation).parameters.get("by")
    assert by is not None
    assert (by.kind, by.default) == (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty)


def test_every_write_of_an_operation_names_who_wants_it():
    unnamed = [
        f"{name}.py:{call.lineno}"
        for name, tree in sources()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and (call.func.attr, ast.unparse(call.func.value)) == ("write", "store")
        and not any(keyword.arg == "by" for keyword in call.keywords)
    ]
    assert unnamed == []


def module(name):
    return import_module(f"cluster.operations.{name}")


def arguments_of(world):
    """What each operation is called with, beside the store, the moment and the identifiers."""
    jobs, nodes, allocations = module("jobs"), module("nodes"), module("allocations")
    node, alloc, job = world.node, world.alloc, world.job
    note = module("scaling").ScalingRequest(task_group="web", message="why not")
    strategy = DrainStrategy(deadline=1)
    report = allocations.NodeReport(node_id=node.id, allocations=(alloc,))
    return {
        "register_job": ((jobs.JobRegistration(job=job),), {}),
        "deregister_job": ((job.key,), {}),
        "evaluate_job": ((job.key,), {}),
        "scale_job": ((job.key, note), {}),
        "dispatch_job": ((PARENT.key, module("job_dispatch").Dispatch()), {}),
        "revert_job": ((TWICE.key, 0), {}),
        "mark_job_stable": ((TWICE.key, 0), {}),
        "tag_version": ((TWICE.key, "good"), {}),
        "untag_version": ((TWICE.key, "first"), {}),
        "launch_due": ((world.cron.key,), {}),
        "force_launch": ((world.cron.key,), {}),
        "stop_allocation": ((alloc.id,), {}),
        "mark_draining": (({alloc.id: DesiredTransition(migrate=True)},), {}),
        "report_from_client": (((report,),), {}),
        "promote_deployment": ((DEPLOYMENT,), {"every_group": True}),
        "pause_deployment": ((DEPLOYMENT,), {"pause": True}),
        "fail_deployment": ((DEPLOYMENT,), {}),
        "set_allocation_health": ((DEPLOYMENT,), {"healthy": (alloc.id,), "unhealthy": ()}),
        "step_deployments": (({DEPLOYMENT: ()},), {}),
        "end_deployment": ((DEPLOYMENT,), {"is_late": True, "rolls_back": False}),
        "promote_by_itself": ((DEPLOYMENT,), {}),
        "delete_evaluations": (([world.evaluation.id],), {}),
        "delete_where_possible": (([world.evaluation.id],), {}),
        "demand_collection": ((), {}),
        "set_collection_overrides": ((CollectionOverrides(job_age=60),), {}),
        "reap": ((REAP,), {}),
        "reconcile_summaries": ((), {}),
        "put_namespace": ((Namespace(name="team"),), {}),
        "delete_namespace": (("team",), {}),
        "put_quota": ((QuotaSpec(name="small"),), {}),
        "delete_quota": (("small",), {}),
        "put_node_pool": ((NodePool(name="gpu"),), {}),
        "delete_node_pool": (("gpu",), {}),
        "put_policy": ((AclPolicy(name="p"),), {}),
        "delete_policy": (("anonymous",), {}),
        "put_built_in_policies": ((), {}),
        "create_token": ((AclToken(type="management"),), {}),
        "update_token": ((AclToken(accessor_id="t1", type="management"),), {}),
        "delete_tokens": ((["t1"],), {}),
        "put_role": ((AclRole(name="r", policies=(PolicyLink(name="p"),)),), {}),
        "delete_role": (("r1",), {}),
        "put_auth_method": ((METHOD,), {}),
        "delete_auth_method": (("sso",), {}),
        "put_binding_rule": ((RULE,), {}),
        "delete_binding_rule": (("b1",), {}),
        "register_node": ((node,), {"secret": "wrong", "may_join": False}),
        "update_status": ((node.id, NodeStatus.DOWN), {}),
        "drain_itself": ((node.id, strategy), {}),
        "mark_node_unresponsive": ((node.id,), {}),
        "drain_node": ((node.id, nodes.DrainRequest(strategy=strategy)), {}),
        "complete_drain": (((node.id,),), {}),
        "set_node_eligibility": ((node.id, "ineligible"), {}),
        "evaluate_node": ((node.id,), {}),
        "purge_node": ((node.id,), {}),
        "add_node_events": ((node.id, (NodeEvent(message="hello"),)), {}),
        "put_webhook": ((Webhook(name="w"),), {"url": "https://chat.example/x", "secret": ""}),
        "delete_webhook": (("w",), {}),
        "send_test": (("w",), {}),
        "queue_deliveries": (({"w": (("line",), ("key",))},), {}),
        "note_attempts": ((), {"attempts": (module("webhooks").SendAttempt(id="d1"),)}),
        "report_services": (
            (module("services").ServiceReport(node_id=node.id, registered=(SERVICE,)),),
            {},
        ),
        "delete_service": (("default", SERVICE.id), {}),
        "begin_volume": ((VOLUME,), {"registers": False}),
        "note_made": ((MADE,), {}),
        "release_volume": (("default", MADE.id), {}),
        "keep_volume": ((MADE,), {}),
        "forget_volume": (("default", MADE.id), {}),
        "delete_claim": (("default", "c1"), {}),
        "put_variable": (("default", "app", {"a": "b"}), {}),
        "delete_variable": (("default", "app"), {}),
        "rekey_variables": ((), {}),
        "acquire_lock": (("default", "app"), {}),
        "renew_lock": (("default", "held", "l1"), {}),
        "release_lock": (("default", "held", "l1"), {}),
        "end_overdue_locks": ((), {}),
        "rearm_locks": ((), {}),
        "keep_keyring": ((), {}),
        "rotate_root_key": ((), {}),
        "delete_root_key": (("old",), {}),
        "issue_node_identity": ((node.id,), {}),
        "set_scheduler_settings": ((SchedulerSettings(),), {}),
        "set_node_rejection": ((NodeRejection(refusals=15),), {}),
        "start_staged_drain": (
            (module("staged_drains").StagedDrainRequest(node_ids=(node.id,), at_once=1),),
            {},
        ),
        "advance_staged_drain": (("s1",), {}),
        "cancel_staged_drain": (("s1",), {}),
        "ask_rehearsal": (("{}",), {"keep": 5, "keep_for": 10**18}),
        "begin_rehearsal": (("waits", "web"), {}),
        "note_rehearsal": ((StoredRehearsal(id="runs"),), {}),
        "end_rehearsal": ((StoredRehearsal(id="runs", status=RehearsalStatus.COMPLETE),), {}),
        "cancel_rehearsal": (("waits",), {}),
        "fail_silent_rehearsals": ((), {}),
    }


def put_variables(change):
    """One that is free, one whose lock is held, and a timer that is overdue."""
    put_items(change, None, "default", "app", {"a": "b"})
    held = put_items(change, None, "default", "held", {})
    change.put(VARIABLES, replace(held, lock=VariableLock(id="l1", ttl=1, lock_delay=1)))
    change.put(SERVICES, replace(SERVICE, id="_nomad-task-a-other"))
    change.put(SERVICES, SERVICE)
    change.put(HOST_VOLUMES, MADE)
    change.put(VOLUME_CLAIMS, VolumeClaim(id="c1", namespace="default", volume_id=MADE.id))
    for path, ends in {"held": SOME_MOMENT + 1, "gone": 1}.items():
        timer = LockTimer(namespace="default", path=path, renewable_until=ends, ends_at=ends)
        change.put(LOCK_TIMERS, timer)


@pytest.fixture
def world():
    """A record with one of everything that operations change."""
    store = MemoryStateStore()
    held = SimpleNamespace(store=store, job=make_job(), evaluation=None, alloc=None)
    held.node = make_node(1, secret_id=module("nodes").hash_secret("right"))
    held.node = replace(
        held.node,
        attributes={**held.node.attributes, "plugins.host_volume.mkdir.version": "0.0.1"},
    )

    def fill_first(change):
        write_job(change, TWICE)
        name_version(change, TWICE.key, 0, VersionTag(name="first"))
        change.put(REHEARSALS, StoredRehearsal(id="waits"))
        change.put(REHEARSALS, StoredRehearsal(id="runs", status=RehearsalStatus.RUNNING))

    def fill(change):
        write_job(change, replace(TWICE, priority=60))
        job = write_job(change, held.job)
        write_job(change, PARENT)
        held.cron = write_job(change, CRON)
        put_found(change, held.node)
        held.alloc = make_allocation(
            job,
            node_id=held.node.id,
            deployment_id=DEPLOYMENT,
            client_status=ClientStatus.RUNNING,
        )
        held.evaluation = make_evaluation(2, job_id="gone", status=EvalStatus.COMPLETE)
        rollouts = {"group": GroupRollout(desired_total=1)}
        put_found(change, held.alloc)
        put_found(change, held.evaluation)
        put_found(change, Deployment(id=DEPLOYMENT, job_id=job.id, task_groups=rollouts))
        change.put(NAMESPACES, Namespace(name="team", create_index=1))
        change.put(QUOTAS, QuotaSpec(name="small", create_index=1))
        change.put(NODE_POOLS, NodePool(name="gpu", create_index=1))
        change.put(ACL_TOKENS, AclToken(accessor_id="t1"))
        change.put(ACL_ROLES, AclRole(id="r1", name="other"))
        change.put(ACL_AUTH_METHODS, METHOD)
        change.put(ACL_BINDING_RULES, replace(RULE, id="b1"))
        change.put(WEBHOOKS, Webhook(name="w"))
        change.put(WEBHOOK_DELIVERIES, WebhookDelivery(id="d1", webhook="w"))
        change.put(STAGED_DRAINS, StagedDrain(id="s1", node_ids=("gone",)))
        change.put(ROOT_KEYS, root_key("new"))
        change.put(ROOT_KEYS, root_key("old", state=RootKeyState.REKEYING))
        put_variables(change)

    store.write(WriteKind.JOB_REGISTERED, fill_first, now=SOME_MOMENT)
    store.write(WriteKind.PLAN_RESULT, fill, now=SOME_MOMENT)
    paused = SchedulerSettings(pause_eval_broker=True)
    module("scheduler_settings").set_scheduler_settings(store, paused, by=CLUSTER, now=1)
    return held


def perform(world, name, by):
    operation = getattr(import_module(OPERATIONS[name]), name)
    given, named = arguments_of(world)[name]
    means = {"by": by, "now": SOME_MOMENT}
    if "ids" in inspect.signature(operation).parameters:
        means["ids"] = CountingIDs()
    return operation(world.store, *given, **named, **means)


@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - OF_PROOFS))
def test_an_operation_refuses_whoever_was_granted_nothing(world, name):
    before = world.store.index

    if name == "report_from_client":
        _, (refusal,) = perform(world, name, ANONYMOUS)
        assert isinstance(refusal, NotAllowed)
    else:
        with pytest.raises((NotAllowed, NotFound)):
            perform(world, name, ANONYMOUS)
    assert world.store.index == before


class Watched:
    """A store that notes who asked for its writes."""

    def __init__(self, store):
        self._store = store
        self.named = []

    def __getattr__(self, name):
        return getattr(self._store, name)

    def write(self, kind, work, **means):
        def noting(change):
            self.named.append(change.by)
            return work(change)

        return self._store.write(kind, noting, **means)


@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - OF_AGENTS - OF_PROOFS))
def test_an_operation_lets_a_manager_in_and_names_them_in_the_transaction(world, name):
    if name == "put_role":
        # Not for all: the built-in policies are written where there never was one.
        policy = AclPolicy(name="p")
        world.store.write("made", lambda change: change.put(ACL_POLICIES, policy), now=SOME_MOMENT)
    world.store = Watched(world.store)

    perform(world, name, MANAGER)

    assert world.store.named == [MANAGER]


def test_an_agent_is_let_in_by_the_secret_of_its_node(world):
    report = module("allocations").NodeReport
    right = report(node_id=world.node.id, secret="right", allocations=(world.alloc,))
    wrong = report(node_id=world.node.id, secret="wrong", allocations=(world.alloc,))
    operation = module("allocations").report_from_client

    _, refusals = operation(
        world.store, (right, wrong), by=ANONYMOUS, now=SOME_MOMENT, ids=CountingIDs()
    )

    assert refusals[0] is None
    assert isinstance(refusals[1], NotAllowed)
