"""What each status is called, its tone and icon: the one place where colour gets meaning.

In: a kind of thing and its status as stored. Out: a Label. The tone is a name that `tokens.css`
maps to colours; no other module chooses one. An unknown status keeps its own word and looks
unknown.
"""

from typing import NamedTuple


class Label(NamedTuple):
    """How one status is shown: never by colour alone, so word and icon come with it."""

    word: str
    #: The value of `data-state`, which tokens.css maps to a stroke, an ink and a tint.
    tone: str
    icon: str
    #: Drawn with a dashed edge: a step of a life, not a stored status.
    is_quasi: bool = False


def _same(word: str, *, is_quasi: bool = False) -> Label:
    return Label(word, word, word, is_quasi)


_EVALUATION = {
    "pending": _same("pending"),
    "blocked": _same("blocked"),
    "complete": _same("complete"),
    "failed": _same("failed"),
    "canceled": _same("canceled"),
    "delayed": _same("delayed", is_quasi=True),
    "scheduling": _same("scheduling", is_quasi=True),
    "applying": _same("applying", is_quasi=True),
    "deleted": _same("deleted", is_quasi=True),
    "collected": Label("collected", "deleted", "deleted", is_quasi=True),
}

_ALLOCATION = {
    "pending": _same("pending"),
    "running": _same("running"),
    "complete": _same("complete"),
    "failed": _same("failed"),
    "lost": _same("lost"),
    "unknown": _same("unknown"),
    "stopping": Label("stopping", "stopping", "stop", is_quasi=True),
    "stopped": Label("stopped", "stopped", "stop"),
    "evicted": Label("evicted", "stopped", "minus"),
}

_DESIRED = {
    "run": Label("run", "running", "running"),
    "stop": Label("stop", "stopped", "stop"),
    "evict": Label("evict", "stopped", "minus"),
}

_NODE = {
    "ready": Label("ready", "ready", "complete"),
    "initializing": Label("initializing", "initializing", "pending"),
    "down": Label("down", "down", "failed"),
    "disconnected": Label("disconnected", "disconnected", "lost"),
    "silent": Label("silent", "disconnected", "lost", is_quasi=True),
    "draining": Label("draining", "draining", "draining", is_quasi=True),
    "ineligible": Label("ineligible", "ineligible", "canceled", is_quasi=True),
    "eligible": Label("eligible", "ready", "check"),
}

_JOB = {
    "pending": _same("pending"),
    "running": _same("running"),
    "starting": Label("starting", "pending", "pending", is_quasi=True),
    "waiting": Label("waiting", "blocked", "blocked", is_quasi=True),
    "failing": Label("failing", "failed", "failed", is_quasi=True),
    "dead": Label("dead", "finished", "stop"),
    "stopped": Label("stopped", "stopped", "stop"),
    "launches": Label("launches", "running", "delayed"),
    "off": Label("switched off", "paused", "pause"),
    "takes-work": Label("takes work", "running", "running"),
}

#: What a check of a service found last.
_CHECK = {
    "success": Label("passes", "complete", "complete"),
    "failure": Label("fails", "failed", "failed"),
    "pending": Label("not asked yet", "pending", "pending"),
}

_DEPLOYMENT = {
    "running": _same("running"),
    "paused": Label("paused", "paused", "pause"),
    "failed": _same("failed"),
    "successful": Label("successful", "complete", "complete"),
    "cancelled": Label("canceled", "canceled", "canceled"),
    "initializing": Label("initializing", "initializing", "pending"),
    "pending": _same("pending"),
    "blocked": _same("blocked"),
    "unblocking": Label("unblocking", "scheduling", "scheduling", is_quasi=True),
    "canary": Label("canary", "canary", "canary", is_quasi=True),
    "stuck": Label("stuck", "failed", "failed", is_quasi=True),
    "unhealthy": Label("unhealthy", "failed", "failed", is_quasi=True),
    "waits": Label("waits for room", "blocked", "blocked", is_quasi=True),
}

#: How a version of a job stands among the others.
_VERSION = {
    "current": Label("current", "running", "running"),
    "stable": Label("stable", "complete", "complete"),
    "failed": _same("failed"),
    "older": Label("older", "canceled", "canceled"),
    "stops": Label("stops the job", "stopped", "stop"),
}

#: What became of a launch of a periodic job, and of a job that was dispatched.
_LAUNCH = {
    "next": Label("next", "scheduling", "delayed", is_quasi=True),
    "ran": Label("ran", "complete", "complete"),
    "late": Label("ran late", "complete", "complete"),
    "forced": Label("by hand", "complete", "user"),
    "running": _same("running"),
    "pending": Label("waits", "pending", "pending"),
    "failed": _same("failed"),
    "stopped": Label("stopped", "stopped", "stop"),
    "skipped": Label("skipped", "canceled", "skipped"),
    "missed": Label("missed", "blocked", "delayed"),
}

_TASK = {
    "pending": _same("pending"),
    "running": _same("running"),
    "dead": Label("dead", "finished", "stop"),
    "complete": _same("complete"),
    "failed": Label("failed", "failed", "failed"),
}

_DRAIN = {
    "draining": Label("draining", "draining", "draining", is_quasi=True),
    "complete": _same("complete"),
    "canceled": _same("canceled"),
    "marked": Label("marked", "marked", "pending"),
    "placed": Label("placed", "placed", "applying", is_quasi=True),
}

#: A node of a staged drain, and the whole of it.
_STAGED = {
    "running": Label("under way", "draining", "draining", is_quasi=True),
    "complete": _same("complete"),
    "canceled": _same("canceled"),
    "done": Label("done", "complete", "complete"),
    "draining": Label("draining", "draining", "draining", is_quasi=True),
    "waiting": Label("waits for its turn", "pending", "pending"),
    "left": Label("left as it is", "canceled", "canceled"),
    "gone": Label("purged", "canceled", "canceled"),
}

#: What a dry run would do with an allocation.
_CHANGE = {
    "place": Label("place", "complete", "plus"),
    "stop": Label("stop", "stopped", "stop"),
    "in-place": Label("update in place", "scheduling", "check"),
    "replace": Label("replace", "scheduling", "applying"),
    "migrate": Label("migrate", "draining", "draining"),
    "ignore": Label("leave", "canceled", "minus"),
    "canary": Label("canary", "canary", "canary"),
    "preempt": Label("preempt", "blocked", "minus"),
    "later": Label("later", "delayed", "delayed"),
    "waits": Label("waits", "blocked", "blocked"),
    "cut-off": Label("leave disconnected", "unknown", "unknown"),
    "back": Label("reconnect", "complete", "check"),
}

_VERDICT = {
    "pass": Label("pass", "complete", "check"),
    "filtered": Label("filtered", "filtered", "cross"),
    "exhausted": Label("exhausted", "exhausted", "blocked"),
    "rejected": Label("rejected", "rejected", "failed"),
    "chosen": Label("chosen", "complete", "complete"),
}

_LIVE = {
    "live": Label("live", "live", "live"),
    "catching-up": Label("catching up", "scheduling", "scheduling"),
    "paused": Label("paused", "paused", "pause"),
    "offline": Label("offline", "offline", "offline"),
    "stale": Label("as of", "stale", "delayed"),
}

_NOTICE = {
    "success": Label("done", "complete", "complete"),
    "info": Label("note", "scheduling", "info"),
    "debug": Label("note", "event", "info"),
    "warning": Label("warning", "blocked", "warning"),
    "error": Label("error", "failed", "failed"),
    "denied": Label("not allowed", "canceled", "lock"),
    "stale": Label("behind", "stale", "delayed"),
}

#: How an act ended.
_RESULT = {
    "done": Label("done", "complete", "complete"),
    "refused": Label("refused", "failed", "lock"),
    "failed": Label("not done", "failed", "failed"),
}

#: How a story stands, and one of its phases.
_STORY = {
    "running": Label("running", "scheduling", "scheduling"),
    "held-up": Label("held up", "blocked", "blocked"),
    "waits": Label("waits for a person", "canary", "canary"),
    "paused": Label("paused", "paused", "pause"),
    "done": Label("done", "complete", "complete"),
    "failed": _same("failed"),
    "went-back": Label("went back", "failed", "failed"),
    "canceled": _same("canceled"),
    "quiet": Label("nothing to do", "canceled", "minus"),
    "to-come": Label("to come", "possible", "pending", is_quasi=True),
    "past": Label("as of", "delayed", "delayed", is_quasi=True),
}

#: How a rehearsal stands, and what becomes of an allocation in one.
_REHEARSAL = {
    "waiting": Label("waits for its turn", "pending", "pending"),
    "running": Label("rehearsing", "scheduling", "scheduling"),
    "complete": Label("rehearsed", "canceled", "rehearsal", is_quasi=True),
    "failed": _same("failed"),
    "canceled": _same("canceled"),
}
_REHEARSED = {
    "placed": Label("finds a place", "complete", "complete"),
    "waits": Label("waits", "blocked", "blocked"),
    "held": Label("held up", "delayed", "delayed"),
    "finishes": Label("left to finish", "running", "running"),
    "stopped": Label("stops", "stopped", "stop"),
    "updated": Label("stays, changed", "scheduling", "check"),
}

#: An allocation of a story beside its rehearsal.
_COMPARED = {
    "as-rehearsed": Label("as rehearsed", "complete", "check"),
    "differs": Label("differs here", "blocked", "warning"),
    "to-come": Label("to come", "possible", "pending", is_quasi=True),
}

LABELS: dict[str, dict[str, Label]] = {
    "evaluation": _EVALUATION,
    "allocation": _ALLOCATION,
    "desired": _DESIRED,
    "node": _NODE,
    "rehearsal": _REHEARSAL,
    "rehearsed": _REHEARSED,
    "compared": _COMPARED,
    "job": _JOB,
    "deployment": _DEPLOYMENT,
    "check": _CHECK,
    "version": _VERSION,
    "launch": _LAUNCH,
    "task": _TASK,
    "drain": _DRAIN,
    "staged": _STAGED,
    "change": _CHANGE,
    "verdict": _VERDICT,
    "live": _LIVE,
    "notice": _NOTICE,
    "result": _RESULT,
    "story": _STORY,
    "event": {},
}


def label_for(kind: str, status: str) -> Label:
    """The label of a status; a trigger or other word of kind `event` keeps its word."""
    if kind == "event":
        return Label(status, "event", "event")
    return LABELS[kind].get(status) or Label(status or "unknown", "unknown", "unknown")
