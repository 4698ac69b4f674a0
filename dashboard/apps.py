"""Registers the pages, template tags and admin desk with Django."""

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """Pages over the record."""

    name = "dashboard"
    verbose_name = "Dashboard"
