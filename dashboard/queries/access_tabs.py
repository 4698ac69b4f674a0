"""The tabs of the pages of access, with how much stands behind each.

In: a reader. Out: the tabs of `_tabs.html`.
"""

from typing import Any

from django.utils.translation import gettext_noop

from cluster.store.ports import RecordReader

#: The page of each, its word, and the table whose rows it shows.
TABS = (
    ("/access/policies/", gettext_noop("Policies"), "acl_policy"),
    ("/access/tokens/", gettext_noop("Tokens"), "acl_token"),
    ("/access/roles/", gettext_noop("Roles"), "acl_role"),
    ("/access/join-tokens/", gettext_noop("Join tokens"), "join_token"),
    ("/admin/auth/group/", gettext_noop("Groups"), "auth_group"),
    ("/admin/auth/user/", gettext_noop("Accounts"), "auth_user"),
)


def access_tabs(reader: RecordReader, current: str) -> list[dict[str, Any]]:
    """The tabs; `current` is the address of the page they stand on."""
    counts = reader.row_counts([table for _, _, table in TABS])
    return [
        {"url": url, "word": word, "count": count, "is_current": url == current}
        for (url, word, _), count in zip(TABS, counts, strict=True)
    ]
