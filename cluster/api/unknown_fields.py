"""Fields of a body that no part of a route asked for: refused by name and path, before a write.

In: bodies that were read. Out: nothing, or `OperationRefused` with every such field. A job is not
among them: what is unknown in it is told among the warnings of the answer (validation.md 3).
"""

from collections.abc import Iterable

from cluster.api.body import Body
from cluster.jobspec.problems import error_text
from cluster.operations.errors import OperationRefused

#: What reads show and the server keeps, and what the reference's clients write into any request.
_EVERYWHERE = frozenset(
    {
        "createindex", "modifyindex", "createtime", "modifytime", "hash",
        "region", "namespace", "secretid", "authtoken",
    }
)  # fmt: skip
#: By body, what else may be in it without a meaning here: the reference's fields and read-backs.
_BESIDE = {
    "ACLPolicy": frozenset({"rulesjson"}),
    "AllocRestartRequest": frozenset({"allocid"}),
    "AllocSignalRequest": frozenset({"allocid"}),
    "DeploymentRequest": frozenset({"all", "groups", "pause"}),
    "HostVolumeCreateRequest": frozenset({"policyoverride", "state", "allocations"}),
    "HostVolumeRegisterRequest": frozenset({"policyoverride", "state", "allocations"}),
    "JobDispatchRequest": frozenset({"idempotencytoken", "idempotency_token"}),
    "JobRevertRequest": frozenset({"consultoken", "vaulttoken"}),
    "NodeMetaApplyRequest": frozenset({"nodeid"}),
    "NodeUpdateDrainRequest": frozenset({"nodeid"}),
    "NodeUpdateEligibilityRequest": frozenset({"nodeid"}),
    "ScalingRequest": frozenset({"policyoverride", "jobid"}),
    "TagRequest": frozenset({"jobid", "name", "version"}),
    "VariableDecrypted": frozenset({"path", "items", "lock", "id", "ttl", "lockdelay"}),
    "Webhook": frozenset({"host", "issigned"}),
}
#: So many are named in a warning; the rest is counted.
_NAMED = 3
#: Their unknown fields are told as warnings, as the reference takes them (H5).
WARNED = frozenset({"JobRegisterRequest", "JobPlanRequest", "JobValidateRequest"})


def refuse_unknown(bodies: Iterable[Body]) -> None:
    """Raises OperationRefused, naming all of them at once."""
    problems = [
        f"unknown field {path}.{hint}" if hint else f"unknown field {path}"
        for body in bodies
        if body.name not in WARNED
        for path, hint in body.unknown_fields(_EVERYWHERE | _BESIDE.get(body.name, frozenset()))
    ]
    if problems:
        raise OperationRefused(error_text(problems))


def ignored_fields(body: Body) -> tuple[str, ...]:
    """The same of a request with a job, as a warning."""
    return ignored_told(path for path, _ in body.unknown_fields(_EVERYWHERE))


def ignored_told(paths: Iterable[str]) -> tuple[str, ...]:
    """The warning about fields that are ignored, if there are any."""
    named = list(paths)
    if not named:
        return ()
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    word = "field" if len(named) == 1 else "fields"
    return (f"Not carried out: unknown {word} {', '.join(named[:_NAMED])}{more}",)
