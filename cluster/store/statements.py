"""The SQL of the record, built once per noun; the same text serves SQLite and PostgreSQL.

In: nouns, which name tables and columns of ours. Out: statements with `%s` for every value.
"""

from functools import cache
from typing import Any

from scheduler.state.noun import Index, Noun
from scheduler.state.nouns import EVALUATIONS as EVALUATION_ROWS
from scheduler.state.nouns import JOB_VERSIONS

AnyNoun = Noun[Any, Any]


@cache
def select(noun: AnyNoun, where: str = "", order: str = "") -> str:
    """Bodies of the rows that match."""
    return f"SELECT body FROM {noun.table}{_clause('WHERE', where)}{_clause('ORDER BY', order)}"  # noqa: S608 - names of our own tables only


@cache
def select_by_key(noun: AnyNoun) -> str:
    """The body of one row."""
    return select(noun, _conditions(noun))


@cache
def in_place(index: Index[Any]) -> str:
    """The condition of being in one place of an index; its parameters are the place's parts."""
    conditions = [*(f"{name} = %s" for name in index.columns), index.condition]
    return " AND ".join(condition for condition in conditions if condition)


def creation_order(noun: AnyNoun) -> str:
    """The order of lists, where no collation can differ."""
    return "" if noun.creation is None else BY_CREATION


@cache
def select_in_place(noun: AnyNoun, index: str) -> str:
    """Bodies of the rows in one place of an index of the noun."""
    return select(noun, in_place(noun.indexes[index]), creation_order(noun))


@cache
def upsert(noun: AnyNoun, rows: int = 1) -> str:
    """Insert so many rows, or replace what is there under their keys."""
    columns = ", ".join(noun.column_names)
    one = "(" + ", ".join(["%s"] * len(noun.column_names)) + ")"
    values = ", ".join([one] * rows)
    key = ", ".join(noun.key_columns)
    changed = [name for name in noun.column_names if name not in noun.key_columns]
    updates = ", ".join(f"{name} = excluded.{name}" for name in changed)
    return (
        f"INSERT INTO {noun.table} ({columns}) VALUES {values}"  # noqa: S608 - names of our own tables only
        f" ON CONFLICT ({key}) DO UPDATE SET {updates}"
    )


@cache
def put_table_indexes(tables: int) -> str:
    """Say of so many tables at which index they were written."""
    values = ", ".join(["(%s, %s)"] * tables)
    return (
        f"INSERT INTO table_index (name, value) VALUES {values}"  # noqa: S608 - no text but placeholders
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    )


@cache
def put_secret(noun: AnyNoun) -> str:
    """Give one row the hash of its secret."""
    return f"UPDATE {noun.table} SET {noun.secret_column} = %s WHERE {_conditions(noun)}"  # noqa: S608 - names of our own tables only


@cache
def delete(noun: AnyNoun, where: str = "") -> str:
    """Delete one row by key, or the rows that match."""
    return f"DELETE FROM {noun.table} WHERE {where or _conditions(noun)}"  # noqa: S608 - names of our own tables only


def placeholders(count: int) -> str:
    """For `IN (...)`."""
    return ", ".join(["%s"] * count)


def _conditions(noun: AnyNoun) -> str:
    return " AND ".join(f"{name} = %s" for name in noun.key_columns)


def _clause(word: str, text: str) -> str:
    return f" {word} {text}" if text else ""


BY_CREATION = "create_index, id"
OF_JOB = "namespace = %s AND job_id = %s"
BLOCKED_EVALUATIONS = select(EVALUATION_ROWS, f"{OF_JOB} AND status = 'blocked'", BY_CREATION)
LISTED_VERSIONS = select(
    JOB_VERSIONS, f"{OF_JOB} AND is_listed", "create_index DESC, version DESC"
)
READ_INDEX = "SELECT value FROM state_index WHERE id = 1"
#: Takes the counter's lock: from here on no other writer moves.
TAKE_INDEX = "UPDATE state_index SET value = value + 1 WHERE id = 1 RETURNING value"
SET_INDEX = "UPDATE state_index SET value = %s WHERE id = 1"
READ_TABLE_INDEX = "SELECT value FROM table_index WHERE name = %s"
READ_EPOCH = "SELECT epoch FROM lease WHERE name = %s"
#: On PostgreSQL: nobody takes the lease over before what is written under it is there to be seen.
HOLD_EPOCH = f"{READ_EPOCH} FOR SHARE"
LIVE_ALLOCATIONS = (
    "SELECT id FROM allocation WHERE namespace = %s AND job_id = %s AND desired_status = 'run'"
    " AND client_status IN ('pending', 'running', 'unknown') LIMIT %s"
)
ALLOCATIONS = "SELECT id FROM allocation WHERE namespace = %s AND job_id = %s LIMIT %s"
STIRRING_ALLOCATION = (
    "SELECT 1 FROM allocation WHERE namespace = %s AND job_id = %s AND (client_status = 'running'"
    " OR desired_status = 'run' AND client_status IN ('pending', 'unknown')"
    " OR modified_at > %s) LIMIT 1"
)
STIRRING_EVALUATION = (
    "SELECT 1 FROM evaluation WHERE namespace = %s AND job_id = %s"
    " AND (status IN ('pending', 'blocked') OR modified_at > %s) LIMIT 1"
)
EVALUATIONS = "SELECT id FROM evaluation WHERE namespace = %s AND job_id = %s LIMIT %s"
OPEN_EVALUATIONS = (
    "SELECT id FROM evaluation WHERE namespace = %s AND job_id = %s"
    " AND status IN ('pending', 'blocked') LIMIT %s"
)
EXPLAINED_RUNS = (
    "SELECT eval_id, MAX(stored_index), SUM(size), MAX(job_version), MAX(ended)"
    " FROM explanation WHERE namespace = %s AND job_id = %s"
    " GROUP BY eval_id ORDER BY MAX(stored_index) DESC, eval_id"
)
HIDE_VERSIONS = "UPDATE job_version SET is_listed = %s WHERE namespace = %s AND job_id = %s"
HIDE_VERSION = HIDE_VERSIONS + " AND create_index = %s AND version = %s"
DROP_UNNAMED_VERSIONS = (
    "DELETE FROM job_version WHERE namespace = %s AND job_id = %s AND NOT is_listed"
    " AND NOT EXISTS (SELECT 1 FROM allocation WHERE allocation.namespace = job_version.namespace"
    " AND allocation.job_id = job_version.job_id"
    " AND allocation.job_create_index = job_version.create_index"
    " AND allocation.job_version = job_version.version)"
)
PUT_JOB_STUB = (
    "INSERT INTO job_stub (namespace, job_id, create_index, type, version, purged_at, purge_index)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s)"
    " ON CONFLICT (namespace, job_id, create_index) DO NOTHING"
)
APPEND_EVENT = 'INSERT INTO event ("index", at, kind, body, size) VALUES (%s, %s, %s, %s, %s)'
READ_EARLIER_EVENTS = (
    'SELECT "index", at, kind, body FROM event WHERE "index" <= %s ORDER BY "index" DESC LIMIT %s'
)
READ_OLDEST_EVENT = "SELECT oldest_event FROM state_index WHERE id = 1"
READ_EVENTS = (
    'SELECT "index", at, kind, body FROM event WHERE "index" > %s ORDER BY "index" LIMIT %s'
)
#: Bodies that are too large are not even read.
READ_SMALL_EVENTS = (
    'SELECT "index", at, kind, CASE WHEN size <= %s THEN body END, size FROM event'
    ' WHERE "index" > %s ORDER BY "index" LIMIT %s'
)
