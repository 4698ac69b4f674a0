"""Why the reference's command line says otherwise here than to its own server: each kind, ruled.

In: a command and a difference as the replay tells it. Out: its ruling, or None for one that nobody
has ruled. `docs/exchanges.md` is written from here: run as a program it writes the list anew.
"""

import re

from tests.conformance.exchange_rulings import DOCUMENT, Ruling, table_of

BEGIN, END = "<!-- command rulings -->", "<!-- end of command rulings -->"

RULINGS = (
    Ruling(
        r"nomad version",
        r"out [-+] Nomad v.*",
        "The program that was run is of another version than the one that was recorded.",
    ),
    Ruling(
        r"nomad agent-info(?: -json)?",
        r"out - (?:\w+ = .*|\$\.config\..*|\$\.stats\.(?:client|raft|serf)\.\w+)"
        r"|out \+ (?:bivouac|(?:version|arch|cpu_count|goroutines) = .*"
        r"|\$\.stats\.bivouac(?:\.version)?)",
        "Facts of the server's own program: its settings, its run time, its Raft and its gossip,"
        " neither of which is here. Nothing is told that the reference does not tell, but ours.",
    ),
    Ruling(
        r"nomad operator metrics",
        r"out [-+] \$\.(?:Counters|Gauges|Samples)\[\].*",
        "Which numbers there are and what they are of; `docs/metrics.md` says which are told.",
    ),
    Ruling(
        r"nomad node (?:status|meta read).*|nomad status .*",
        r"out [-+] (?:\$(?:\[\])?\.(?:Attributes|Meta|Drivers)\..*|Device = /dev/\w+|CPU = cpu\d+"
        r"|[a-z][\w.-]*\.[\w.-]+ = .*|scratch false /.*"
        r"|(?:docker|exec|java|qemu) (?:true|false) (?:true|false) .*"
        r"|\S*nomad node status -per-page 1 -page-token <id>)",
        "Facts of the machine and of the agent: attributes, metadata of the service mesh, drivers,"
        " devices.",
    ),
    Ruling(
        r"nomad operator scheduler get-config",
        r"out - Node Limit For Feasibility Checks = 0",
        "The program that was recorded is newer than the one that was run: it shows more.",
    ),
    Ruling(
        r"nomad job dispatch nosuch",
        r"err [-+] No (?:parameterized )?job\(s\) with prefix or ID .*",
        "The newer program has another sentence for it.",
    ),
    Ruling(
        r"nomad (?:eval )?status .*",
        r"status 1 was wanted, not 0|err - .*deployment not found.*"
        r"|out \+ (?:Placed Allocations|ID Node ID .*|<id> <id> .*|<time>|ID = <id>|Job ID = web"
        r"|Job Version = 0|Status = successful|Description = .*|Deployed|Task Group Desired .*)",
        "The recorded evaluation was of a job that had been purged, with its allocations and its"
        " rollout; which one stands for it here is chosen by job and cause.",
    ),
    Ruling(
        r"nomad operator (?:raft list-peers|autopilot health)|nomad server members.*",
        r"out [-+] (?:(?:Leader: )?(?:<id>|<server>)|(?:<id>|<server>) <server> <address> alive .*"
        r"|<server> (?:<id>|<server>) <address> leader true 3"
        r"|<server> <address> <n> alive true 2 3 <version> dc1 global .*)",
        "The server has a name where the reference has an id, and tags in another order.",
    ),
    Ruling(
        r"nomad operator autopilot get-config",
        r"out [-+] CleanupDeadServers = (?:true|false)",
        "There is no Raft group from which dead servers could be cleaned up.",
    ),
    Ruling(
        r"nomad operator api .*",
        r"err [-+] (?:< Date: .*|> X-Nomad-Token: <id>|< Content-Length: <n>"
        r"|< X-Content-Type-Options: nosniff)|out - \$\.client(?:\.(?:ok|message))?"
        r"|out [-+] <event>",
        "The recorded server was a client too, and was asked without a token; an empty list of"
        " headers is not the same list.",
    ),
    Ruling(
        r"nomad alloc fs .*",
        r"out [-+] drwx(?:rwxrwx|------) (?:<size>|<n>) <time> (?:\w+)/"
        r"|out - [-p]rw-(?:r--r--|------) (?:<size>|<n>) <time>"
        r" (?:executor\.out|\.\w+\.std(?:out|err)\.fifo|\.nomad-mount)",
        "Files of the reference's own agent in the directories of a task, and the rights of these"
        " directories, which are closer here.",
    ),
    Ruling(
        r"nomad alloc status.*",
        r"out [-+] (?:.*(?:RSS Swap|System Mode).*|<sizes>)",
        "More is measured here of memory and processors than the recorded agent did.",
    ),
    Ruling(
        r"nomad (?:job status web|deployment status \w+)",
        r"out [-+] (?:front true false 2 1 1 [01] 0 <time>|front 0 [0-3] [0-3] 0 [0-4] 0 0"
        r"|<id> <id> front \d (?:run|stop) (?:pending|running|complete) <age> <age>)",
        "A rollout or a drain looked at on its way: an allocation had become healthy, had begun or"
        " had ended a moment earlier or later.",
    ),
    Ruling(
        r"nomad (?:alloc )?status .*",
        r"out [-+] (?:Deployment Health = \w+|\$\.DeploymentStatus\..*|Total Restarts = \d|<sizes>"
        r'|Task "main" is "\w+"|<time> (?:Restart Signaled|Main Tasks Dead|Terminated) .*'
        r"|Desired Status = \w+|Replacement Alloc ID = <id>|Reschedule Eligibility = .*)",
        "Another moment of its life: its rollout has judged it, its restart has ended, or it was"
        " replaced since. A restart is answered here before the process has ended.",
    ),
    Ruling(
        r"nomad alloc exec .* /bin/nosuch",
        r"err [-+] failed to exec into task: (?:rpc error: code = Unknown desc = )?failed to start"
        r" command: fork/exec /bin/nosuch: no such file or directory",
        "Drivers of the reference are programs of their own, and their calls stand in its error.",
    ),
    Ruling(
        r"nomad alloc signal -s SIGNOSUCH .*",
        r"err [-+] Error signalling allocation: Unexpected response code: <n>"
        r' \((?:Task not running|invalid signal "SIGNOSUCH")\)',
        "The recorded task was between two runs; here it runs, and the signal is what is refused.",
    ),
    Ruling(
        r"nomad job status -(?:verbose web|evals .*)|nomad eval list.*",
        r"out - (?:<id> <n> [\w-]+ .*complete false|nomad eval list .*)"
        r"|out \+ (?:<id> <n> .*|nomad eval list .*)",
        "The recording lists evaluations of what had been played before its first line.",
    ),
    Ruling(
        r"nomad job history -(?:full|p) web",
        r'out [-+] (?:Stable = \w+|"Stable": \w+,|"command": "/bin/sh",|\])',
        "Which versions had become stable by then is of the moment.",
    ),
)


def ruling_of(command: str, difference: str) -> Ruling | None:
    """The first that speaks of it."""
    for ruling in RULINGS:
        if re.fullmatch(ruling.route, command) and re.fullmatch(
            ruling.difference, difference, re.DOTALL
        ):
            return ruling
    return None


def rewritten(document: str) -> str:
    """The document with the list as it is now."""
    head, _, rest = document.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{table_of(RULINGS, 'command')}\n{END}{tail}"


if __name__ == "__main__":
    DOCUMENT.write_text(rewritten(DOCUMENT.read_text()))
