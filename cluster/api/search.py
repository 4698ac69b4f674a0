"""Find objects by the beginning of their id, over every kind at once (http-api.md 2.5)."""

from django.http import HttpResponse

from cluster.api.request import Call
from cluster.api.respond import Found, answer_found, read_meta
from cluster.api.search_contexts import MOST_IDS, allowed_contexts, can_begin, found_index, ids_of
from cluster.store.ports import RecordReader


async def search(call: Call) -> HttpResponse:
    """PUT /v1/search."""
    body = call.body("SearchRequest")
    prefix, context = body.text("Prefix"), body.text("Context")
    # What no id can begin with is left out.
    contexts = [name for name in allowed_contexts(call, context) if can_begin(name, prefix)]

    def work(reader: RecordReader) -> Found:
        ids = {name: ids_of(call, reader, name, prefix) for name in contexts}
        index = found_index(reader, contexts)
        answer = read_meta(index)
        answer["Matches"] = {name: found[:MOST_IDS] or None for name, found in ids.items()}
        answer["Truncations"] = {name: len(found) > MOST_IDS for name, found in ids.items()}
        return Found(index=index, body=answer)

    return answer_found(call.request, await call.read(work))
