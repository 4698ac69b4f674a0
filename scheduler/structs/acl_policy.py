"""What the bearers of a policy may do, as an operator wrote it."""

from scheduler.structs.wire import Wire, wire_names


class JobAcl(Wire, frozen=True):
    """The running work that has a policy without a token; a text that is "" narrows nothing."""

    namespace: str = ""
    job_id: str = ""
    group: str = ""
    task: str = ""


class AclPolicy(Wire, frozen=True, rename=wire_names(job_acl="JobACL")):
    """A named set of rules; tokens and roles name it."""

    name: str = ""
    description: str = ""
    #: As written: HCL, or its JSON form.
    rules: str = ""
    job_acl: JobAcl | None = None
    create_index: int = 0
    modify_index: int = 0
