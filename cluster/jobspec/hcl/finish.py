"""What a block means beyond its attributes: shortcuts, inheritance, the parser's own defaults.

In: a form as its attributes gave it, with notes under names that begin with `@`. Out: the same
form, changed in place, without notes.
"""

from collections.abc import Callable

from cluster.jobspec.request_form import RequestForm, empty_form
from scheduler.structs.policies import SECOND

_CONSTRAINT_SHORTCUTS = ("version", "semver", "regexp", "set_contains")
#: The types of tasks' scaling policies, by the label of their block.
VERTICAL = {"cpu": "vertical_cpu", "mem": "vertical_mem"}
_AFFINITY_SHORTCUTS = (*_CONSTRAINT_SHORTCUTS, "set_contains_any", "set_contains_all")


def _notes(form: RequestForm) -> RequestForm:
    """Take the notes out of a form."""
    return {name[1:]: form.pop(name) for name in list(form) if name.startswith("@")}


def _constraint(form: RequestForm) -> None:
    notes = _notes(form)
    _take_shortcuts(form, notes, _CONSTRAINT_SHORTCUTS)
    if "distinct_hosts" in notes:
        form["Operand"] = "distinct_hosts"
        form["RTarget"] = "true" if notes["distinct_hosts"] else "false"
    if "distinct_property" in notes:
        form["Operand"] = "distinct_property"
        form["LTarget"] = notes["distinct_property"]
    form["Operand"] = form["Operand"] or "="


def _affinity(form: RequestForm) -> None:
    notes = _notes(form)
    _take_shortcuts(form, notes, _AFFINITY_SHORTCUTS)
    form["Operand"] = form["Operand"] or "="
    form["Weight"] = _eight_bits(notes.get("weight"))
    form["Weight"] = 0 if form["Weight"] is None and "weight" in notes else form["Weight"]


def _take_shortcuts(form: RequestForm, notes: RequestForm, names: tuple[str, ...]) -> None:
    for name in names:
        if notes.get(name) is not None:
            form["Operand"] = name
            form["RTarget"] = notes[name]


def _eight_bits(weight: int | None) -> int | None:
    # Weights are stored in eight bits and wrap around, as they always have.
    return None if weight is None else (weight + 128) % 256 - 128


def _spread(form: RequestForm) -> None:
    form["Weight"] = _eight_bits(_notes(form).get("weight"))


def _network(form: RequestForm) -> None:
    for port in _notes(form).get("ports") or []:
        kind = "ReservedPorts" if port["Value"] != 0 else "DynamicPorts"
        form[kind] = [*(form[kind] or []), port]


def _periodic(form: RequestForm) -> None:
    if form["Spec"] is not None or form["Specs"] is not None:
        form["SpecType"] = "cron"


def _scaling(form: RequestForm) -> None:
    form["Type"] = form["Type"] or "horizontal"


def _task_scaling(form: RequestForm) -> None:
    _notes(form)
    form["Type"] = VERTICAL.get(form["Type"].lower(), form["Type"])


def _template(form: RequestForm) -> None:
    _set_open(form, ChangeMode="restart", Perms="0644", Splay=5 * SECOND, ErrMissingKey=False)


def _change_script(form: RequestForm) -> None:
    _set_open(form, Args=[], Timeout=5 * SECOND, FailOnError=False)


def _vault(form: RequestForm) -> None:
    _set_open(form, Env=True, DisableFile=False, ChangeMode="restart")


def _set_open(form: RequestForm, **values: object) -> None:
    form.update({name: value for name, value in values.items() if form[name] is None})


def _identity(form: RequestForm) -> None:
    claims = _notes(form).get("extra_claims")
    if claims is not None:
        form["ExtraClaims"] = dict(claim.partition("=")[::2] for claim in claims)


def _bind_address(form: RequestForm) -> None:
    form["Name"] = form["Name"] or _notes(form).get("name", "")
    _notes(form)


def _task(form: RequestForm) -> None:
    identities = _notes(form).get("identities")
    if identities is None:
        return
    form["Identities"] = []
    for identity in identities:
        if identity["Name"] in ("", "default") and form["Identity"] is None:
            form["Identity"] = identity
        else:
            form["Identities"].append(identity)


def _group(form: RequestForm) -> None:
    notes = _notes(form)
    for task in form["Tasks"] or []:
        _inherit(task, notes)


def _inherit(task: RequestForm, notes: RequestForm) -> None:
    """A task without a block of its own takes the one around it."""
    vault, secrets = notes.get("vault"), notes.get("secrets")
    if vault is not None and task["Vault"] is None:
        task["Vault"] = dict(vault)
    if secrets:
        # A task with own secrets has them twice then; jobs are stored with this slip, so it stays.
        own = task["Secrets"]
        task["Secrets"] = [*own, *own] if own else list(secrets)


def _job(form: RequestForm) -> None:
    notes = _notes(form)
    loose = []
    for task in notes.get("tasks") or []:
        group = empty_form("TaskGroup") | {"Name": task["Name"], "Tasks": [task]}
        loose.append(group)
    if loose:
        form["TaskGroups"] = [*loose, *(form["TaskGroups"] or [])]
    label = notes.get("label")
    form["ID"] = label if form["ID"] is None else form["ID"]
    form["Name"] = label if form["Name"] is None else form["Name"]
    for group in form["TaskGroups"] or []:
        for task in group["Tasks"] or []:
            vault = notes.get("vault")
            if vault is not None and task["Vault"] is None:
                task["Vault"] = dict(vault)
            if notes.get("secrets"):
                task["Secrets"] = [*(task["Secrets"] or []), *notes["secrets"]]


#: What to do after a block of that schema has been read.
FINISHERS: dict[str, Callable[[RequestForm], None]] = {
    "affinity": _affinity,
    "change_script": _change_script,
    "constraint": _constraint,
    "envoy_gateway_bind_addresses": _bind_address,
    "group": _group,
    "identity": _identity,
    "job": _job,
    "network": _network,
    "periodic": _periodic,
    "scaling": _scaling,
    "spread": _spread,
    "task": _task,
    "task_scaling": _task_scaling,
    "template": _template,
    "vault": _vault,
}
