"""The operator's admin: every table to look at, nodes to drain, namespaces and pools to edit.

Rows are edited by operations alone. A table without a desk of its own shows its columns as they
are.
"""

from django.apps import apps
from django.contrib import admin
from django.db.models import Model

from cluster import models
from dashboard.admin import inside, people, rooms, work
from dashboard.admin.inside import NamedDesk
from dashboard.admin.nodes import NodeDesk
from dashboard.admin.rows import ReadOnlyDesk

_DESKS: dict[type[Model], type[ReadOnlyDesk]] = {
    models.NodeRow: NodeDesk,
    models.JobRow: work.JobDesk,
    models.JobVersionRow: work.JobVersionDesk,
    models.JobSummaryRow: work.JobSummaryDesk,
    models.JobSubmissionRow: work.JobSubmissionDesk,
    models.PeriodicLaunchRow: work.PeriodicLaunchDesk,
    models.EvaluationRow: work.EvaluationDesk,
    models.EvaluationStubRow: work.CollectedDesk,
    models.AllocationRow: work.AllocationDesk,
    models.DeploymentRow: work.DeploymentDesk,
    models.LifecycleRow: work.LifecycleDesk,
    models.ExplanationRow: work.ExplanationDesk,
    models.NamespaceRow: rooms.NamespaceDesk,
    models.QuotaRow: rooms.QuotaDesk,
    models.NodePoolRow: rooms.PoolDesk,
    models.NamespaceUseRow: inside.NamespaceUseDesk,
    models.NodeUseRow: inside.NodeUseDesk,
    models.AclRoleRow: inside.NamedDesk,
    models.AclTokenRow: inside.ApiTokenDesk,
    models.JoinTokenRow: inside.JoinTokenDesk,
    models.OneTimeLoginRow: inside.LoginDesk,
    models.AuditRow: inside.AuditTableDesk,
    models.OneTimeTokenRow: inside.OneTimeTokenDesk,
    models.EventRow: inside.EventDesk,
    models.ListenerRow: inside.ListenerDesk,
    models.NodeBeatRow: inside.BeatDesk,
    models.NodeChannelRow: inside.ChannelDesk,
    models.JobStubRow: inside.PurgedJobDesk,
}

for model in apps.get_app_config("cluster").get_models():
    is_named = model._meta.pk.name == "name"
    admin.site.register(model, _DESKS.get(model, NamedDesk if is_named else ReadOnlyDesk))

people.register()
