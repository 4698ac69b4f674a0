"""What a rehearsal took for granted and why it ended early, in words: for terminal and pages."""

from cluster.rehearsal.result import Assumption, RehearsalEnd

ASSUMED = {
    Assumption.BATCH_RUNS_ON: "batch work that has begun is taken to run on",
    Assumption.TASKS_START: "tasks are taken to start at once and to become healthy",
    Assumption.NOT_PAUSED: "the scheduler is paused; it was rehearsed as if it ran",
    Assumption.NOT_PROMOTED: "a rollout waits until somebody promotes it",
}
ENDED = {
    RehearsalEnd.QUIET: "",
    RehearsalEnd.HORIZON: "It goes on later than is looked; what is told holds until then.",
    RehearsalEnd.TIME: "Stopped after its time; what is told holds up to there.",
    RehearsalEnd.EVALUATIONS: "Stopped after too many evaluations; what is told holds so far.",
}
