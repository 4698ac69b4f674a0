"""What the attacked site holds, and the addresses of everything it serves."""

import re
from types import SimpleNamespace

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import Group, User
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection
from django.urls import URLPattern, URLResolver, get_resolver

from cluster.operations.built_in_policies import put_built_in_policies
from cluster.operations.nodes import hash_secret
from cluster.store.access import the_store
from scheduler.access.caller import CLUSTER
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import ACL_BOOTSTRAP, NAMESPACES
from scheduler.state.writes.jobs import write_job
from scheduler.structs.acl_token import AclBootstrap
from scheduler.structs.deployment import Deployment
from scheduler.structs.job import Namespace
from tests.builders import make_allocation, make_evaluation, make_job, make_node
from tests.cluster.api.clients import NOW

PASSWORD = "correct horse battery"
NODE_SECRET = "secret-of-node-1"


def fill(store, **texts):
    """A job, an evaluation, a node and an allocation, in `default` and in `team`."""
    node = make_node(1, secret_id=hash_secret(NODE_SECRET))
    held = SimpleNamespace(node=node, jobs={}, evaluations={}, allocations={})

    def work(change):
        change.put(NAMESPACES, Namespace(name="team", create_index=change.index))
        # As `up` leaves it: nobody else becomes the first manager.
        change.put(ACL_BOOTSTRAP, AclBootstrap(reset_index=change.index))
        put_found(change, node)
        for number, namespace in enumerate(("default", "team"), 1):
            job = write_job(change, make_job(id="web", namespace=namespace))
            evaluation = make_evaluation(number, namespace=namespace)
            alloc = make_allocation(
                job, number, node_id=node.id, eval_id=evaluation.id, namespace=namespace
            )
            put_found(change, evaluation)
            put_found(change, alloc)
            put_found(change, Deployment(id=f"d-{namespace}", namespace=namespace, job_id="web"))
            held.jobs[namespace] = job
            held.evaluations[namespace] = evaluation
            held.allocations[namespace] = alloc

    store.write(WriteKind.PLAN_RESULT, work, now=NOW)
    return held


def samples(world, namespace="default"):
    """Values of the parameters in routes."""
    return {
        "job_id": "web",
        "eval_id": world.evaluations[namespace].id,
        "node_id": world.node.id,
        "alloc_id": world.allocations[namespace].id,
        "deployment_id": f"d-{namespace}",
        "namespace": namespace,
        "name": "default",
        "verb": "logs",
        "secret": "nothing",
        "form": "json",
        "rest": "jobs",
        "app_label": "auth",
        "object_id": "1",
        "content_type_id": "1",
        "url": "x/",
        "path": "x",
    }


def addresses(values):
    """Every address of the URL map, with `values` for its parameters."""
    return sorted({f"/{_filled(route, values)}" for route in _routes(get_resolver())})


def _routes(resolver, prefix=""):
    for entry in resolver.url_patterns:
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from _routes(entry, route)
        elif isinstance(entry, URLPattern):
            yield route


def _filled(route, values):
    text = re.sub(
        r"<(?:\w+:)?(\w+)>(?!\[|[a-z|]+\))",
        lambda match: values.get(match[1], "1"),
        _groups(route, values),
    )
    text = text.replace(r"[\s\S]*", "x").replace("[^/]*", "x")
    return re.sub(r"\^|\$|\\Z|\\", "", text)


def _groups(route, values):
    """Named groups of regular expressions, innermost brackets have none in our routes."""
    text = re.sub(r"\(\?:([^()]*(?:\([^()]*\)[^()]*)*)\)\?", r"\1", route)
    return re.sub(r"\(\?P<(\w+)>[^()]*\)", lambda match: values.get(match[1], "x"), text)


def signed_in(name, *groups, **fields):
    """A person with a session; `cookies` are what the browser holds."""
    user = User.objects.create_user(name, password=PASSWORD, **fields)
    put_built_in_policies(the_store(), by=CLUSTER, now=NOW)
    user.groups.set([Group.objects.get_or_create(name=group)[0] for group in groups])
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    user.cookies = {settings.SESSION_COOKIE_NAME: session.session_key}
    return user


def rows():
    """How many rows each table has, and the index: what any write would move.

    All but the audit, where refusals are told, and when a token was used last.
    """
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        counts = {}
        for table in set(tables) - {"audit", "acl_token_use"}:
            cursor.execute(f"SELECT count(*) FROM {table}")  # noqa: S608 - names of our own tables only
            counts[table] = cursor.fetchone()[0]
        cursor.execute("SELECT * FROM state_index")
        counts["index"] = cursor.fetchall()
    return counts
