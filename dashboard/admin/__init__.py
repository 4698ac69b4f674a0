"""The operator's admin: every table to look at, nodes to drain, namespaces and pools to edit.

Rows are edited by operations alone. A table without an admin of its own shows its columns as they
are.
"""

from django.apps import apps
from django.contrib import admin
from django.db.models import Model

from cluster import models
from dashboard.admin import (
    access,
    cluster_acts,
    governance,
    inside,
    keyring,
    people,
    webhooks,
    work,
)
from dashboard.admin.jobs import JobAdmin
from dashboard.admin.nodes import NodeAdmin
from dashboard.admin.rows import ReadOnlyAdmin
from scheduler.state.nouns import NOUNS

_ADMINS: dict[type[Model], type[ReadOnlyAdmin]] = {
    models.NodeRow: NodeAdmin,
    models.JobRow: JobAdmin,
    models.JobVersionRow: work.JobVersionAdmin,
    models.JobSummaryRow: work.JobSummaryAdmin,
    models.JobSubmissionRow: work.JobSubmissionAdmin,
    models.PeriodicLaunchRow: work.PeriodicLaunchAdmin,
    models.EvaluationRow: work.EvaluationAdmin,
    models.EvaluationStubRow: work.CollectedAdmin,
    models.AllocationRow: work.AllocationAdmin,
    models.DeploymentRow: work.DeploymentAdmin,
    models.LifecycleRow: work.LifecycleAdmin,
    models.ExplanationRow: work.ExplanationAdmin,
    models.StoryRow: work.StoryAdmin,
    models.StoryNodeRow: work.StoryNodeAdmin,
    models.NamespaceRow: governance.NamespaceAdmin,
    models.QuotaRow: governance.QuotaAdmin,
    models.NodePoolRow: governance.PoolAdmin,
    models.NamespaceUseRow: inside.NamespaceUseAdmin,
    models.NodeUseRow: inside.NodeUseAdmin,
    models.ServiceRow: work.ServiceAdmin,
    models.HostVolumeRow: work.HostVolumeAdmin,
    models.VolumeClaimRow: work.VolumeClaimAdmin,
    models.ScalingPolicyRow: work.ScalingPolicyAdmin,
    models.ScalingEventRow: work.ScalingEventAdmin,
    models.AclRoleRow: inside.DescribedAdmin,
    models.AclBindingRuleRow: access.BindingRuleAdmin,
    models.AclTokenRow: access.ApiTokenAdmin,
    models.AclTokenUseRow: access.TokenUseAdmin,
    models.JoinTokenRow: access.JoinTokenAdmin,
    models.JoinedNodeRow: access.JoinedNodeAdmin,
    models.OneTimeLoginRow: access.LoginAdmin,
    models.AuditRow: access.AuditTableAdmin,
    models.WebhookRow: webhooks.WebhookAdmin,
    models.WebhookDeliveryRow: webhooks.WebhookDeliveryAdmin,
    models.RootKeyRow: keyring.RootKeyAdmin,
    models.VariableRow: keyring.VariableAdmin,
    models.LockTimerRow: keyring.LockTimerAdmin,
    models.OneTimeTokenRow: access.OneTimeTokenAdmin,
    models.EventRow: inside.EventAdmin,
    models.RehearsalRow: inside.RehearsalAdmin,
    models.CollectionRow: cluster_acts.CollectingAdmin,
    models.SchedulerSettingsRow: cluster_acts.SchedulerSettingsAdmin,
    models.StagedDrainRow: inside.StagedDrainAdmin,
    models.ListenerRow: inside.ListenerAdmin,
    models.NodeBeatRow: inside.BeatAdmin,
    models.NodeChannelRow: inside.ChannelAdmin,
    models.JobStubRow: inside.PurgedJobAdmin,
}

_NOUNS = {noun.table: noun for noun in NOUNS}


def _admin_of(model: type[Model]) -> type[ReadOnlyAdmin]:
    """Its own, or what follows from its declaration: found by name, told by a description."""
    if model in _ADMINS:
        return _ADMINS[model]
    if model._meta.pk.name != "name":
        return ReadOnlyAdmin
    noun = _NOUNS.get(model._meta.db_table)
    is_described = noun is not None and "description" in noun.struct.__struct_fields__
    return inside.DescribedAdmin if is_described else inside.NamedAdmin


for model in apps.get_app_config("cluster").get_models():
    admin.site.register(model, _admin_of(model))

people.register()
