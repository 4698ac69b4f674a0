"""Registers the cluster's models with Django."""

from django.apps import AppConfig


class ClusterConfig(AppConfig):
    """The durable state and the doors."""

    name = "cluster"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Record"
