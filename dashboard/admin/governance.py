"""Namespaces, quotas and node pools in the admin: to read, and to make, change and delete.

In: forms. Out: calls of `cluster.operations`, which check the right and the content; a refusal is
told above the form, which keeps what was typed.
"""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop

from cluster.operations.errors import OperationRefused
from cluster.operations.namespaces import delete_namespace, put_namespace
from cluster.operations.node_pools import BUILT_IN_POOLS, delete_node_pool, put_node_pool
from cluster.operations.quotas import delete_quota, put_quota
from cluster.store.access import the_store
from cluster.store.audit_entries import Act
from dashboard.acts import note_refusal
from dashboard.admin.governance_forms import GovernanceForm, NamespaceForm, PoolForm, QuotaForm
from dashboard.admin.inside import DescribedAdmin
from dashboard.operator_site import caller_of_request
from scheduler.access.access import Access
from scheduler.state.noun import Noun
from scheduler.state.nouns import NAMESPACES, NODE_POOLS, QUOTAS


class GovernanceAdmin(DescribedAdmin):
    """One kind of them."""

    noun: Noun[str, Any]
    form_class: type[GovernanceForm]
    put: Callable[..., int]
    remove: Callable[..., int]
    #: In a sentence, and the page that shows one.
    word: str
    page: str
    #: The right that its forms ask for.
    needs: str = gettext_noop("the policy of managers")

    def may_edit(self, access: Access, name: str) -> bool:
        """Whether the operation will let somebody; "": for a new one. Managers, if not said."""
        del name
        return access.is_management

    def refusal(self, name: str) -> str:
        """Why somebody has no form for a name."""
        what = (
            gettext("the {word} {name}").format(word=gettext(self.word), name=name)
            if name
            else gettext("a new {word}").format(word=gettext(self.word))
        )
        return gettext("To write {what} you need {needs}.").format(
            what=what, needs=gettext(self.needs)
        )

    def get_urls(self) -> list[URLPattern]:
        """The form, beside what every table has."""
        name = f"cluster_{self.opts.model_name}_edit"
        view = self.admin_site.admin_view(self.edit_view)
        return [path("edit/", view, name=name), *super().get_urls()]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """With the way to the form, for those who may change it."""
        fields = super().get_readonly_fields(request, obj)
        may = obj is not None and self.may_edit(caller_of_request(request).access, obj.pk)
        return ["edit_link", *fields] if may else fields

    def edit_view(self, request: HttpRequest) -> HttpResponse:
        """GET and POST .../edit/?name=; without a name, a new one."""
        name = request.GET.get("name", "")
        if not self.may_edit(caller_of_request(request).access, name):
            raise PermissionDenied(self.refusal(name))
        stored = the_store().read(lambda reader: reader.get(self.noun, name)) if name else None
        if name and stored is None:
            raise Http404(gettext("no {word} {name}").format(word=gettext(self.word), name=name))
        form = self.make_form(request.POST if request.method == "POST" else None, stored)
        if request.method == "POST" and "_delete" in request.POST and stored is not None:
            return self._deleted(request, name) or self._form_page(request, stored, form)
        if request.method == "POST" and form.is_valid():
            return self._saved(request, stored, form) or self._form_page(request, stored, form)
        return self._form_page(request, stored, form)

    def make_form(self, data: Any, stored: Any) -> GovernanceForm:
        """The form of this kind."""
        return self.form_class(data, stored=stored)

    def _saved(
        self, request: HttpRequest, stored: Any, form: GovernanceForm
    ) -> HttpResponse | None:
        wanted = form.wanted()
        there = the_store().read(lambda reader: reader.get(self.noun, wanted.name))
        if there is not None and (
            stored is None or str(there.modify_index) != request.POST.get("seen")
        ):
            told = gettext(
                "It was changed since you opened it: open it again to see how it stands."
            )
            if stored is None:
                told = gettext("There is a {word} {wanted} already.").format(
                    word=gettext(self.word), wanted=wanted.name
                )
            form.add_error(None, told)
            return None
        if not self._tried(request, form, wanted.name, type(self).put, wanted):
            return None
        messages.success(
            request,
            gettext("The {word} {wanted} is stored.").format(
                word=gettext(self.word), wanted=wanted.name
            ),
        )
        return HttpResponseRedirect(self.address_of(wanted.name))

    def address_of(self, name: str) -> str:
        """The page of one that was stored."""
        return f"/{self.page}/{name}/"

    def shown_beside(self, stored: Any) -> dict[str, Any]:
        """What the form's page shows of a stored one beside its fields."""
        del stored
        return {}

    def _deleted(self, request: HttpRequest, name: str) -> HttpResponse | None:
        if not self._tried(request, None, name, type(self).remove, name):
            return None
        messages.success(
            request,
            gettext("The {word} {name} is deleted.").format(word=gettext(self.word), name=name),
        )
        return HttpResponseRedirect(reverse(f"admin:cluster_{self.opts.model_name}_changelist"))

    def _tried(
        self,
        request: HttpRequest,
        form: GovernanceForm | None,
        name: str,
        operation: Callable[..., int],
        wanted: Any,
    ) -> bool:
        """Whether the operation took it; the form says why not, without one a message does."""
        by = caller_of_request(request)
        now = request.clock.now()  # type: ignore[attr-defined]  # set by request_context
        try:
            operation(the_store(), wanted, by=by, now=now)
        except OperationRefused as refusal:
            note_refusal(request, by, refusal, Act(f"change {self.word}", self.word, name))
            told = gettext("Not changed: {refusal}").format(refusal=str(refusal).strip())
            if form is None:
                messages.error(request, told)
            else:
                form.add_error(None, told)
            return False
        return True

    def _form_page(self, request: HttpRequest, stored: Any, form: GovernanceForm) -> HttpResponse:
        name = stored.name if stored is not None else ""
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Edit the {word} {name}").format(word=gettext(self.word), name=name)
            if name
            else gettext("New {word}").format(word=gettext(self.word)),
            "opts": self.model._meta,
            "form": form,
            "stored": stored,
            "word": self.word,
            "changelist": reverse(f"admin:cluster_{self.opts.model_name}_changelist"),
            "seen": request.POST.get("seen") or (stored.modify_index if stored is not None else 0),
        }
        context |= self.shown_beside(stored) if stored is not None else {}
        return render(request, "admin/cluster/governance.html", context)

    @admin.display(description="Change")
    def edit_link(self, row: Any) -> SafeString:
        """To the form."""
        address = reverse(f"admin:cluster_{self.opts.model_name}_edit", query={"name": row.pk})
        return format_html('<a href="{}">Edit or delete it</a>', address)


class NamespaceAdmin(GovernanceAdmin):
    """Namespaces, for managers."""

    noun, form_class, word, page = NAMESPACES, NamespaceForm, "namespace", "namespaces"
    put, remove = put_namespace, delete_namespace

    def make_form(self, data: Any, stored: Any) -> GovernanceForm:
        form = NamespaceForm(data, stored=stored)
        form.choose_from(quota.name for quota in the_store().read(lambda r: r.list_all(QUOTAS)))
        return form


class QuotaAdmin(GovernanceAdmin):
    """Quotas, for those who may write quotas."""

    noun, form_class, word, page = QUOTAS, QuotaForm, gettext_noop("quota"), "quotas"
    needs = "quota:write"
    put, remove = put_quota, delete_quota

    def may_edit(self, access: Access, name: str) -> bool:
        del name
        return access.writes("quota")


class PoolAdmin(GovernanceAdmin):
    """Node pools, each for those who may write it; the built-in ones for nobody."""

    noun, form_class, word, page = NODE_POOLS, PoolForm, gettext_noop("node pool"), "pools"
    needs = gettext_noop("write on the pool")
    put, remove = put_node_pool, delete_node_pool

    def may_edit(self, access: Access, name: str) -> bool:
        if name in BUILT_IN_POOLS:
            return False
        return access.allows_pool(name, "write") if name else access.has_any_pool()

    def refusal(self, name: str) -> str:
        if name in BUILT_IN_POOLS:
            return gettext("The node pool {name} is built in: it has no form.").format(name=name)
        return super().refusal(name)
