"""Fill in what a service of a job request leaves open.

In: a service's request form and the name its place gives it. Out: a new form. Checks nothing.
"""

from cluster.jobspec import defaults
from cluster.jobspec.canonicalize_resources import fill_resources
from cluster.jobspec.defaults import fill
from cluster.jobspec.request_form import RequestForm
from scheduler.structs.policies import SECOND


def canonicalize_service(form: RequestForm, base_name: str) -> RequestForm:
    """The service with its defaults; checks inherit its `OnUpdate` and its restart rule."""
    service = form | {
        "Name": form["Name"] or base_name,
        "AddressMode": form["AddressMode"] or "auto",
        "OnUpdate": form["OnUpdate"] or "require_healthy",
        "Provider": form["Provider"] or "consul",
        "Cluster": form["Cluster"] or "default",
    }
    if service["Connect"] is not None:
        service["Connect"] = _connect(service["Connect"])
    if service["Checks"] is not None:
        service["Checks"] = [_check(check, service) for check in service["Checks"]]
    return service


def _check(form: RequestForm, service: RequestForm) -> RequestForm:
    floors = ("SuccessBeforePassing", "FailuresBeforeCritical", "FailuresBeforeWarning")
    check = form | {name: max(0, form[name]) for name in floors}
    check["OnUpdate"] = check["OnUpdate"] or service["OnUpdate"]
    check["CheckRestart"] = _check_restart(service["CheckRestart"], form["CheckRestart"])
    return check


def _check_restart(of_service: RequestForm | None, own: RequestForm | None) -> RequestForm | None:
    if of_service is None or own is None:
        chosen = own or of_service
        return None if chosen is None else fill(chosen, {"Grace": SECOND})
    return {
        "Limit": own["Limit"] if own["Limit"] > 0 else of_service["Limit"],
        "Grace": own["Grace"]
        if own["Grace"] is not None
        else fill(of_service, {"Grace": SECOND})["Grace"],
        "IgnoreWarnings": own["IgnoreWarnings"] or of_service["IgnoreWarnings"],
    }


def _connect(form: RequestForm) -> RequestForm:
    connect = dict(form)
    task = connect["SidecarTask"]
    if task is not None:
        connect["SidecarTask"] = fill(
            task, {"KillTimeout": defaults.KILL_TIMEOUT, "ShutdownDelay": 0}
        ) | {
            "LogConfig": fill(task["LogConfig"] or dict.fromkeys(defaults.LOGS), defaults.LOGS),
            "Resources": None if task["Resources"] is None else fill_resources(task["Resources"]),
        }
    if connect["Gateway"] is not None:
        connect["Gateway"] = _gateway(connect["Gateway"])
    return connect


def _gateway(form: RequestForm) -> RequestForm:
    gateway = dict(form)
    if gateway["Proxy"] is not None:
        gateway["Proxy"] = fill(gateway["Proxy"], {"ConnectTimeout": 5 * SECOND})
    if gateway["Ingress"] is not None:
        listeners = [
            listener | {"Protocol": listener["Protocol"] or "tcp"}
            for listener in gateway["Ingress"]["Listeners"] or []
        ]
        gateway["Ingress"] = gateway["Ingress"] | {"Listeners": listeners}
    return gateway
