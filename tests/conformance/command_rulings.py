"""Why the reference's command line says otherwise here than to its own server: each kind, ruled.

In: a command and a difference as the replay tells it. Out: its ruling, or None for one that nobody
has ruled. `docs/exchanges.md` is written from here: run as a program it writes the list anew.
"""

import re

from tests.conformance.exchange_rulings import DOCUMENT, Ruling, table_of

BEGIN, END = "<!-- command rulings -->", "<!-- end of command rulings -->"

RULINGS = (
    Ruling(
        r"nomad agent-info.*|nomad operator metrics|nomad version",
        r"out .*",
        "Facts of the server's own program: its settings, its run time, its Raft, its version, the"
        " names of what it measures.",
    ),
    Ruling(
        r"nomad node (?:status|meta read).*|nomad status .*",
        r"out .*(?:\.(?:Attributes|Meta|Drivers)\b|Device =|CPU = cpu|[-+] [a-z][\w.-]* = "
        r"|scratch false|(?:docker|exec|java|qemu) (?:true|false)|<address>|eligible"
        r"|node status -per-page).*",
        "Facts of the machine and of the agent: attributes, metadata, drivers, devices, and which"
        " of the nodes has the lower id. An agent here has no HTTP address of its own.",
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
        r"out .*<server>.*|out .*Leader.*|out - <id>",
        "The server has a name where the reference has an id, and tags in another order.",
    ),
    Ruling(
        r"nomad operator autopilot get-config",
        r"out [-+] CleanupDeadServers = (?:true|false)",
        "There is no Raft group from which dead servers could be cleaned up.",
    ),
    Ruling(
        r"nomad operator api .*",
        r"err .*(?:Date|X-Nomad-Token|Content-Length|X-Content-Type-Options).*"
        r"|out - \$\.client.*|out .*<event>",
        "The recorded server was a client too, and was asked without a token; an empty list of"
        " headers is not the same list.",
    ),
    Ruling(
        r"nomad alloc fs .*",
        r"out .*(?:executor\.out|\.fifo|\.nomad-mount|api\.sock|/)",
        "Files of the reference's own agent in the directories of a task, and the rights of these"
        " directories, which are closer here.",
    ),
    Ruling(
        r"nomad alloc status.*",
        r"out [-+] (?:.*(?:RSS Swap|System Mode).*|<sizes>)",
        "More is measured here of memory and processors than the recorded agent did.",
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
        r"nomad alloc exec .*",
        r"err .*failed to start command: .*",
        "Drivers of the reference are programs of their own, and their calls stand in its error.",
    ),
    Ruling(
        r"nomad alloc signal -s SIGNOSUCH .*",
        r"err .*",
        "The recorded task was between two runs; here it runs, and the signal is what is refused.",
    ),
    Ruling(
        r"nomad (?:job run health\.nomad\.hcl|alloc (?:checks|status) .*)",
        r"status 0 was wanted, not -\d|out [-+] (?:Status = \w+|Description = .*|ID = \w{64}"
        r"|Output = .*|\$\.\w{64}.*|health-web .*|<time> Alloc Unhealthy .*)",
        "Its task listens on 127.0.0.1, which was the address of the recorded node; a node here"
        " tells that of its machine, where the check finds nobody.",
    ),
    Ruling(
        r"nomad job status -(?:verbose web|evals .*)|nomad eval list.*",
        r"out - (?:<id> <n> [\w-]+ .*complete false|nomad eval list .*)"
        r"|out \+ (?:<id> <n> .*|nomad eval list .*)",
        "The recording lists evaluations of what had been played before its first line.",
    ),
    Ruling(
        r"nomad job history -full web",
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
