"""Fill in what a job request leaves open.

In: a request form (complete, None where open). Out: `canonicalize_form`, the same form with the
defaults the command line would fill, and `canonicalize`, the `Job` to store. Breaks no rule and
checks none.
"""

from collections.abc import Callable

from cluster.jobspec import defaults
from cluster.jobspec.canonicalize_resources import fill_weights
from cluster.jobspec.canonicalize_service import canonicalize_service
from cluster.jobspec.canonicalize_task import canonicalize_task, with_cluster
from cluster.jobspec.defaults import by_type, fill, merge
from cluster.jobspec.request_form import RequestForm
from cluster.jobspec.stored_form import stored_job
from scheduler.structs.job import Job

_ROLLED_OUT = ("service", "system")


def canonicalize(form: RequestForm) -> Job:
    """The job to store: every default of request and server applied, implied constraints added.

    A job that names no node pool stays without one: its namespace says which it gets.
    """
    return stored_job(canonicalize_form(form))


def canonicalize_form(form: RequestForm) -> RequestForm:
    """A new form with the defaults that the request side fills; the given one stays as it is."""
    job = fill(form, defaults.JOB)
    job["Name"] = job["ID"] if job["Name"] is None else job["Name"]
    job["Priority"] = job["Priority"] or defaults.PRIORITY
    if job["Periodic"] is not None:
        job["Periodic"] = fill(job["Periodic"], defaults.PERIODIC)
        job["Periodic"]["Specs"] = job["Periodic"]["Specs"] or []
    if job["Update"] is not None or job["Type"] in _ROLLED_OUT:
        job["Update"] = fill(job["Update"], defaults.UPDATE)
    if job["Multiregion"] is not None:
        job["Multiregion"] = _multiregion(job["Multiregion"])
    job["Affinities"] = fill_weights(job["Affinities"])
    job["Spreads"] = fill_weights(job["Spreads"])
    job["TaskGroups"] = _each(job["TaskGroups"], lambda group: _group(group, job))
    return job


def _each(
    items: list[RequestForm] | None, change: Callable[[RequestForm], RequestForm]
) -> list[RequestForm] | None:
    return None if items is None else [change(item) for item in items]


def _multiregion(form: RequestForm) -> RequestForm:
    strategy = fill(form["Strategy"], {"MaxParallel": 0, "OnFailure": ""})
    regions = [
        region
        | {
            "Count": 1 if region["Count"] is None else region["Count"],
            "Datacenters": region["Datacenters"] or [],
            "Meta": region["Meta"] or {},
        }
        for region in form["Regions"] or []
    ]
    return form | {"Strategy": strategy, "Regions": regions}


def _group(form: RequestForm, job: RequestForm) -> RequestForm:
    group = dict(form)
    group["Name"] = group["Name"] or ""
    _fill_counts(group)
    group["EphemeralDisk"] = fill(group["EphemeralDisk"], defaults.EPHEMERAL_DISK)
    if group["Disconnect"] is not None:
        group["Disconnect"] = fill(group["Disconnect"], defaults.DISCONNECT)
    _fill_policies(group, job)
    group["Consul"] = with_cluster(group["Consul"])
    group["Affinities"] = fill_weights(group["Affinities"])
    group["Spreads"] = fill_weights(group["Spreads"])
    group["Tasks"] = _each(group["Tasks"], lambda task: canonicalize_task(task, group, job))
    group["Services"] = _each(
        group["Services"],
        lambda service: canonicalize_service(service, f"{job['Name']}-{group['Name']}"),
    )
    return group


def _fill_counts(group: RequestForm) -> None:
    scaling = group["Scaling"]
    if group["Count"] is None:
        group["Count"] = 1 if scaling is None or scaling["Min"] is None else scaling["Min"]
    if scaling is not None:
        group["Scaling"] = fill(scaling, {"Enabled": True, "Min": group["Count"]})
        group["Scaling"]["Type"] = scaling["Type"] or "horizontal"


def _fill_policies(group: RequestForm, job: RequestForm) -> None:
    job_type = job["Type"]
    of_job = job["Update"]
    if group["Update"] is None and of_job is not None and not any(of_job.values()):
        # As the API shows a job that has none: sent again it still has none.
        of_job = None
    update = merge(of_job, group["Update"])
    group["Update"] = None if update is None else fill(update, defaults.UPDATE)
    reschedule = merge(job["Reschedule"], group["ReschedulePolicy"])
    if reschedule is not None or job_type not in ("system", "sysbatch"):
        group["ReschedulePolicy"] = fill(reschedule, by_type(defaults.RESCHEDULE, job_type))
    migrate = merge(job["Migrate"], group["Migrate"])
    if migrate is not None or job_type == "service":
        group["Migrate"] = fill(migrate, defaults.MIGRATE)
    group["RestartPolicy"] = fill(group["RestartPolicy"], by_type(defaults.RESTART, job_type))
