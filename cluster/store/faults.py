"""What is wrong when the record cannot be read or written, in words for whoever asked.

In: an error of the database. Out: one plain clause, or nothing where the error is no fault of the
record's surroundings. Knows no door; each turns a fault into its own answer.
"""

from django.db import Error, InterfaceError, OperationalError

from cluster.store.transactions import is_busy

#: Seconds after which whoever asked may try again.
TRY_AGAIN_S = 2

_LOCKED = "another writer holds the record and does not let go of it"
#: What databases say, in the order of asking, and what it means.
_MEANINGS = (
    ("database or disk is full", "no space is left on the disk of the record"),
    ("no space left", "no space is left on the disk of the record"),
    ("could not extend file", "no space is left on the disk of the record"),
    ("readonly database", "the record's file may not be written"),
    ("read-only", "the record's database takes no writes"),
    ("disk i/o error", "the disk of the record fails"),
    ("unable to open database file", "the record's file cannot be opened"),
    ("malformed", "the record's file is damaged"),
    ("not a database", "the record's file is damaged"),
    ("too many clients", "the record's database takes no more connections"),
    ("connection", "the record's database does not answer"),
    ("could not translate host name", "the record's database does not answer"),
    ("starting up", "the record's database is starting"),
    ("shutting down", "the record's database is stopping"),
)

#: What SQLite also says of statements that are wrong, which is no fault of its surroundings.
_OWN_MISTAKES = (
    "no such table",
    "no such column",
    "syntax error",
    "has no column",
    "ambiguous column",
)


class RecordAway(Exception):
    """The record could not be used; the text is a clause that says why."""


def reason_of(error: BaseException) -> str:
    """Why the record could not be used; empty when the error says nothing of that kind."""
    if isinstance(error, RecordAway):
        return str(error)
    if not isinstance(error, Error):
        return ""
    text = str(error).lower()
    if is_busy(error):
        return _LOCKED
    found = next((meaning for words, meaning in _MEANINGS if words in text), "")
    if found or any(words in text for words in _OWN_MISTAKES):
        return found
    if isinstance(error, OperationalError | InterfaceError):
        return "the record's database refuses to work"
    return ""
