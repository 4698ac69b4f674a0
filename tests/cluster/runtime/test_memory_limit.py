"""The limit of a rehearsal's memory: what is used counts, not what is reserved."""

import json
import subprocess
import sys

BEGIN = """
import json, mmap, resource, time
from cluster.runtime.memory_limit import memory_limit, memory_mib
MIB = 2**20
told = {"at first": memory_mib()}
def tried(work):
    try:
        with memory_limit(told["at first"] + 64):
            work()
            time.sleep(0.3)
    except MemoryError:
        return "refused"
    return "done"
def reserve(mib):
    kept.append(mmap.mmap(-1, mib * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
def use(mib):
    kept.append([bytes(range(256)) * 4096 for _ in range(mib)])
kept = []
"""


def told_by(*lines):
    """What a process of its own says of itself."""
    program = "\n".join([BEGIN, *lines, "print(json.dumps(told))"])
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(found.stdout)


def test_what_is_reserved_does_not_count_and_what_is_used_does():
    told = told_by(
        'told["reserved"] = tried(lambda: reserve(100))',
        'told["used"] = tried(lambda: use(32))',
        'told["too much"] = tried(lambda: use(64))',
    )
    assert (told["reserved"], told["used"], told["too much"]) == ("done", "done", "refused")


def test_one_request_of_far_too_much_is_refused_before_it_is_used():
    told = told_by(
        'told["asked"] = tried(lambda: kept.append(bytearray(1024 * MIB)))',
        'told["most"] = memory_mib()',
    )
    assert told["asked"] == "refused"
    assert told["most"] < told["at first"] + 64


def test_a_limit_ends_with_what_it_was_set_for():
    told = told_by(
        "tried(lambda: None)",
        "use(128)",
        "time.sleep(0.3)",
        'told["limit"] = resource.getrlimit(resource.RLIMIT_DATA)[0]',
    )
    assert told["limit"] == -1


def test_what_the_process_that_started_it_has_used_is_not_its_own():
    """Of that the kernel's own figure (ru_maxrss) of a new process begins."""
    much = bytes(range(256)) * 4096 * 200
    assert told_by()["at first"] < len(much) // 2**20
