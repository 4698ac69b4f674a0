"""The text of a job: what it came as, else our own JSON of it.

In: a reader, a job. Out: the text, its format, whether it is that of its author.
"""

import msgspec

from cluster.store.ports import RecordReader
from scheduler.state.nouns import JOB_SUBMISSIONS
from scheduler.structs.job import Job, JobSubmission

#: What the record says of a job; its author does not.
_KEPT_BY_RECORD = frozenset(
    [
        "Status",
        "StatusDescription",
        "Stop",
        "Version",
        "Stable",
        "CreateIndex",
        "ModifyIndex",
        "JobModifyIndex",
        "SubmitTime",
        "NomadTokenID",
        "VersionTag",
    ]
)


def source_of(reader: RecordReader, job: Job) -> tuple[str, str, bool]:
    """The text a job came as, its format, and whether it is that text or our own JSON of it."""
    submission = submission_of(reader, job)
    if submission is not None and submission.source:
        return submission.source, submission.format, True
    return as_json(job), "json", False


def as_json(job: Job) -> str:
    """What its author says, as JSON."""
    document = msgspec.to_builtins(job)
    said = {name: value for name, value in document.items() if name not in _KEPT_BY_RECORD}
    return msgspec.json.format(msgspec.json.encode({"Job": said}), indent=2).decode()


def submission_of(reader: RecordReader, job: Job) -> JobSubmission | None:
    """The text of a job; that of a stopped one came with the version before the stop."""
    if not job.stop:
        return reader.get(JOB_SUBMISSIONS, (job.key, job.version))
    before = (each for each in reader.job_versions(job.key) if not each.stop)
    running = next(before, None)
    return reader.get(JOB_SUBMISSIONS, (job.key, running.version)) if running is not None else None
