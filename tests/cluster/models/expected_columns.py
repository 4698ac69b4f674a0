"""What the columns of a row must say, read from its body by other code than the store's.

In: a value. Out: every column by name. Timestamps are cut to the microsecond.
"""

from datetime import UTC, datetime, timedelta

from django.apps import apps

from cluster import models
from scheduler.state.node_use import use_of

#: Not of the body: the database's own key, the body, whether a version is still listed, and what
#: a secret is found by.
NOT_OF_THE_BODY = {"body", "is_listed", "secret_hash"}


def moment(instant):
    if not instant:
        return None
    whole = datetime.fromtimestamp(instant // 10**9, UTC)
    return whole + timedelta(microseconds=instant % 10**9 // 1000)


def plain(value, *names):
    return {name: getattr(value, name) for name in names}


def of_evaluation(value):
    names = (
        "id", "namespace", "job_id", "type", "triggered_by", "status", "previous_eval",
        "deployment_id", "create_index", "modify_index", "priority", "story_id",
    )  # fmt: skip
    return plain(value, *names) | {
        "cause_kind": value.cause.kind if value.cause else "",
        "cause_id": value.cause.id if value.cause else "",
        "created_at": moment(value.create_time),
        "modified_at": moment(value.modify_time),
        "wait_until": moment(value.wait_until),
    }


def of_allocation(value):
    names = (
        "id", "namespace", "job_id", "job_create_index", "job_version", "task_group", "node_id",
        "eval_id", "deployment_id", "desired_status", "client_status", "create_index",
        "modify_index", "name",
    )  # fmt: skip
    flags = ("migrate", "reschedule", "force_reschedule", "no_shutdown_delay",
             "migrate_disable_placement")  # fmt: skip
    wanted = [flag for flag in flags if getattr(value.desired_transition, flag)]
    health = value.deployment_status
    return plain(value, *names) | {
        "desired_transition": " ".join(wanted).replace("_", "-"),
        "is_healthy": health.healthy if health else None,
        "cpu_mhz": use_of(value).cpu,
        "memory_mb": use_of(value).memory_mb,
        "restart_count": sum(state.restarts for state in value.task_states.values()),
        "created_at": moment(value.create_time),
        "modified_at": moment(value.modify_time),
    }


def of_deployment(value):
    groups = value.task_groups.values()
    waits = [group for group in groups if group.desired_canaries and not group.promoted]
    names = ("id", "namespace", "job_id", "status", "create_index", "modify_index", "story_id")
    return plain(value, *names) | {
        "created_at": moment(value.create_time),
        "modified_at": moment(value.modify_time),
        "waits_for_promotion": value.is_active and waits != [],
    }


def of_story(value):
    names = ("id", "kind", "namespace", "job_id", "parent_job_id", "actor", "create_index",
             "modify_index")  # fmt: skip
    return plain(value, *names) | {
        "created_at": moment(value.create_time),
        "modified_at": moment(value.modify_time),
    }


def of_story_node(value):
    return plain(value, "node_id", "story_id", "kind") | {
        "linked_index": value.index,
        "is_current": value.current,
        "linked_at": moment(value.at),
    }


def of_node(value):
    names = ("id", "name", "datacenter", "node_pool", "status", "create_index", "modify_index")
    has, keeps = value.node_resources, value.reserved_resources
    drain = value.drain_strategy
    return plain(value, *names) | {
        "eligibility": value.scheduling_eligibility,
        "is_draining": drain is not None,
        "cpu_mhz": max(has.cpu.cpu_shares - keeps.cpu.cpu_shares, 0),
        "memory_mb": max(has.memory.memory_mb - keeps.memory.memory_mb, 0),
        "drain_deadline": moment(drain.force_deadline) if drain else None,
        "status_changed_at": moment(value.status_updated_at * 10**9),
    }


def of_job(value):
    names = ("namespace", "type", "status", "parent_id", "priority", "create_index",
             "modify_index")  # fmt: skip
    return plain(value, *names) | {
        "job_id": value.id,
        "wanted_count": sum(group.count for group in value.task_groups),
        "is_stopped": value.stop,
        "dispatch_token": value.dispatch_idempotency_token if value.dispatched else "",
        "submitted_at": moment(value.submit_time),
    }


def of_job_version(value):
    return plain(value, "namespace", "create_index", "version") | {"job_id": value.id}


def of_token(value):
    return plain(value, "accessor_id", "name", "type") | {
        "created_at": moment(value.create_time),
        "expires_at": moment(value.expiration_time),
    }


def of_scaling_policy(value):
    return plain(value, "id", "type") | {
        "namespace": value.target["Namespace"],
        "job_id": value.target["Job"],
        "task_group": value.target["Group"],
        "is_enabled": value.enabled,
    }


def of_scaling_event(value):
    names = ("namespace", "job_id", "task_group", "create_index")
    return plain(value, *names) | {"happened_at": moment(value.time)}


EXPECTED = {
    models.AclBindingRuleRow: lambda value: plain(value, "id", "auth_method"),
    models.AclBootstrapRow: lambda _: {"name": "bootstrap"},
    models.AclRoleRow: lambda value: plain(value, "id", "name"),
    models.AclTokenRow: of_token,
    models.AllocationRow: of_allocation,
    models.DeploymentRow: of_deployment,
    models.EvaluationRow: of_evaluation,
    models.EvaluationStubRow: of_evaluation,
    models.ExplanationRow: lambda value: plain(
        value, "eval_id", "task_group", "namespace", "job_id", "job_version", "ended"
    ) | {"stored_index": value.index, "size": len(value.packed)},
    models.JobRow: of_job,
    models.JobSubmissionRow: lambda value: plain(value, "namespace", "job_id", "version"),
    models.JobSummaryRow: lambda value: plain(value, "namespace", "job_id"),
    models.JobVersionRow: of_job_version,
    models.LifecycleRow: lambda value: plain(value, "eval_id", "number"),
    models.NamespaceUseRow: lambda value: plain(value, "namespace"),
    models.NodeRow: of_node,
    models.NodeUseRow: lambda value: plain(value, "node_id"),
    models.WebhookDeliveryRow: lambda value: plain(value, "id", "webhook", "state") | {
        "created_at": moment(value.create_time),
        "modified_at": moment(value.modify_time),
    },
    models.ServiceRow: lambda value: plain(
        value, "id", "namespace", "service_name", "job_id", "alloc_id", "node_id"
    ),
    models.HostVolumeRow: lambda value: plain(
        value, "id", "namespace", "name", "node_id", "node_pool", "plugin_id", "create_index",
        "modify_index",
    ) | {
        "state": value.state.value,
        "created_at": moment(value.create_time),
        "modified_at": moment(value.modify_time),
    },
    models.VolumeClaimRow: lambda value: plain(
        value, "id", "namespace", "job_id", "task_group_name", "volume_id"
    ),
    models.VariableRow: lambda value: plain(
        value, "namespace", "path", "key_id", "create_index", "modify_index"
    ) | {
        "is_locked": value.lock is not None,
        "created_at": moment(value.create_time),
        "modified_at": moment(value.modify_time),
    },
    models.LockTimerRow: lambda value: plain(value, "namespace", "path") | {
        "ends_at": moment(value.ends_at)
    },
    models.RootKeyRow: lambda value: plain(value, "key_id", "state") | {
        "created_at": moment(value.create_time),
        "published_at": moment(value.publish_time),
    },
    models.ScalingEventRow: of_scaling_event,
    models.ScalingPolicyRow: of_scaling_policy,
    models.PeriodicLaunchRow: lambda value: plain(value, "namespace", "job_id", "launched") | {
        "last_launch": moment(value.launch)
    },
    models.StagedDrainRow: lambda value: plain(value, "id", "status") | {
        "created_at": moment(value.create_time),
        "modified_at": moment(value.modify_time),
    },
    models.RehearsalRow: lambda value: plain(value, "id", "status") | {
        "asked_at": moment(value.asked_at)
    },
    models.CollectionOverridesRow: lambda _: {"name": "collection"},
    models.StoryRow: of_story,
    models.StoryNodeRow: of_story_node,
    models.SchedulerSettingsRow: lambda _: {"name": "scheduler"},
}  # fmt: skip


#: Rows that have a name and a body, and nothing else.
EXPECTED |= {
    model: lambda value: plain(value, "name")
    for model in apps.get_app_config("cluster").get_models()
    if {field.name for field in model._meta.fields} == {"name", "body"} and model not in EXPECTED
}


#: Of nouns that have nothing but a name to be found by.
EXPECTED |= {
    model: lambda value: plain(value, "name")
    for model in apps.get_app_config("cluster").get_models()
    if model not in EXPECTED and model._meta.pk.name == "name" and hasattr(model, "body")
}


def columns_of(model):
    """Names of the columns that a body must account for."""
    fields = model._meta.concrete_fields
    own_key = {field.name for field in fields if field.get_internal_type() == "BigAutoField"}
    return [field.name for field in fields if field.name not in NOT_OF_THE_BODY | own_key]


def differences(alias):
    """Rows, of any table with bodies, whose columns say something else; and how many were read."""
    found, count = [], 0
    for model, expected in EXPECTED.items():
        for row in model.objects.using(alias):
            count += 1
            said = {name: getattr(row, name) for name in columns_of(model)}
            if said != expected(row.value):
                found.append((model.__name__, said, expected(row.value)))
    return found, count
