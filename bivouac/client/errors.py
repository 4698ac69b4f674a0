"""What can go wrong, by what a caller does about it; the text is the server's own sentence."""


class BivouacError(Exception):
    """Anything that kept a request from being answered."""


class Unreachable(BivouacError):
    """No answer came: nobody listens, the line broke, or it took too long."""


class Refused(BivouacError):
    """The server said no. `status` is its status, the text its sentence."""

    def __init__(self, status: int, sentence: str, retry_after: float = 0.0) -> None:
        super().__init__(sentence or f"status {status}")
        self.status = status
        self.sentence = sentence
        #: Seconds after which it is worth another try; 0 where the server says nothing of it.
        self.retry_after = retry_after


class NotAllowed(Refused):
    """The token may not, or is none."""


class NotFound(Refused):
    """It is not there."""


class Conflict(Refused):
    """Something stands against it, or it has changed meanwhile."""


class TooMany(Refused):
    """Too many requests: again after `retry_after` seconds."""


class NotBuilt(Refused):
    """Known to the server, and not built."""


class Away(Refused):
    """A part of the cluster is away: again after `retry_after` seconds."""


class ServerFault(Refused):
    """A fault of the server; its log names it."""


_BY_STATUS: dict[int, type[Refused]] = {
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    429: TooMany,
    500: ServerFault,
    501: NotBuilt,
    503: Away,
}


def refusal(status: int, sentence: str, retry_after: str = "") -> Refused:
    """The exception of a status."""
    seconds = float(retry_after) if retry_after.isdigit() else 0.0
    return _BY_STATUS.get(status, Refused)(status, sentence.strip(), seconds)
