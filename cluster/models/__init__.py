"""Rows: what the record looks like in the database. Only `cluster.store` writes them."""

from cluster.models.access import (
    AclPolicyRow,
    JoinedNodeRow,
    JoinTokenRow,
    OneTimeLoginRow,
    OneTimeTokenRow,
)
from cluster.models.acl_auth import AclAuthMethodRow, AclBindingRuleRow
from cluster.models.acl_token import AclBootstrapRow, AclRoleRow, AclTokenRow, AclTokenUseRow
from cluster.models.allocation import AllocationRow
from cluster.models.audit import AuditRow
from cluster.models.deployment import DeploymentRow
from cluster.models.evaluation import EvaluationRow, EvaluationStubRow
from cluster.models.event import EventRow
from cluster.models.explanation import ExplanationRow
from cluster.models.host_volume import HostVolumeRow, VolumeClaimRow
from cluster.models.job import (
    JobRow,
    JobStubRow,
    JobSubmissionRow,
    JobSummaryRow,
    JobVersionRow,
    PeriodicLaunchRow,
)
from cluster.models.keyring import RootKeyRow
from cluster.models.lease import LeaseRow
from cluster.models.lifecycle import LifecycleRow
from cluster.models.namespace import NamespaceRow, NamespaceUseRow, QuotaRow
from cluster.models.node import (
    ListenerRow,
    NodeBeatRow,
    NodeChannelRow,
    NodePoolRow,
    NodeRow,
    NodeUseRow,
)
from cluster.models.rehearsal import RehearsalRow
from cluster.models.scaling import ScalingEventRow, ScalingPolicyRow
from cluster.models.scheduler_settings import (
    CollectionOverridesRow,
    CollectionRow,
    SchedulerSettingsRow,
)
from cluster.models.service import ServiceRow
from cluster.models.staged_drain import StagedDrainRow
from cluster.models.state_index import StateIndexRow, TableIndexRow
from cluster.models.story import StoryNodeRow, StoryRow
from cluster.models.variable import LockTimerRow, VariableRow
from cluster.models.webhook import WebhookDeliveryRow, WebhookRow

__all__ = [
    "AclAuthMethodRow",
    "AclBindingRuleRow",
    "AclBootstrapRow",
    "AclPolicyRow",
    "AclRoleRow",
    "AclTokenRow",
    "AclTokenUseRow",
    "AllocationRow",
    "AuditRow",
    "CollectionOverridesRow",
    "CollectionRow",
    "DeploymentRow",
    "EvaluationRow",
    "EvaluationStubRow",
    "EventRow",
    "ExplanationRow",
    "HostVolumeRow",
    "JobRow",
    "JobStubRow",
    "JobSubmissionRow",
    "JobSummaryRow",
    "JobVersionRow",
    "JoinTokenRow",
    "JoinedNodeRow",
    "LeaseRow",
    "LifecycleRow",
    "ListenerRow",
    "LockTimerRow",
    "NamespaceRow",
    "NamespaceUseRow",
    "NodeBeatRow",
    "NodeChannelRow",
    "NodePoolRow",
    "NodeRow",
    "NodeUseRow",
    "OneTimeLoginRow",
    "OneTimeTokenRow",
    "PeriodicLaunchRow",
    "QuotaRow",
    "RehearsalRow",
    "RootKeyRow",
    "ScalingEventRow",
    "ScalingPolicyRow",
    "SchedulerSettingsRow",
    "ServiceRow",
    "StagedDrainRow",
    "StateIndexRow",
    "StoryNodeRow",
    "StoryRow",
    "TableIndexRow",
    "VariableRow",
    "VolumeClaimRow",
    "WebhookDeliveryRow",
    "WebhookRow",
]
