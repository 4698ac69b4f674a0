"""THE table of rights of commands: what each asks of who types it, and as whom it acts.

A command has no sign-in: who may read the data directory, or holds the database's address, may do
everything. The table is a section of `docs/rights.md`; `tests/security/test_command_rights.py`
holds it against the commands and what they import.
"""

from dataclasses import dataclass

#: The data directory or DATABASE_URL, in which the record is: acts as `command`, with every right.
RECORD = "the record's files or its database"
JOIN_TOKEN = "a join token, once; afterwards its node's secret"
NOTHING = "nothing: it touches no record"


@dataclass(frozen=True)
class CommandRow:
    """A command by its name as people write it."""

    name: str
    needs: str
    #: What of it the audit keeps.
    audit: str = "-"


ROWS = (
    CommandRow("up", RECORD, "the tokens that it makes"),
    CommandRow("runweb", RECORD, "what its callers do"),
    CommandRow("runleader", RECORD),
    CommandRow("runagent", JOIN_TOKEN),
    CommandRow("runfleet", f"{JOIN_TOKEN}; without one: {RECORD}"),
    CommandRow("rundemo", RECORD, "what its scenarios do"),
    CommandRow("demo", "the Redis of the demo, whose address is in its data directory"),
    CommandRow("rehearse", RECORD, "nothing: it changes nothing"),
    CommandRow("rehearsal", RECORD),
    CommandRow("simulate", NOTHING),
    CommandRow("evaluate", NOTHING),
    CommandRow("openapi", NOTHING),
    CommandRow("makemessages", NOTHING),
    CommandRow("bench", "nothing of this record: each scenario makes a cluster of its own"),
    CommandRow("backup", RECORD),
    CommandRow("restore", RECORD),
    CommandRow("token", RECORD, "tokens made and taken back"),
    CommandRow("join-token", RECORD),
    CommandRow("login-link", RECORD),
    CommandRow("audit", RECORD),
    CommandRow("runtraces", RECORD),
)


def section() -> list[str]:
    """The lines of the document."""
    return [
        "",
        "## Commands",
        "",
        "Of `manage.py`, and of `bivouac`, which stands in front of them. Who reaches the files",
        "of the record or its database needs no sign-in and may do everything.",
        "",
        "| command | needs | the audit keeps |",
        "|---|---|---|",
        *(f"| `{row.name}` | {row.needs} | {row.audit} |" for row in ROWS),
    ]
