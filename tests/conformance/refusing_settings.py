"""The settings of a server whose applier refuses what `chain_refusals` says."""

from cluster.settings import *  # noqa: F403 - the settings, and one application more
from cluster.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.conformance.refusing_app.RefusingApp"]
