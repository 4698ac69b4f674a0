"""Lists and reads of plain nouns, each from one declaration: paths, who may read, what is shown.

In: the nouns that the API lists by name. Out: their routes. Writes are views of their own, because
no two check alike; a declaration names them, so that one route answers every method.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec
from django.http import HttpResponse

from cluster.api import acl_auth, acl_policies, node_pools, operator, quotas, webhooks
from cluster.api.acl_callers import own_policies
from cluster.api.blocking_read import answer_read
from cluster.api.encode import to_plain
from cluster.api.paging import BY_ID, BY_NAME, Order, page_of, read_listing
from cluster.api.request import Call, View
from cluster.api.respond import Found
from cluster.api.watches import watch_row, watch_table
from cluster.operations.acl_auth_methods import NO_RULE
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.policy_rights import ANONYMOUS_POLICY
from cluster.operations.rights import (
    require_management,
    require_namespace,
    require_pool,
    require_reads,
)
from cluster.operations.webhooks import NO_WEBHOOK
from scheduler.access.caller import Caller
from scheduler.ports import StateReader
from scheduler.state.noun import Noun
from scheduler.state.nouns import (
    ACL_AUTH_METHODS,
    ACL_BINDING_RULES,
    ACL_POLICIES,
    NAMESPACES,
    NODE_POOLS,
    QUOTAS,
)
from scheduler.state.webhook_nouns import WEBHOOKS


class PlainNoun(msgspec.Struct, frozen=True, kw_only=True):
    """How the API shows a noun whose rows are found by one text: their name, or an id."""

    noun: Noun[str, Any]
    #: Below `/v1/`: of the list, and of one row before its name.
    list_path: str
    row_path: str
    #: What a read of a name says that is not there, and one of no name at all; "": that as well.
    missing: str
    nameless: str = ""
    #: Refuse callers who may not list, or not read the row of a name.
    may_list: Callable[[Caller], None]
    may_read: Callable[[Caller, str], None]
    #: Whether a list shows a row to a caller.
    is_listed: Callable[[Caller, Any], bool] = lambda _caller, _value: True
    #: The names of the rows that a caller may see, where the record says it; None: all.
    own_names: Callable[[StateReader, Caller], Collection[str] | None] = lambda _reader, _by: None
    #: Names that everybody may read; lists show them to nobody for that.
    open_names: frozenset[str] = frozenset()
    #: How a list shows a row.
    stub: Callable[[Any], Any] = to_plain
    #: How a read of one row shows it.
    form: Callable[[Any], Any] = to_plain
    #: The `form` in a query that asks for rows as they are kept instead; "": there is none.
    plain_form: str = ""
    #: Whether lists can be asked for in pages, and in which order they are.
    has_pages: bool = True
    order: Order = BY_NAME
    #: Whether everybody may list, whatever token they show.
    is_list_open: bool = False
    #: Views of further methods of the list's route, and of a row's.
    list_writes: Mapping[str, View] = {}
    writes: Mapping[str, View] = {}


PLAIN_NOUNS = (
    PlainNoun(
        noun=NAMESPACES,
        list_path="namespaces",
        row_path="namespace",
        missing="Namespace not found",
        nameless=operator.NAMELESS_NAMESPACE,
        may_list=lambda _caller: None,
        may_read=require_namespace,
        is_listed=lambda caller, namespace: caller.access.knows_namespace(namespace.name),
        has_pages=False,
        writes={"PUT": operator.write_namespace, "DELETE": operator.remove_namespace},
    ),
    PlainNoun(
        noun=QUOTAS,
        list_path="quotas",
        row_path="quota",
        missing=quotas.NO_QUOTA,
        may_list=lambda caller: require_reads(caller, "quota"),
        may_read=lambda caller, _name: require_reads(caller, "quota"),
        has_pages=False,
        stub=quotas.quota_form,
        form=quotas.quota_form,
        plain_form=quotas.PLAIN,
        writes={"PUT": quotas.write_quota, "DELETE": quotas.remove_quota},
    ),
    PlainNoun(
        noun=NODE_POOLS,
        list_path="node/pools",
        row_path="node/pool",
        missing="node pool not found",
        may_list=lambda _caller: None,
        may_read=lambda caller, name: require_pool(caller, name, "read"),
        is_listed=lambda caller, pool: caller.access.allows_pool(pool.name, "read"),
        list_writes={"PUT": node_pools.write_pool},
        writes={"PUT": node_pools.write_pool, "DELETE": node_pools.remove_pool},
    ),
    PlainNoun(
        noun=WEBHOOKS,
        list_path="webhooks",
        row_path="webhook",
        missing=NO_WEBHOOK,
        may_list=lambda caller: require_reads(caller, "operator"),
        may_read=lambda caller, _name: require_reads(caller, "operator"),
        stub=webhooks.webhook_form,
        form=webhooks.webhook_form,
        writes={"PUT": webhooks.write_webhook, "DELETE": webhooks.remove_webhook},
    ),
    PlainNoun(
        noun=ACL_POLICIES,
        list_path="acl/policies",
        row_path="acl/policy",
        missing="ACL policy not found",
        nameless=acl_policies.NAMELESS_POLICY,
        may_list=lambda _caller: None,
        may_read=lambda _caller, _name: None,
        own_names=own_policies,
        open_names=frozenset({ANONYMOUS_POLICY}),
        writes={"PUT": acl_policies.write_policy, "DELETE": acl_policies.remove_policy},
        stub=acl_policies.policy_stub,
        form=acl_policies.policy_form,
    ),
    PlainNoun(
        noun=ACL_AUTH_METHODS,
        list_path="acl/auth-methods",
        row_path="acl/auth-method",
        missing="ACL auth-method not found",
        nameless=acl_auth.MISSING_NAME,
        # It is asked before one signs in.
        is_list_open=True,
        may_list=lambda _caller: None,
        may_read=lambda caller, _name: require_management(caller),
        writes={"PUT": acl_auth.write_method, "DELETE": acl_auth.remove_method},
        stub=acl_auth.method_stub,
    ),
    PlainNoun(
        noun=ACL_BINDING_RULES,
        list_path="acl/binding-rules",
        row_path="acl/binding-rule",
        missing=NO_RULE,
        nameless=acl_auth.MISSING_ID,
        order=BY_ID,
        may_list=require_management,
        may_read=lambda caller, _name: require_management(caller),
        writes={"PUT": acl_auth.write_rule, "DELETE": acl_auth.remove_rule},
        stub=acl_auth.rule_stub,
    ),
)


def list_view(plain: PlainNoun) -> View:
    """GET of the list: by prefix, in order."""
    table = plain.noun.table_index

    async def view(call: Call) -> HttpResponse:
        plain.may_list(call.caller)
        listing = read_listing(call.query)
        stub = to_plain if _asks_for_plain(plain, call) else plain.stub
        if not plain.has_pages:
            listing = msgspec.structs.replace(listing, per_page=0)

        def work(reader: StateReader) -> Found:
            own = plain.own_names(reader, call.caller)
            wanted = (
                value
                for value in reader.list_all(plain.noun)
                if plain.noun.key(value).startswith(listing.prefix)
                and plain.is_listed(call.caller, value)
                and (own is None or plain.noun.key(value) in own)
            )
            page = page_of(wanted, listing, plain.order)
            return Found(
                index=reader.table_index(table),
                body=[stub(value) for value in page.items],
                next_token=page.next_token,
            )

        return await answer_read(call, work, watch_table(table))

    return view


def read_view(plain: PlainNoun) -> View:
    """GET of one row, by its name."""
    table = plain.noun.table_index

    async def view(call: Call, name: str) -> HttpResponse:
        plain.may_read(call.caller, name)
        if not name and plain.nameless:
            raise OperationRefused(plain.nameless)
        form = to_plain if _asks_for_plain(plain, call) else plain.form

        def work(reader: StateReader) -> Found:
            own = plain.own_names(reader, call.caller)
            if own is not None and name not in {*own, *plain.open_names}:
                raise NotAllowed
            value = reader.get(plain.noun, name)
            if value is None:
                return Found(index=reader.table_index(table), missing=plain.missing)
            return Found(index=value.modify_index, body=form(value))

        return await answer_read(call, work, watch_row(table, name))

    return view


def _asks_for_plain(plain: PlainNoun, call: Call) -> bool:
    return bool(plain.plain_form) and call.query.get("form") == plain.plain_form
