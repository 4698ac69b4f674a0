"""Minimal jobs with one thing in them, and the text that a refusal of that thing comes in.

A case is `(rules, place, fields, expected)`. `rules`: numbers of docs/spec/validation.md. `place`:
where `fields` are put into an otherwise sound job. `expected`: the items of the innermost list (a
text stands for a list of one), or nothing when the job is accepted.
"""

from cluster.jobspec.problems import error_text

IN_GROUP = "Task group g validation failed: "
IN_TASK = "Task t validation failed: "
SERVICES = "Task group service validation failed: "
SECOND = 1_000_000_000
MINUTE = 60 * SECOND


def task(**fields):
    return {"Name": "t", "Driver": "mock_driver", **fields}


def group(**fields):
    return {"Name": "g", "Tasks": [task()], **fields}


def job(**fields):
    return {"ID": "demo", "Type": "service", "TaskGroups": [group()], **fields}


def of_type(job_type, **fields):
    """A job of another type with those fields in its group."""
    return job(Type=job_type, TaskGroups=[group(**fields)])


def _group(**fields):
    return job(TaskGroups=[group(**fields)])


def _task(**fields):
    return _group(Tasks=[task(**fields)])


def _service(provider, fields):
    port = {"Label": "p"}
    service = {"Name": "s", "Provider": provider, "PortLabel": "p", **fields}
    return _group(Services=[service], Networks=[{"Mode": "bridge", "DynamicPorts": [port]}])


def check(**fields):
    return {"Name": "c", "Type": "tcp", "Interval": SECOND, "Timeout": SECOND, **fields}


def _in_task(field):
    return lambda fields: _task(**{field: [fields]})


def _periodic(fields):
    return job(Type="batch", Periodic=fields)


#: Place: the job with those fields there, and the headings that a finding is nested in.
PLACES = {
    "job": (lambda fields: job(**fields), ()),
    "group": (lambda fields: _group(**fields), (IN_GROUP,)),
    "task": (lambda fields: _task(**fields), (IN_GROUP, IN_TASK)),
    "batch": (lambda fields: of_type("batch", **fields), (IN_GROUP,)),
    "system": (lambda fields: of_type("system", **fields), (IN_GROUP,)),
    "sysbatch": (lambda fields: of_type("sysbatch", **fields), (IN_GROUP,)),
    "network": (
        lambda fields: _group(Networks=[fields]),
        (IN_GROUP, "Task group network validation failed: "),
    ),
    "networks": (
        lambda fields: _group(**fields),
        (IN_GROUP, "Task group network validation failed: "),
    ),
    "volume": (
        lambda fields: _group(Volumes={"v": {"Type": "host", "Source": "x", **fields}}),
        (IN_GROUP, "Task group volume validation for v failed: "),
    ),
    "csi": (
        lambda fields: _group(
            Count=2,
            Volumes={"v": {"Type": "csi", "Source": "x", "AttachmentMode": "a", **fields}},
        ),
        (IN_GROUP, "Task group volume validation for v failed: "),
    ),
    "services": (lambda fields: _group(**fields), (IN_GROUP, SERVICES)),
    "service": (
        lambda fields: _service("nomad", fields),
        (IN_GROUP, SERVICES, "Service[0] s validation failed: "),
    ),
    "consul": (
        lambda fields: _service("consul", fields),
        (IN_GROUP, SERVICES, "Service[0] s validation failed: "),
    ),
    "check": (
        lambda fields: _service("nomad", {"Checks": [check(**fields)]}),
        (IN_GROUP, SERVICES, "Service[0] s validation failed: "),
    ),
    "consul check": (
        lambda fields: _service("consul", {"Checks": [check(**fields)]}),
        (IN_GROUP, SERVICES, "Service[0] s validation failed: "),
    ),
    "connect": (
        lambda fields: _service("consul", {"Connect": fields}),
        (IN_GROUP, SERVICES, "Service[0] s validation failed: "),
    ),
    "task service": (
        lambda fields: _task(Services=[{"Name": "s", "Provider": "nomad", **fields}]),
        (IN_GROUP, IN_TASK, ""),
    ),
    "scaling": (
        lambda fields: _group(Count=3, Scaling={"Min": 1, "Max": 5, **fields}),
        (IN_GROUP, "Task group scaling policy validation failed: "),
    ),
    "resources": (lambda fields: _task(Resources=fields), (IN_GROUP, IN_TASK, "")),
    "minimums": (lambda fields: _task(Resources=fields), (IN_GROUP, IN_TASK, "", "")),
    "device": (
        lambda fields: _task(Resources={"Devices": [fields]}),
        (IN_GROUP, IN_TASK, "", "device 1 failed validation: "),
    ),
    "logs": (lambda fields: _task(LogConfig=fields), (IN_GROUP, IN_TASK, "")),
    "artifact": (_in_task("Artifacts"), (IN_GROUP, IN_TASK, "Artifact 1 validation failed: ")),
    "template": (_in_task("Templates"), (IN_GROUP, IN_TASK, "Template 1 validation failed: ")),
    "action": (_in_task("Actions"), (IN_GROUP, IN_TASK, "Action a validation failed: ")),
    "identity": (
        lambda fields: _task(Identities=[{"Name": "a", "TTL": MINUTE, **fields}]),
        (IN_GROUP, IN_TASK, 'Identity "a" is invalid: '),
    ),
    "secret": (
        lambda fields: _task(Secrets=[{"Name": "a", "Provider": "x", "Path": "p", **fields}]),
        (IN_GROUP, IN_TASK, 'Secret "a" is invalid: '),
    ),
    "constraint": (
        lambda fields: job(Constraints=[{"LTarget": "${attr.x}", **fields}]),
        ("Constraint 1 validation failed: ",),
    ),
    "affinity": (
        lambda fields: job(Affinities=[{"LTarget": "${attr.x}", **fields}]),
        ("Affinity 1 validation failed: ",),
    ),
    "spread": (
        lambda fields: job(Spreads=[{"Attribute": "${attr.x}", "Weight": 50, **fields}]),
        ("Spread 1 validation failed: ",),
    ),
    "periodic": (_periodic, ("",)),
    "parameterized": (lambda fields: job(Type="batch", ParameterizedJob=fields), ("",)),
    "restart": (lambda fields: _group(RestartPolicy=fields), (IN_GROUP,)),
    "reschedule": (lambda fields: _group(ReschedulePolicy=fields), (IN_GROUP,)),
    "update": (lambda fields: _group(Update=fields), (IN_GROUP,)),
    "migrate": (lambda fields: _group(Migrate=fields), (IN_GROUP,)),
    "disconnect": (lambda fields: _group(Disconnect=fields), (IN_GROUP,)),
}


def document_of(place, fields):
    """The job of a case as a program sends it."""
    return PLACES[place][0](fields)


def rendered(place, expected):
    """The whole text of a refusal."""
    items = [expected] if isinstance(expected, str) else list(expected)
    text = error_text(items)
    for heading in reversed(PLACES[place][1]):
        text = error_text([heading + text]) if text else text
    return text
