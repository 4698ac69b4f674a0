"""The page between an action of the admin and its act: what it does, in numbers, and a rehearsal.

In: rows that were chosen, a form. Out: the page; the act carried out; or the rehearsal asked for,
whose page is the same one, with every answer in its address.
"""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec
from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop, ngettext

from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.store.access import the_store
from cluster.store.audit_entries import Act
from dashboard.acts import note_refusal
from dashboard.admin.act_forms import ActForm
from dashboard.admin.chosen import MOST_CHOSEN, ChoosingAdmin, ChosenRows
from dashboard.operator_site import caller_of_request, may
from dashboard.queries.rehearsals import rehearsal_context
from dashboard.rehearsing import LOOK_AGAIN_S, ask_to_rehearse, plain_problems
from dashboard.rights import Right
from dashboard.texts import plural
from dashboard.wording import count_of, number
from scheduler.errors import IllegalTransition

#: Rows that the page names; the rest is counted.
_MOST_SHOWN = 20

Rows = Sequence[Any]


class AdminAct(msgspec.Struct, frozen=True, kw_only=True):
    """One act on chosen rows."""

    #: Last part of its address, and of its address's name.
    name: str
    title: str
    #: What its button does, as `{} nodes` says with a count.
    verb: str
    #: What the audit calls a refused attempt.
    words: str
    right: Right
    form: type[ActForm]
    heading: str
    #: What it does, in sentences with numbers.
    told: Callable[[HttpRequest, Rows, Any], list[str]]
    #: Does it; None when it was refused and the form says why.
    carry_out: Callable[[HttpRequest, Rows, Any], HttpResponse | None]
    #: What it asks to rehearse; None where nothing can be.
    changes: Callable[[Rows, Any], list[dict[str, Any]]] | None = None
    #: Something ends by it.
    ends: bool = False
    #: It concerns the table, and no rows are chosen for it.
    is_of_table: bool = False
    #: The form before anything is answered.
    initial: Callable[[], dict[str, Any]] = dict
    kept: str = gettext_noop("The reason is kept in the history of each")


class ActingAdmin(ChoosingAdmin):
    """A table with acts."""

    change_list_template = "admin/cluster/tools_list.html"
    acts: tuple[AdminAct, ...] = ()
    #: In a sentence.
    words: tuple[str, str] = plural("{count} row", "{count} rows")
    word: str = "row"
    columns: tuple[str, ...] = ()

    def cells(self, row: Any) -> tuple[str, str, tuple[object, ...]]:
        """Address and name of a row, and what the columns beside the name say of it."""
        del row
        raise AssertionError("each table says what its rows are called")

    def get_urls(self) -> list[URLPattern]:
        """The pages of the acts, beside what every table has."""
        view = self.admin_site.admin_view
        own = [
            path(f"{act.name}/", view(self._view_of(act)), name=self._name_of(act))
            for act in self.acts
        ]
        return own + super().get_urls()

    def _view_of(self, act: AdminAct) -> Callable[[HttpRequest], HttpResponse]:
        return lambda request: self.act_view(request, act)

    def _name_of(self, act: AdminAct) -> str:
        return f"cluster_{self.opts.model_name}_{act.name.replace('-', '_')}"

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """With the ways to what is done to the whole table, for those who may."""
        tools = [
            (reverse(f"admin:{self._name_of(act)}"), f"{gettext(act.title)}…")
            for act in self.acts
            if act.is_of_table and may(request, act.right)
        ]
        return super().changelist_view(request, {"tools": tools, **(extra_context or {})})

    def act_view(self, request: HttpRequest, act: AdminAct) -> HttpResponse:
        """Ask; rehearse; then do."""
        if not may(request, act.right):
            missing = NotAllowed(missing=act.right.word)
            note_refusal(request, caller_of_request(request), missing, Act(act.words))
            raise PermissionDenied(
                gettext("To {told} you need {word}.").format(
                    told=gettext(act.right.told), word=act.right.word
                )
            )
        chosen = ChosenRows((), {}, 0) if act.is_of_table else self.chosen(request)
        names = act.form.base_fields.keys() & request.GET.keys()
        answered = act.initial() | {name: request.GET[name] for name in names}
        sent = request.POST if request.method == "POST" else None
        form = act.form(sent, initial=answered).for_count(chosen.count)
        if request.method != "POST" or not (chosen.rows or act.is_of_table):
            return self._act_page(request, act, chosen, form)
        if "rehearse" in request.POST and act.changes is not None:
            return self._rehearse(request, act, chosen, form.for_rehearsal())
        if "use" in request.POST:
            chosen_form = form.offered(request.POST["use"]).for_count(chosen.count)
            return self._act_page(request, act, chosen, chosen_form)
        answer = None
        if form.is_valid() and self._is_as_seen(request, chosen, form):
            answer = act.carry_out(request, chosen.rows, form)
        return answer or self._act_page(request, act, chosen, form)

    def _is_as_seen(self, request: HttpRequest, chosen: ChosenRows, form: ActForm) -> bool:
        """Whether these are the rows whose page was read; the form says so where they are not."""
        if chosen.is_too_many:
            form.add_error(
                None,
                gettext(
                    "At most {most_chosen} at once: these are {count}. Narrow the list."
                ).format(most_chosen=number(MOST_CHOSEN), count=number(chosen.count)),
            )
            return False
        seen = request.POST.get("chosen")
        if seen == chosen.digest or (seen is None and not chosen.is_across):
            return True
        form.add_error(
            None,
            gettext(
                "The choice changed since you opened this page: it is {count_of} now. "
                "Nothing was done; look again."
            ).format(count_of=count_of(len(chosen.rows), *self.words)),
        )
        return False

    def _rehearse(
        self, request: HttpRequest, act: AdminAct, chosen: ChosenRows, form: ActForm
    ) -> HttpResponse:
        """Ask what it would do; the page that shows it has all answers in its address."""
        assert act.changes is not None, "asked before"
        if not form.is_valid() or chosen.is_too_many:
            self._is_as_seen(request, chosen, form)
            return self._act_page(request, act, chosen, form)
        try:
            changes = act.changes(chosen.rows, form)
            asked = ask_to_rehearse(the_store(), changes, **moment_of(request))
        except OperationRefused as refusal:
            told = Act(f"rehearse: {act.words}")
            note_refusal(request, caller_of_request(request), refusal, told)
            why = plain_problems(refusal)
            messages.error(request, gettext("Not rehearsed: {refusal}").format(refusal=why))
            return self._act_page(request, act, chosen, form)
        answers = {**chosen.query, "rehearsal": asked.id} | form.as_query()
        return HttpResponseRedirect(f"{request.path}?{urlencode(answers)}")

    def _act_page(
        self, request: HttpRequest, act: AdminAct, chosen: ChosenRows, form: ActForm
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": gettext(act.title),
            "heading": gettext(act.heading),
            "opts": self.model._meta,
            "changelist": reverse(f"admin:cluster_{self.opts.model_name}_changelist"),
            "act": act,
            "kept": gettext(act.kept),
            "form": form,
            "rehearses": act.changes is not None,
            "chosen": chosen,
            "told": act.told(request, chosen.rows, form) if chosen.rows or act.is_of_table else [],
            "verb": gettext(act.verb).format(rows=count_of(chosen.count, *self.words)),
            "counted": count_of(chosen.count, *self.words),
            "columns": self.columns,
            "lines": [self.cells(row) for row in chosen.rows[:_MOST_SHOWN]],
            "more": max(0, chosen.count - _MOST_SHOWN),
        }
        wanted = request.GET.get("rehearsal", "") if act.changes is not None else ""
        if wanted:
            by, now = caller_of_request(request), moment_of(request)["now"]
            found = the_store().read(lambda reader: rehearsal_context(reader, wanted, by, now))
            context |= {"rehearsal": found, "gone": found is None}
            context |= {"look_again": request.get_full_path(), "look_again_s": LOOK_AGAIN_S}
        return render(request, "admin/cluster/act.html", context)

    def change_all(
        self,
        request: HttpRequest,
        rows: Rows,
        change: Callable[[Any], object],
        *,
        told: str,
        done: str,
        leads_to: str = "",
    ) -> list[Any]:
        """Change each row, log it, and say which were changed and which refused; the former."""
        changed = [row for row in rows if tried(request, row, change, self.word)]
        if not changed:
            return []
        log_acts(request, changed, told)
        words = ngettext("{rows} is {done}", "{rows} are {done}", len(changed)).format(
            rows=count_of(len(changed), *self.words), done=done
        )
        messages.success(request, format_html("{}: {}", words, self._links(changed, leads_to)))
        return changed

    def _links(self, rows: Rows, leads_to: str) -> SafeString:
        """Names of rows, linked to where each is followed; those beyond a page's are counted."""
        cells = (self.cells(row) for row in rows[:_MOST_SHOWN])
        ways = zip(rows, cells, strict=False)
        named = ((leads_to.format(row.pk) or own, name) for row, (own, name, _) in ways)
        links = format_html_join(", ", '<a href="{}">{}</a>', named)
        more = len(rows) - _MOST_SHOWN
        told = gettext("{links} and {count} more")
        return format_html(told, links=links, count=number(more)) if more > 0 else links


def log_acts(request: HttpRequest, rows: Rows, told: str) -> None:
    """A line in the history of each."""
    user_id = request.user.pk
    assert user_id is not None, "the admin is for people who are signed in"
    LogEntry.objects.log_actions(user_id, list(rows), CHANGE, told)


def moment_of(request: HttpRequest) -> dict[str, Any]:
    """Who asks, when, and ids: what operations are given."""
    return {
        "by": caller_of_request(request),
        "now": request.clock.now(),  # type: ignore[attr-defined]  # set by request_context
        "ids": request.ids,  # type: ignore[attr-defined]  # set by request_context
    }


def tried(request: HttpRequest, row: Any, change: Callable[[Any], object], word: str) -> bool:
    """Whether a row took the change; says why not."""
    try:
        change(row)
    except (OperationRefused, IllegalTransition) as refusal:
        by = caller_of_request(request)
        note_refusal(request, by, refusal, Act(f"change {word}", word, str(row.pk)))
        name = getattr(row, "name", "") or getattr(row, "job_id", "") or row.pk
        messages.error(
            request, gettext("Not changed: {name}, {refusal}").format(name=name, refusal=refusal)
        )
        return False
    return True
