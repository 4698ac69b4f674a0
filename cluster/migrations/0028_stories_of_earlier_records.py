"""The stories of evaluations and deployments made before, as far as they can be known.

In order of creation, a batch of rows in each transaction; broken off, it can run again. What a
body is called here, and how the id of a story is made, stays as it was when this was written.
"""

import re
from hashlib import blake2b

import msgspec
from django.db import migrations, transaction

ROWS_AT_ONCE = 1_000
SECOND = 1_000_000_000
#: Nodes that fall silent so closely are lost together; a drain may pause so long.
TOGETHER, DRAIN_PAUSE = 60 * SECOND, 3600 * SECOND
NAMED_NODES = 20
#: By trigger, of what is not decided otherwise.
KINDS = {
    "job-register": "rollout",
    "job-deregister": "stop",
    "alloc-stop": "stop",
    "job-scaling": "scaling",
    "periodic-job": "launch",
    "alloc-failure": "crash-loop",
    "deployment-watcher": "rollout",
    "preemption": "preemption",
    "node-drain": "drain",
    "node-update": "node-change",
}
OF_VERSIONS = ("job-register", "job-deregister", "job-scaling", "periodic-job")
LOST = re.compile(r"is (down|disconnected)$|was purged$")
PREEMPTED_BY = re.compile(r"evaluation (\S+) of job")
TABLES = ("evaluation", "evaluation_stub")
SELECT = (
    "SELECT id, create_index, body, '{0}' FROM {0} WHERE story_id = '' AND (create_index, id) > (%s, %s)"
)
ORDER = " ORDER BY 2, 1 LIMIT %s"
PUT_STORY = (
    "INSERT INTO story (id, kind, namespace, job_id, parent_job_id, actor, create_index,"
    " modify_index, created_at, modified_at, body)"
    " VALUES (%s, %s, %s, %s, %s, '', %s, %s, %s, %s, %s)"
    " ON CONFLICT (id) DO UPDATE SET modify_index = excluded.modify_index,"
    " modified_at = excluded.modified_at, body = excluded.body"
)
PUT_LINK = (
    "INSERT INTO story_node (node_id, story_id, kind, linked_index, is_current, linked_at, body)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (node_id, story_id) DO UPDATE SET"
    " linked_index = excluded.linked_index, linked_at = excluded.linked_at,"
    " is_current = excluded.is_current, body = excluded.body"
)
TABLE_INDEX = (
    "INSERT INTO table_index (name, value) SELECT 'stories', value FROM state_index"
    " WHERE true ON CONFLICT (name) DO NOTHING"
)


def timestamp(instant):
    """ns as the text that both databases take for UTC."""
    from datetime import datetime, timedelta

    try:
        moment = datetime(1970, 1, 1) + timedelta(microseconds=instant // 1_000)
    except OverflowError:
        return None
    return str(moment) if instant else None


def story_id(*parts):
    """The id of the story that these parts name."""
    text = "\0".join(str(part) for part in parts).encode("utf-8", "replace")
    digits = blake2b(text, digest_size=16).hexdigest()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


class Teller:
    """Decides for one evaluation after the other; what it decided is put by `flush`."""

    def __init__(self, connection):
        self.connection = connection
        self.stories = {}
        self.links = {}
        self.told = {}
        self.versions = {}
        #: The loss that still goes on, and by node its drain: id and when it last moved.
        self.loss = ("", 0)
        self.drains = {}
        #: By node, its newest link.
        self.newest = {}

    def rows(self, statement, parameters):
        with self.connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            return cursor.fetchall()

    def story_of(self, row):
        """The id of the story of an evaluation, by its links or its cause."""
        cause = row.get("Cause") or {}
        made_by = cause.get("ID") if cause.get("Kind") == "evaluation" else ""
        for parent in (row.get("PreviousEval"), made_by):
            found = self.inherited(parent) if parent else ""
            if found:
                return found
        trigger = row["TriggeredBy"]
        decide = getattr(self, "_" + trigger.replace("-", "_"), None)
        found = decide(row, cause) if decide else ""
        if not found and trigger in OF_VERSIONS:
            found = self.of_version(row)
        return found or self.begin(
            story_id(KINDS.get(trigger, "evaluation"), row["ID"]),
            KINDS.get(trigger, "evaluation"),
            row,
        )

    def inherited(self, eval_id):
        if eval_id not in self.told:
            for table in TABLES:
                for (found,) in self.rows(f"SELECT story_id FROM {table} WHERE id = %s", [eval_id]):
                    self.told[eval_id] = found
        return self.told.get(eval_id, "")

    def of_version(self, row):
        """That of the version that was written together with it."""
        for version in self.versions_of(row["Namespace"], row["JobID"]):
            if version["JobModifyIndex"] == row.get("JobModifyIndex") == row["CreateIndex"]:
                kind = KINDS[row["TriggeredBy"]]
                kind = "dispatch" if version.get("Dispatched") else kind
                return self.begin_version(row, version, kind)
        return ""

    def versions_of(self, namespace, job_id):
        key = namespace, job_id
        if key not in self.versions:
            found = self.rows(
                "SELECT body FROM job_version WHERE namespace = %s AND job_id = %s", key
            )
            self.versions[key] = [msgspec.msgpack.decode(bytes(body)) for (body,) in found]
        return self.versions[key]

    def begin_version(self, row, version, kind):
        key = row["Namespace"], row["JobID"], version["CreateIndex"], version["Version"]
        more = {
            "ParentJobID": version.get("ParentID", ""),
            "JobCreateIndex": version["CreateIndex"],
            "JobVersion": version["Version"],
        }
        return self.begin(story_id("version", *key), kind, row, **more)

    def _deployment_watcher(self, row, cause):
        for (body,) in self.rows(
            "SELECT body FROM deployment WHERE id = %s", [row.get("DeploymentID") or cause.get("ID")]
        ):
            rollout = msgspec.msgpack.decode(bytes(body))
            return self.of_deployment(rollout, row)
        return ""

    def of_deployment(self, rollout, row):
        version = {"CreateIndex": rollout["JobCreateIndex"], "Version": rollout["JobVersion"]}
        return self.begin_version(row, version, "rollout")

    def _alloc_failure(self, row, cause):
        for job_version, created, body in self.rows(
            "SELECT job_version, job_create_index, body FROM allocation WHERE id = %s",
            [cause.get("ID", "")],
        ):
            name = msgspec.msgpack.decode(bytes(body)).get("Name", "")
            key = row["Namespace"], row["JobID"], created, job_version
            more = {
                "AllocName": name,
                "JobCreateIndex": created,
                "JobVersion": job_version,
                "ParentID": story_id("version", *key),
            }
            return self.begin(story_id("crash-loop", *key, name), "crash-loop", row, **more)
        return ""

    def _preemption(self, row, cause):
        by = PREEMPTED_BY.search(cause.get("Text", ""))
        if by is None:
            return ""
        # Of whom took the room, not of whom lost it.
        winner = row | {"JobID": cause["Text"].rpartition("of job ")[2]}
        return self.begin(story_id("preemption", by[1]), "preemption", winner)

    def _node_drain(self, row, cause):
        node, at = cause.get("ID", ""), row.get("CreateTime", 0)
        known, moved = self.drains.get(node, ("", 0))
        if not known or at - moved > DRAIN_PAUSE:
            known = story_id("drain", node, row["CreateIndex"])
        self.drains[node] = known, at
        return self.with_node(self.begin(known, "drain", row, of_cluster=True), node, row)

    def _node_update(self, row, cause):
        node = row.get("NodeID") or cause.get("ID", "")
        at, text = row.get("CreateTime", 0), cause.get("Text", "")
        if LOST.search(text):
            known, moved = self.loss
            if not known or at - moved > TOGETHER:
                known = story_id("loss", row["CreateIndex"])
            self.loss = known, at
            begun = self.begin(known, "loss", row, of_cluster=True)
        else:
            known = story_id("node-change", node, row["CreateIndex"])
            begun = self.begin(known, "node-change", row, of_cluster=True)
        return self.with_node(begun, node, row)

    def begin(self, key, kind, row, *, of_cluster=False, **more):
        if key not in self.stories:
            known = self.rows("SELECT body FROM story WHERE id = %s", [key])
            if known:
                self.stories[key] = msgspec.msgpack.decode(bytes(known[0][0]))
        if key not in self.stories:
            index, at = row["CreateIndex"], row.get("CreateTime", 0)
            self.stories[key] = {
                "ID": key,
                "Kind": kind,
                "Namespace": "" if of_cluster else row["Namespace"],
                "JobID": "" if of_cluster else row["JobID"],
                "Text": (row.get("Cause") or {}).get("Text", ""),
                "CreateTime": at,
                "CreateIndex": index,
                "ModifyTime": at,
                "ModifyIndex": index,
                "NodeIDs": [],
                "NodeCount": 0,
                **more,
            }
        return key

    def with_node(self, key, node, row):
        story, at, index = self.stories[key], row.get("CreateTime", 0), row["CreateIndex"]
        if (node, key) not in self.links and not self.rows(
            "SELECT 1 FROM story_node WHERE node_id = %s AND story_id = %s", [node, key]
        ):
            story["NodeIDs"] = [*story["NodeIDs"], node][:NAMED_NODES]
            story["NodeCount"] += 1
            story["ModifyTime"], story["ModifyIndex"] = at, index
        before = self.newest.get(node)
        if before and before != key and (node, before) in self.links:
            self.links[node, before]["Current"] = False
        self.newest[node] = key
        self.links[node, key] = {
            "StoryID": key,
            "NodeID": node,
            "Kind": story["Kind"],
            "At": at,
            "Index": index,
            "Current": True,
        }
        return key

    def flush(self, cursor):
        """Put what was decided; links stay at hand, as a later one takes their place."""
        for story in self.stories.values():
            cells = [story[name] for name in ("ID", "Kind", "Namespace", "JobID")]
            times = [timestamp(story["CreateTime"]), timestamp(story["ModifyTime"])]
            cursor.execute(
                PUT_STORY,
                [*cells, story.get("ParentJobID", ""), story["CreateIndex"], story["ModifyIndex"],
                 *times, msgspec.msgpack.encode(story)],
            )  # fmt: skip
        for link in self.links.values():
            cursor.execute(
                PUT_LINK,
                [link["NodeID"], link["StoryID"], link["Kind"], link["Index"], link["Current"],
                 timestamp(link["At"]), msgspec.msgpack.encode(link)],
            )  # fmt: skip
        self.links = {key: link for key, link in self.links.items() if link["Current"]}
        # The one of a loss may grow.
        kept = {self.loss[0], *(key for key, _ in self.drains.values())}
        self.stories = {key: story for key, story in self.stories.items() if key in kept}
        self.told.clear()
        self.versions.clear()


def tell_evaluations(teller, alias):
    statement = f"{SELECT.format(TABLES[0])} UNION ALL {SELECT.format(TABLES[1])}{ORDER}"
    after = (0, "")
    while True:
        with transaction.atomic(using=alias), teller.connection.cursor() as cursor:
            found = teller.rows(statement, [*after, *after, ROWS_AT_ONCE])
            for eval_id, _, body, table in found:
                row = msgspec.msgpack.decode(bytes(body))
                story = teller.told[eval_id] = teller.story_of(row)
                cursor.execute(
                    f"UPDATE {table} SET story_id = %s, body = %s WHERE id = %s",
                    [story, msgspec.msgpack.encode(row | {"Story": story}), eval_id],
                )
            teller.flush(cursor)
            if found:
                cursor.execute(TABLE_INDEX)
        if not found:
            return
        after = (found[-1][1], found[-1][0])


def tell_deployments(teller, alias):
    after = (0, "")
    while True:
        with transaction.atomic(using=alias), teller.connection.cursor() as cursor:
            found = teller.rows(
                "SELECT id, create_index, body FROM deployment"
                f" WHERE story_id = '' AND (create_index, id) > (%s, %s){ORDER}",
                [*after, ROWS_AT_ONCE],
            )
            for deployment_id, _, body in found:
                row = msgspec.msgpack.decode(bytes(body))
                story = teller.of_deployment(row, row)
                cursor.execute(
                    "UPDATE deployment SET story_id = %s, body = %s WHERE id = %s",
                    [story, msgspec.msgpack.encode(row | {"Story": story}), deployment_id],
                )
            teller.flush(cursor)
        if not found:
            return
        after = (found[-1][1], found[-1][0])


def tell(apps, schema_editor):
    connection = schema_editor.connection
    teller = Teller(connection)
    tell_evaluations(teller, connection.alias)
    tell_deployments(teller, connection.alias)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("cluster", "0027_deployments_of_stories")]
    operations = [migrations.RunPython(tell, migrations.RunPython.noop, elidable=True)]
