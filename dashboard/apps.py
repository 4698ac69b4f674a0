"""Registers the pages, template tags and admin desk with Django."""

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in, user_login_failed

from dashboard.throttle import note_failure, note_success


class DashboardConfig(AppConfig):
    """Pages over the record."""

    name = "dashboard"
    verbose_name = "Dashboard"

    def ready(self) -> None:
        """Hear of sign-ins, good and bad."""
        user_login_failed.connect(note_failure, dispatch_uid="throttle")
        user_logged_in.connect(note_success, dispatch_uid="throttle")
