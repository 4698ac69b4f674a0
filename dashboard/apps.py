"""Registers the pages, template tags and the admin with Django."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig
from django.contrib.auth.signals import user_logged_in, user_login_failed

from dashboard import acts
from dashboard.throttle import note_failure, note_success


class DashboardConfig(AppConfig):
    """Pages over the record."""

    name = "dashboard"
    verbose_name = "Dashboard"

    def ready(self) -> None:
        """Hear of sign-ins, good and bad."""
        from cluster.operations.acl_rights import bound_tokens_by  # noqa: PLC0415 - the same
        from dashboard.own_tokens import access_of_maker  # noqa: PLC0415 - tables are there only now
        from dashboard.sign_ins import note_sign_in  # noqa: PLC0415 - the same

        user_login_failed.connect(note_failure, dispatch_uid="throttle")
        user_logged_in.connect(note_success, dispatch_uid="throttle")
        user_logged_in.connect(note_sign_in, dispatch_uid="sessions")
        acts.listen()
        bound_tokens_by(access_of_maker)


class OperatorSiteConfig(AdminConfig):
    """Django's admin with the tables in our groups."""

    default_site = "dashboard.operator_site.OperatorSite"
