"""The own account's page: rights, tokens, sessions.

In: a reader, who looks, and the session that asks. Out: the context of `account.html`.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from cluster.store.audit import AuditPage
from cluster.store.ports import RecordReader
from dashboard.notices import WORDS, choice_of
from dashboard.own_tokens import accessors_of
from dashboard.people import people_of_groups, person_of, whom_to_ask
from dashboard.queries.audit import AuditQuestion, row_context
from dashboard.queries.rights_told import cluster_rights, rights_sentence, rights_table
from dashboard.queries.tokens import own_tokens
from dashboard.rights import ROUTES
from dashboard.sign_ins import sign_ins_of
from dashboard.viewer import Viewer, visible_namespaces


def account_page(
    reader: RecordReader,
    viewer: Viewer,
    *,
    user: Any,
    session_key: str,
    acts: AuditPage,
    extra: Mapping[str, Any],
) -> dict[str, Any]:
    """The context of the page."""
    person = person_of(user)
    sessions = sign_ins_of(user.pk, session_key)
    cluster = cluster_rights(viewer.access, people_of_groups())
    jobs = reader.jobs_by_namespace(visible_namespaces(reader, viewer.access))
    return {
        "account": user,
        "person": person,
        "groups": sorted(person.groups),
        "strong": rights_sentence(person),
        **rights_table(person, {name: face.total for name, face in jobs.items()}),
        "cluster": cluster,
        "cluster_held": sum(line.has for line in cluster),
        "ask": whom_to_ask(),
        "sessions": sessions,
        "this_session": next((each for each in sessions if each.is_this), None),
        **_own_acts(user, viewer, acts),
        **_notices(user.pk),
        **own_tokens(reader, person, accessors_of(user), viewer.now),
        **extra,
    }


def _own_acts(user: Any, viewer: Viewer, found: AuditPage) -> dict[str, Any]:
    """What the audit has of the account: one's own acts are one's own to read."""
    may_read_all = ROUTES["audit"].holds(viewer.access)
    return {
        "own_acts": [row_context(entry) for entry in found.rows],
        "own_acts_are_all": not found.next_below and not found.ended_early,
        "own_acts_url": AuditQuestion(who=user.get_username()).address() if may_read_all else "",
    }


def _notices(user_id: int) -> dict[str, Any]:
    choice = choice_of(user_id)
    return {
        "notice_kinds": [
            {"value": kind.value, "told": gettext(told), "is_chosen": kind in choice.kinds}
            for kind, (told, _) in WORDS.items()
        ],
        "notice_minutes": choice.blocked_after // 60,
    }
