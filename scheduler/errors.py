"""Broken contracts. An error's docstring is its meaning; expected outcomes are values."""


class SchedulerError(Exception):
    """A contract of the scheduler was broken."""


class TokenMismatch(SchedulerError):
    """The delivery was given to someone else since."""


class NotOutstanding(SchedulerError):
    """The evaluation is not being processed by anyone."""


class StaleSnapshot(SchedulerError):
    """The state never reached the index that was asked for."""


class IllegalTransition(SchedulerError):
    """A status may not change that way."""


class Fenced(SchedulerError):
    """Another process holds the lease with a newer epoch; nothing was written."""


class PlanRefused(SchedulerError):
    """The applier could not judge or commit the plan at all."""


class MissingRefresh(SchedulerError):
    """A plan was committed in part, but no newer snapshot came with the answer."""


class RequestRefused(SchedulerError):
    """No state of the leader would make this request a right one."""
