"""Fill in what the resources of a job request leave open: a task's, or a service's sidecar's.

In: a request form of resources, or of what carries weights. Out: a new form. Checks nothing.
"""

from cluster.jobspec import defaults
from cluster.jobspec.defaults import fill
from cluster.jobspec.request_form import RequestForm


def fill_weights(items: list[RequestForm] | None) -> list[RequestForm] | None:
    """Affinities or spreads, each with a weight."""
    if items is None:
        return None
    return [fill(item, {"Weight": defaults.WEIGHT}) for item in items]


def fill_resources(form: RequestForm | None) -> RequestForm:
    """Resources with CPU, cores and memory; a task that asks for cores gets no MHz beside them."""
    empty = dict.fromkeys(
        (
            "CPU",
            "Cores",
            "MemoryMB",
            "MemoryMaxMB",
            "DiskMB",
            "IOPS",
            "SecretsMB",
            "Networks",
            "Devices",
            "NUMA",
        )
    )
    given = empty | (form or {})
    shares = 100 if given["Cores"] is None else 0
    resources = fill(given, {"CPU": shares, "Cores": 0, "MemoryMB": 300})
    if resources["Devices"] is not None:
        resources["Devices"] = [
            fill(device, {"Count": 1}) | {"Affinities": fill_weights(device["Affinities"])}
            for device in resources["Devices"]
        ]
    if resources["NUMA"] is not None and not resources["NUMA"]["Affinity"]:
        resources["NUMA"] = resources["NUMA"] | {"Affinity": "none"}
    return resources
