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
        from dashboard.sign_ins import note_sign_in  # noqa: PLC0415 - tables are there only now

        user_login_failed.connect(note_failure, dispatch_uid="throttle")
        user_logged_in.connect(note_success, dispatch_uid="throttle")
        user_logged_in.connect(note_sign_in, dispatch_uid="sessions")
        acts.listen()


class OperatorSiteConfig(AdminConfig):
    """Django's admin with the tables in our groups."""

    default_site = "dashboard.operator_site.OperatorSite"
