"""Accounts and groups in the admin: who is in which group, and which policies a group has.

In: forms of Django's own tables. Out: accounts, groups and their policies; what that adds up to is
shown beside. Django's permissions play no part: rights come from policies alone.
"""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as _GroupAdmin
from django.contrib.auth.admin import UserAdmin as _DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy

from cluster.models import AclPolicyRow
from dashboard.admin.watched import Watched, watched
from dashboard.models import MANAGEMENT, GroupPolicy, ProviderAccount
from dashboard.operator_site import may_see_table
from dashboard.people import grants_of, person_with
from dashboard.queries.rights_told import rights_table
from dashboard.wording import count_of

if TYPE_CHECKING:
    _GroupForm = forms.ModelForm[Group]
    _UserAdmin = _DjangoUserAdmin[User]
    _ModelAdmin = admin.ModelAdmin[ProviderAccount]
else:
    _GroupForm = forms.ModelForm
    _UserAdmin = _DjangoUserAdmin
    _ModelAdmin = admin.ModelAdmin

_BOXES = forms.CheckboxSelectMultiple


class ByRight:
    """A table that opens for those who have the right of its line, for everything at once."""

    model: Any

    def _opens(self, request: HttpRequest) -> bool:
        return may_see_table(request, self.model)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Whether the table stands on the front page."""
        return self._opens(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether its rows may be looked at."""
        del obj
        return self._opens(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whether rows may be made."""
        return self._opens(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether rows may be changed."""
        del obj
        return self._opens(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether rows may be deleted."""
        del obj
        return self._opens(request)


class GroupForm(_GroupForm):
    """A group's name and its policies."""

    policies = forms.MultipleChoiceField(
        required=False,
        widget=_BOXES,
        help_text=gettext_lazy("What the people of this group may do, from their next action on."),
    )

    class Meta:
        model = Group
        fields = ("name",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        held = list(self.instance.policies.values_list("policy", flat=True)) if self._id else []
        self.fields["policies"].choices = _choices(held)  # type: ignore[attr-defined] # a choice field
        self.fields["policies"].initial = held

    @property
    def _id(self) -> int | None:
        return self.instance.pk


def _choices(held: list[str]) -> list[tuple[str, str]]:
    stored = [row.value for row in AclPolicyRow.objects.order_by("name")]
    told = [(each.name, f"{each.name}: {each.description}" if each.description else each.name)
            for each in stored]  # fmt: skip
    known = {each.name for each in stored} | {MANAGEMENT}
    gone = [
        (name, gettext("{name}: not in the record, grants nothing").format(name=name))
        for name in held
        if name not in known
    ]
    return [(MANAGEMENT, gettext("Everything: management, without any policy")), *told, *gone]


class GroupAdmin(Watched, ByRight, _GroupAdmin):
    """Groups: their policies, their people, and what the policies add up to."""

    form = GroupForm
    list_display = ("name", "of_policies", "people")
    fields = ("name", "policies", "members", "rights")
    readonly_fields = ("members", "rights")
    filter_horizontal = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Group]:
        """Each with the number of its people."""
        groups: QuerySet[Group] = super().get_queryset(request)
        return groups.annotate(people_count=Count("user", distinct=True)).prefetch_related(
            "policies"
        )

    def save_related(self, request: Any, form: Any, formsets: Any, change: Any) -> None:
        """The policies, once the group is there."""
        super().save_related(request, form, formsets, change)
        group, wanted = form.instance, set(form.cleaned_data["policies"])
        group.policies.exclude(policy__in=wanted).delete()
        held = set(group.policies.values_list("policy", flat=True))
        GroupPolicy.objects.bulk_create(
            GroupPolicy(group=group, policy=name) for name in sorted(wanted - held)
        )

    @admin.display(description="Policies")
    def of_policies(self, group: Group) -> str:
        """Their names, in one line."""
        names = sorted(each.policy for each in group.policies.all())
        return ", ".join("everything" if name == MANAGEMENT else name for name in names) or "none"

    @admin.display(description="People", ordering="people_count")
    def people(self, group: Any) -> str:
        """How many accounts are in it."""
        return count_of(group.people_count, "{count} account", "{count} accounts")

    @admin.display(description=gettext_lazy("People in it"))
    def members(self, group: Group) -> SafeString | str:
        """Each with a link to the account, where groups are chosen."""
        users = User.objects.filter(groups=group).order_by("username") if group.pk else ()
        return format_html_join(
            ", ",
            '<a href="/admin/auth/user/{}/change/">{}</a>',
            ((user.pk, user.get_username()) for user in users),
        ) or format_html(
            "<span>{}</span>", gettext("nobody: choose groups on the page of an account")
        )

    @admin.display(description=gettext_lazy("What that adds up to"))
    def rights(self, group: Group) -> SafeString | str:
        """The same table as on everybody's own page."""
        if not group.pk:
            return gettext("Save the group first.")
        person = person_with(grants_of(Group.objects.filter(pk=group.pk)))
        return SafeString(
            render_to_string("dashboard/partials/_rights.html", rights_table(person))
        )


class UserAdmin(Watched, ByRight, _UserAdmin):
    """Accounts: name, password, groups; and whether they may sign in at all."""

    list_display = ("username", "email", "signs_in", "of_groups", "last_login")
    list_filter = ("is_active", "is_superuser", "groups")
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("Person", {"fields": ("first_name", "last_name", "email")}),
        (
            "Rights",
            {
                "fields": ("is_active", "groups", "is_superuser"),
                "description": gettext_lazy(
                    "Rights come from the policies of groups. A superuser may do"
                    " everything without any group."
                ),
            },
        ),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    readonly_fields = ("last_login", "date_joined")

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        """Each with its groups."""
        return super().get_queryset(request).prefetch_related("groups")

    def formfield_for_manytomany(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        """Groups as boxes: there are few."""
        if db_field.name == "groups":
            kwargs["widget"] = _BOXES
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def user_change_password(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """The page that sets the password of an account."""
        page = super().user_change_password
        return watched(request, lambda: page(request, *args, **kwargs))

    @admin.display(description=gettext_lazy("May sign in"), ordering="is_active")
    def signs_in(self, user: User) -> str:
        """Whether the account is open."""
        return "yes" if user.is_active else "no"

    @admin.display(description="Groups")
    def of_groups(self, user: User) -> str:
        """Their names, in one line."""
        names = sorted(group.name for group in user.groups.all())
        return ", ".join(["superuser", *names] if user.is_superuser else names) or "none"


class ProviderAdmin(Watched, ByRight, _ModelAdmin):
    """Which account a provider signs in; a row made here gives it one that is there already."""

    list_display = ("user", "subject", "issuer")
    fields = ("user", "issuer", "subject")
    search_fields = ("user__username", "subject")


def register() -> None:
    """Our admins in place of Django's own."""
    admin.site.unregister(Group)
    admin.site.unregister(User)
    admin.site.register(Group, GroupAdmin)
    admin.site.register(User, UserAdmin)
    admin.site.register(ProviderAccount, ProviderAdmin)
