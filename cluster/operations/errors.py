"""Why an operation was refused. Every door turns one into its own answer; nothing was written.

`status` is the HTTP status the doors use; the text is what the caller is shown.
"""


class OperationRefused(Exception):
    """The caller asked for something that cannot be done."""

    status = 400


#: What programs are told; they read no other words.
DENIED = "Permission denied"


class NotAllowed(OperationRefused):
    """The caller may not do this; `missing` names the right, empty when none would do."""

    status = 403

    def __init__(self, text: str = DENIED, *, missing: str = "") -> None:
        super().__init__(text)
        self.missing = missing


class NotFound(OperationRefused):
    """What the caller named does not exist."""

    status = 404


class Conflict(OperationRefused):
    """What is asked may not follow what is: doors answer an IllegalTransition so."""

    status = 409


class TooLarge(OperationRefused):
    """More was sent than is ever taken."""

    status = 413
