"""The operator's admin: every table to look at, nodes to drain, namespaces and pools to edit.

Rows are edited by operations alone. A table without an admin of its own shows its columns as they
are.
"""

from django.apps import apps
from django.contrib import admin
from django.db.models import Model

from cluster import models
from dashboard.admin import access, governance, inside, people, work
from dashboard.admin.inside import NamedAdmin
from dashboard.admin.nodes import NodeAdmin
from dashboard.admin.rows import ReadOnlyAdmin

_ADMINS: dict[type[Model], type[ReadOnlyAdmin]] = {
    models.NodeRow: NodeAdmin,
    models.JobRow: work.JobAdmin,
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
    models.NamespaceRow: governance.NamespaceAdmin,
    models.QuotaRow: governance.QuotaAdmin,
    models.NodePoolRow: governance.PoolAdmin,
    models.NamespaceUseRow: inside.NamespaceUseAdmin,
    models.NodeUseRow: inside.NodeUseAdmin,
    models.ScalingPolicyRow: work.ScalingPolicyAdmin,
    models.ScalingEventRow: work.ScalingEventAdmin,
    models.AclPolicyRow: inside.DescribedAdmin,
    models.AclRoleRow: inside.DescribedAdmin,
    models.AclBindingRuleRow: access.BindingRuleAdmin,
    models.AclTokenRow: access.ApiTokenAdmin,
    models.JoinTokenRow: access.JoinTokenAdmin,
    models.JoinedNodeRow: access.JoinedNodeAdmin,
    models.OneTimeLoginRow: access.LoginAdmin,
    models.AuditRow: access.AuditTableAdmin,
    models.OneTimeTokenRow: access.OneTimeTokenAdmin,
    models.EventRow: inside.EventAdmin,
    models.CollectionRow: inside.CollectionAdmin,
    models.ListenerRow: inside.ListenerAdmin,
    models.NodeBeatRow: inside.BeatAdmin,
    models.NodeChannelRow: inside.ChannelAdmin,
    models.JobStubRow: inside.PurgedJobAdmin,
}

for model in apps.get_app_config("cluster").get_models():
    is_named = model._meta.pk.name == "name"
    admin.site.register(model, _ADMINS.get(model, NamedAdmin if is_named else ReadOnlyAdmin))

people.register()
