"""The job files of the demo, as somebody would write them: the pages show their text.

In: numbers that a scenario chooses. Out: texts in HCL. Their tasks are pretended by mock_driver.
"""

#: Every job of the demo begins so, and only those are purged.
PREFIX = "demo-"


def fits() -> str:
    """Twelve that spread over the racks."""
    return _job(
        "demo-fits",
        _group("web", 12, _task(cpu=200, memory=128), _APART),
        top='spread {\n    attribute = "${meta.rack}"\n    weight    = 100\n  }',
    )


def blocked() -> str:
    """More memory than any node of the demo has."""
    return _job("demo-blocked", _group("cache", 3, _task(cpu=100, memory=16384)))


def canary(*, is_broken: bool) -> str:
    """A service with canaries; the broken version's tasks end at once."""
    task = _task(
        cpu=100,
        memory=64,
        config='run_for   = "1s"\n        exit_code = 1' if is_broken else 'run_for = "8760h"',
    )
    return _job(
        "demo-canary",
        _group(
            "web",
            6,
            task,
            'restart {\n      attempts = 0\n      mode     = "fail"\n    }',
            # Nothing is tried again: the first failure ends the rollout.
            "reschedule {\n      attempts  = 0\n      unlimited = false\n    }",
        ),
        top=(
            "update {\n    max_parallel      = 2\n    canary            = 2\n"
            '    health_check      = "task_states"\n    min_healthy_time  = "2s"\n'
            '    healthy_deadline  = "30s"\n    progress_deadline = "60s"\n'
            "    auto_revert       = true\n  }"
        ),
    )


def resident() -> str:
    """Work that a node which falls silent loses; never more than two on a node."""
    return _job("demo-resident", _group("app", 60, _task(cpu=300, memory=128), _PAIRS))


def filler() -> str:
    """Most of each node of rack r2, at a low priority."""
    return _job(
        "demo-filler",
        _group("idle", 20, _task(cpu=2000, memory=256), _on_rack("r2"), _APART),
        priority=20,
    )


def urgent() -> str:
    """A system job that needs what `filler` holds."""
    return _job(
        "demo-urgent",
        _group("agent", None, _task(cpu=2200, memory=256), _on_rack("r2")),
        kind="system",
        priority=90,
    )


def rival(number: int, node: str) -> str:
    """One of several that want the same node."""
    return _job(
        f"demo-rival-{number}",
        _group("app", 1, _task(cpu=1500, memory=64), _on_node(node)),
    )


def full_rack() -> str:
    """One on each node of rack r3, so that none of them can move within it."""
    return _job(
        "demo-rack", _group("shard", 20, _task(cpu=200, memory=128), _on_rack("r3"), _APART)
    )


def everywhere(number: int) -> str:
    """A small system job."""
    return _job(
        f"demo-storm-{number}", _group("probe", None, _task(cpu=5, memory=10)), kind="system"
    )


_IN_A_RACK = 'constraint {\n    attribute = "${meta.rack}"\n    operator  = "is_set"\n  }'
#: No job of the demo packs a node so full that another scenario finds no room there.
_PAIRS = (
    'constraint {\n      operator  = "distinct_property"\n'
    '      attribute = "${node.unique.id}"\n      value     = "2"\n    }'
)
_APART = 'constraint {\n      operator = "distinct_hosts"\n      value    = "true"\n    }'


def _on_rack(rack: str) -> str:
    return f'constraint {{\n      attribute = "${{meta.rack}}"\n      value     = "{rack}"\n    }}'


def _on_node(name: str) -> str:
    return (
        'constraint {\n      attribute = "${node.unique.name}"\n'
        f'      value     = "{name}"\n    }}'
    )


def _job(
    name: str, group: str, *, kind: str = "service", priority: int = 50, top: str = ""
) -> str:
    # The real node of this machine may have more room than any of the demo, and is in no rack.
    blocks = "\n\n".join(f"  {block}" for block in (_IN_A_RACK, top, group) if block)
    return (
        f'job "{name}" {{\n  type        = "{kind}"\n  datacenters = ["*"]\n'
        f"  priority    = {priority}\n\n{blocks}\n}}\n"
    )


def _group(name: str, count: int | None, task: str, *blocks: str) -> str:
    counted = [] if count is None else [f"count = {count}"]
    body = "\n\n".join(f"    {block}" for block in (*counted, *blocks, task))
    return f'group "{name}" {{\n{body}\n  }}'


def _task(*, cpu: int, memory: int, config: str = 'run_for = "8760h"') -> str:
    return (
        'task "main" {\n      driver = "mock_driver"\n\n'
        f"      config {{\n        {config}\n      }}\n\n"
        f"      resources {{\n        cpu    = {cpu}\n        memory = {memory}\n      }}\n    }}"
    )
