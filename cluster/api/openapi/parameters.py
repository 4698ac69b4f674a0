"""The parameters that routes share: what each is called, means and may be.

A boolean is any of the reference's ten spellings; a span of time is a text like `30s`.
"""

from typing import Any

_FLAG = {"enum": ["1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"]}
_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_WHOLE = {"type": "integer"}

#: Of every route.
EVERYWHERE = ("namespace", "region", "stale", "pretty", "additions")

PARAMETERS: dict[str, tuple[dict[str, Any], str]] = {
    "namespace": (_TEXT, "The namespace asked about; `*` for all that the caller may see"),
    "region": (_TEXT, "The region of the cluster"),
    "stale": (_FLAG, "Taken and without effect: there is one record"),
    "pretty": (_TEXT, "Indent the answer, whatever is said here but `0`"),
    "index": (_COUNT, "Answer once the index is greater than this one"),
    "wait": (_TEXT, "How long to wait for that, as `30s`; five minutes at most"),
    "prefix": (_TEXT, "How ids, or names, begin"),
    "filter": (_TEXT, "An expression that items must fulfil, as `Status == running`"),
    "per_page": (_COUNT, "How many items a page has at most"),
    "next_token": (_TEXT, "Where the page begins: `X-Nomad-NextToken` of the one before"),
    "reverse": ({"enum": ["true", "false"]}, "The other way round"),
    "additions": (_FLAG, "With what is ours beside the reference's fields"),
    "address": (_TEXT, "The address of a server"),
    "all": (_FLAG, "Of earlier jobs of the same id too"),
    "cas": (_COUNT, "Only if the stored index is this one; 0: only if nothing is there"),
    "choose": (_TEXT, "`<how many>|<key>`: so many, the same for the same key"),
    "diff_tag": (_TEXT, "Compare all versions with the one of this name"),
    "diff_version": (_COUNT, "Compare all versions with this one"),
    "diffs": (_FLAG, "With what changed from version to version"),
    "enable": (_FLAG, "Without a body: drain at once, or stop and place again"),
    "eval_priority": (_WHOLE, "The priority of the evaluation, instead of the job's"),
    "follow": (_FLAG, "Go on with what is written from now on"),
    "force": (_FLAG, "Also where something still stands against it"),
    "form": (_TEXT, "`plain`: limits and use as they are kept"),
    "format": (_TEXT, "`prometheus`: as text for collectors"),
    "full": (_TEXT, "Seal all variables anew too"),
    "global": (_FLAG, "Of tokens: those of every region alone. Of jobs: without effect"),
    "group": (_TEXT, "Of this group alone"),
    "idempotency_token": (_TEXT, "Of several with the same text only the first is carried out"),
    "include_children": (_FLAG, "With the children of periodic and parameterized jobs"),
    "job": (_TEXT, "Of this job alone"),
    "job_id": (_TEXT, "Of this job alone"),
    "kind": (_TEXT, "Kinds of stories, with commas between them"),
    "limit": (_WHOLE, "How many bytes"),
    "lock-acquire": (_TEXT, "Take the lock"),
    "lock-release": (_TEXT, "Let go of the lock"),
    "lock-renew": (_TEXT, "Keep the lock"),
    "log_include_location": (_FLAG, "With the place in the code that wrote each line"),
    "log_json": (_FLAG, "Lines as JSON"),
    "log_level": ({"enum": ["trace", "debug", "info", "warn", "error"]}, "The least level told"),
    "logs_since": (_TEXT, "Of a journal: how far back, as `72h`"),
    "mark_eligible": (_FLAG, "Let its nodes take allocations again"),
    "meta": (_FLAG, "With the metadata of jobs"),
    "no_shutdown_delay": (_FLAG, "Without the delay that groups ask for"),
    "node": (_TEXT, "Of this node alone"),
    "node_id": (_TEXT, "The node"),
    "node_pool": (_TEXT, "Of this node pool alone"),
    "offset": (_WHOLE, "How many bytes from `origin`"),
    "on_disk": (_FLAG, "What the log file holds"),
    "origin": ({"enum": ["start", "end"]}, "Where bytes are counted from"),
    "os": (_FLAG, "With the operating system of nodes"),
    "path": (_TEXT, "The path below the directory of the allocation"),
    "plain": (_FLAG, "As text, without frames"),
    "publish_time": (_WHOLE, "When the key begins to sign, in ns since 1970"),
    "purge": (_FLAG, "Forget the job and its history"),
    "related": ({"enum": ["true", "false"]}, "With stubs of all that it is linked to"),
    "reschedule": (_FLAG, "Place it on another node where there is one"),
    "resources": (_FLAG, "With resources"),
    "server_id": (_TEXT, "The server"),
    "service_name": (_TEXT, "Of the journal of this unit, which is refused"),
    "status": (_TEXT, "Of this status alone"),
    "task": (_TEXT, "The task"),
    "task_states": (_FLAG, "With the states of tasks; they are, unless this says no"),
    "task_group": (_TEXT, "Of this task group alone"),
    "topic": ({"type": "array", "items": {"type": "string"}}, "`Topic` or `Topic:key`"),
    "type": (_TEXT, "The kind"),
    "volume_name": (_TEXT, "Of volumes of this name alone"),
    "version": (_COUNT, "The version"),
    "who": (_TEXT, "Of this actor alone"),
}
