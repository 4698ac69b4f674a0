"""Why an operation was refused. Every door turns one into its own answer; nothing was written.

`status` is the HTTP status the doors use; the text is what the caller is shown.
"""


class OperationRefused(Exception):
    """The caller asked for something that cannot be done."""

    status = 400


class NotAllowed(OperationRefused):
    """The caller may not do this."""

    status = 403


class NotFound(OperationRefused):
    """What the caller named does not exist."""

    status = 404


class Conflict(OperationRefused):
    """The state moved on since the caller looked."""

    status = 409


class TooLarge(OperationRefused):
    """More was sent than is ever taken."""

    status = 413
