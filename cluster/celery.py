"""The Celery application: queues `evaluations` and `plans`, which carry wake-ups only."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cluster.settings")

app = Celery("cluster")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.imports = ("cluster.runtime.worker_tasks", "cluster.runtime.applier_task")
