"""The admin: who enters it, and its front page, every table where an operator looks for it.

In: the tables that a user may see. Out: groups in a fixed order; what is in none comes last.
"""

from typing import Any

import msgspec
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.utils.translation import gettext

from cluster.client_address import address_of
from cluster.store.audit_entries import ADMIN
from dashboard.acts import note_denied
from dashboard.people import caller_of, person_of, whom_to_ask
from dashboard.rights import (
    ALL_WORK,
    ENTER_ADMIN,
    EVERYTHING,
    READ_NODES,
    READ_OPERATOR,
    Right,
)
from scheduler.access.caller import Caller

WORK, CLUSTER, ACCESS, INSIDE = "Work", "Cluster", "Access", "Inside"

#: Tables by the names of their models, in the order in which they are shown, with the right that
#: each asks for. One without a line stands last, for managers alone.
GROUPS: dict[str, dict[str, Right]] = {
    WORK: {
        "JobRow": ALL_WORK,
        "EvaluationRow": ALL_WORK,
        "AllocationRow": ALL_WORK,
        "DeploymentRow": ALL_WORK,
        "JobVersionRow": ALL_WORK,
        "JobSubmissionRow": ALL_WORK,
        "JobSummaryRow": ALL_WORK,
        "ServiceRow": ALL_WORK,
        "HostVolumeRow": EVERYTHING,
        "VolumeClaimRow": EVERYTHING,
        "ScalingPolicyRow": ALL_WORK,
        "ScalingEventRow": ALL_WORK,
        "PeriodicLaunchRow": ALL_WORK,
        "LifecycleRow": ALL_WORK,
        "ExplanationRow": ALL_WORK,
        "StoryRow": ALL_WORK,
        "StoryNodeRow": ALL_WORK,
    },
    CLUSTER: {
        "NodeRow": READ_NODES,
        "StagedDrainRow": READ_NODES,
        "NodePoolRow": READ_NODES,
        "NodeUseRow": READ_NODES,
        "NamespaceRow": READ_OPERATOR,
        "NamespaceUseRow": READ_OPERATOR,
        "QuotaRow": READ_OPERATOR,
        "SchedulerSettingsRow": READ_OPERATOR,
        "CollectionOverridesRow": READ_OPERATOR,
        "WebhookRow": READ_OPERATOR,
        "WebhookDeliveryRow": READ_OPERATOR,
    },
    ACCESS: {
        "User": EVERYTHING,
        "Group": EVERYTHING,
        "AclPolicyRow": EVERYTHING,
        "AclRoleRow": EVERYTHING,
        "AclTokenRow": EVERYTHING,
        "AclTokenUseRow": EVERYTHING,
        "JoinTokenRow": EVERYTHING,
        "JoinedNodeRow": EVERYTHING,
        "OneTimeLoginRow": EVERYTHING,
        "OneTimeTokenRow": EVERYTHING,
        "AclAuthMethodRow": EVERYTHING,
        "AclBindingRuleRow": EVERYTHING,
        "ProviderAccount": EVERYTHING,
        "AclBootstrapRow": EVERYTHING,
        "RootKeyRow": READ_OPERATOR,
        "VariableRow": EVERYTHING,
        "LockTimerRow": EVERYTHING,
        "AuditRow": READ_OPERATOR,
    },
    INSIDE: {
        "EventRow": EVERYTHING,
        "CollectionRow": READ_OPERATOR,
        "RehearsalRow": EVERYTHING,
        "LeaseRow": READ_OPERATOR,
        "ListenerRow": READ_OPERATOR,
        "NodeBeatRow": READ_NODES,
        "NodeChannelRow": READ_NODES,
        "StateIndexRow": READ_OPERATOR,
        "TableIndexRow": READ_OPERATOR,
        "EvaluationStubRow": ALL_WORK,
        "JobStubRow": ALL_WORK,
    },
}
TABLES = {name: right for tables in GROUPS.values() for name, right in tables.items()}


def caller_of_request(request: HttpRequest) -> Caller:
    """Whoever sends a request, read once for it: the admin asks dozens of times."""
    known = getattr(request, "caller", None)
    if not isinstance(known, Caller):
        person = caller_of(request.user, person_of(request.user), address_of(request))
        known = msgspec.structs.replace(person, door=ADMIN)
        request.caller = known  # type: ignore[attr-defined] # ours, for this request alone
    return known


def may(request: HttpRequest, right: Right) -> bool:
    """Whether whoever sends a request has a right."""
    return right.holds(caller_of_request(request).access)


def may_see_table(request: HttpRequest, model: type[Model]) -> bool:
    """Whether whoever sends a request has the right that a table asks for."""
    return may(request, TABLES.get(model.__name__, EVERYTHING))


def right_of_table(request: HttpRequest) -> Right | None:
    """What the table that an address of the admin is about asks for; None for another address."""
    match = request.resolver_match
    if match is None or match.namespace != "admin":
        return None
    model = (match.url_name or "").split("_")[1:2]
    return next((right for name, right in TABLES.items() if [name.lower()] == model), None)


class OperatorSite(admin.AdminSite):
    """The admin, its tables in groups instead of by the package that declares them."""

    def has_permission(self, request: HttpRequest) -> bool:
        """Who enters: whoever has something to do here, by the same rights as everywhere."""
        return request.user.is_active and may(request, ENTER_ADMIN)

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Our own sign-in; whoever is signed in is told what is missing."""
        if not request.user.is_authenticated:
            return redirect_to_login(request.GET.get("next", "/admin/"))
        if self.has_permission(request):
            return HttpResponseRedirect("/admin/")
        note_denied(request, ENTER_ADMIN)
        context = {
            "right": ENTER_ADMIN,
            "ask": whom_to_ask(),
            "title": gettext("Not yours to open"),
        }
        return render(request, "admin/denied.html", context, status=403)

    def app_index(
        self, request: HttpRequest, app_label: str, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """A package's own page, named after it: Django would name it after its first group."""
        try:
            name = apps.get_app_config(app_label).verbose_name
        except LookupError as error:
            raise Http404(gettext("no package {app_label}").format(app_label=app_label)) from error
        return super().app_index(request, app_label, {"title": name, **(extra_context or {})})

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """The groups; for a package's own page only what it declares."""
        declared = self._build_app_dict(request, app_label)
        tables = {
            table["object_name"]: table for app in declared.values() for table in app["models"]
        }
        groups = {**GROUPS, INSIDE: (*GROUPS[INSIDE], *sorted(set(tables) - set(TABLES)))}
        return [
            {
                "name": group,
                "app_label": group.lower(),
                "app_url": "",
                "has_module_perms": True,
                "models": found,
            }
            for group, names in groups.items()
            if (found := [tables[name] for name in names if name in tables])
        ]
