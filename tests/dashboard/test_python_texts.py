"""Every sentence that Python makes for a page is marked for translation."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    path
    for path in (ROOT / "dashboard").rglob("*.py")
    if not {"migrations", "tests"} & set(path.parts)
)
MARKS = {"gettext", "gettext_noop", "gettext_lazy", "ngettext", "count_of", "plural"}
#: Modules that make nothing of a page in the language of who looks, and why.
NEVER = {
    "acts.py": "the audit is kept in one language",
    "admin/watched.py": "what it makes is for the audit",
    "own_tokens.py": "refusals, which the audit keeps as they were told, as those of operations",
    "provider_people.py": "refusals, which the audit keeps",
    "rehearsing.py": "names of acts for the audit",
    "stories/note.py": "the incident note is a file for others",
    "graphs/mermaid.py": "the language of Mermaid",
    "graphs/svg.py": "markup",
    "graphs/alone.py": "markup",
    "graphs/racks.py": "markup",
    "graphs/usage_chart.py": "markup",
    "queries/story_files.py": "files, in English",
    "queries/rehearsed_files.py": "files, in English",
    "queries/filter_words.py": "the words of the language of expressions",
    "security.py": "headers",
    "panels.py": "what the socket tells programs",
    "live/topics.py": "what the socket tells programs",
    "live/hub.py": "what the socket tells programs",
    "live/groups.py": "what the socket tells programs",
    "live/consumers.py": "what the socket tells programs",
    "live/entitlement.py": "what the socket tells programs",
    "live/terminals.py": "what the socket tells programs",
    "models.py": "names of tables, which the admin shows as they are",
    "labels.py": "marked in table_texts",
    "queries/list_kinds.py": "marked in table_texts",
    "queries/job_lists.py": "marked in table_texts",
    "script_texts.py": "marked there",
    "table_texts.py": "marked there",
}
#: Texts that are compared, kept or read by machines, by module.
KEPT: dict[str, set[str]] = {
    # Names of acts, as the audit keeps them and offers them to be looked for.
    "admin/cluster_acts.py": {"change scheduler settings", "collect garbage"},
    "admin/jobs.py": {"stop job", "Stopped. {}"},
    "admin/node_acts.py": {
        "drain node", "cancel drain", "open or close node", "purge node",
        # The history of the admin.
        "Drain canceled", ", set eligible", "Set ineligible. {}", "Purged. {}",
    },
    "admin/nodes.py": {"Set eligible"},
    "admin/drain_form.py": {
        "by force, at once", "deadline {}", "system jobs left running", "{} nodes at once",
        "Drain: {}. Reason: {}", "{}. Ticket: {}",
    },
    "queries/audit.py": {
        "register job", "stop job", "purge job", "evaluate job", "stop allocation",
        "restart allocation", "promote deployment", "fail deployment", "drain node",
        "cancel drain", "open node", "close node", "purge node", "sign in", "sign out",
    },
    # Marked in table_texts; the first of each is an expression.
    "queries/variable_list.py": {
        'Path matches "^nomad/jobs/"', "At index", "No variable", "Path begins with",
        "Path holds", "Read without a policy by",
        "Passwords and settings that tasks read by name. How a task reads one is told below.",
    },
    "queries/service_list.py": {
        'ServiceName == "web" and Tags contains "v2"', "No service is offered",
        "Service begins with",
        (
            "A job offers one with a “service” block of provider “nomad” in a group or a task."
            " Each allocation that runs then has its address here, and other tasks find it by"
            " name."
        ),
    },
    "queries/volume_list.py": {
        'PluginID == "mkdir" and State != "ready"', "Made by", "Name or id begins with",
        "No volume",
        "A directory of one node, made for the jobs of a namespace and kept until it is deleted.",
    },
    "views/scale_rehearsed.py": {"rehearse: {}"},
    "views/provider.py": {
        "a sign-in that was not begun here, or is over", "the provider does not answer",
        "what the provider sent proves nothing", "refused by the provider",
        "no account here for who came", "too many wrong tries",
    },
    # Keys.
    "chains.py": {"evaluation {}"},
    "page_rates.py": {"person {}"},
    "throttle.py": {"{} name {}"},
    "stories/places.py": {"place {}"},
    "stories/whole.py": {" of "},
    # Checks and columns by their names, which are translated where they are shown.
    "graphs/node_matrix.py": {
        "job constraints", "secrets providers", "host volumes", "CSI volumes",
        "max allocation exceeded", "Network, volumes", "Others there",
    },
    "queries/navigation.py": {"Nodes lost"},
    # What the record and libraries say, compared or cut off.
    "queries/allocation.py": {"Driver Failure", "Restart Signaled"},
    "rollout_endings.py": {
        "Cancelled due to newer version of job", "Cancelled because job is stopped",
        "no stable job version to auto revert to",
    },
    # Expressions.
    "queries/deployment.py": {
        " and ", 'DeploymentID == "{}"', "DeploymentStatus.Healthy == true",
        "DeploymentStatus.Healthy == false",
    },
    "queries/list_expression.py": {"failed to read result page: ", "no match found, "},
    "queries/policies.py": {
        "Failed to parse ACL Policy: ", "failed to parse rules: ", "policy 0 invalid: ",
        # For the editor, beside English findings.
        "The policy",
    },
    "queries/launching.py": {" UTC"},
    "stories/batches.py": {"its canaries"},
    "stories/heat.py": {"Node registered", "Node heartbeat missed"},
    # Kept with the session.
    "sign_ins.py": {
        "login link", "Mac OS X", "{} on {}", "an unknown browser", "a browser", "sign-in {}",
    },
    # Of a deployment that is set up wrong.
    "provider_sign_in.py": {"the certificates in {} cannot be read"},
    # In table_texts.
    "templatetags/cluster_tags.py": {"{count} {}", "{} lost"},
    "stories/names.py": {"Crash loop", "By hand"},
    # Units and instants, which are written alike in every language.
    "wording.py": {"{} ms", "{} {} UTC", "{} UTC", "{} {}{} {} UTC"},
}  # fmt: skip
#: Calls whose texts are for developers, for the audit, or patterns and markup.
CALLS = {"compile", "format_html", "format_html_join", "Act", "note_own_act", "note_act"}
CALLS |= {"note_admin_act", "note_refused", "note_account_kept", "note_provider_refused"}
LOGGERS = {"logger", "log", "LOG"}
FAULTS = {"ValueError", "RuntimeError", "KeyError", "TypeError", "LookupError", "AssertionError"}
FAULTS |= {"ImproperlyConfigured", "IndexError"}
MACHINE = re.compile(r"charset=|action=|attachment;|^<|^ data-|<svg|^ (href|aria)|\\\\|\n")
WORD = re.compile(r"[^\W\d_]{2,}")


def name_of(call):
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def is_sentence(text):
    return " " in text and bool(WORD.search(text)) and not MACHINE.search(text)


def is_for_machines(node):
    """Whether nothing within is shown."""
    if isinstance(node, ast.Raise):
        return isinstance(node.exc, ast.Call) and name_of(node.exc) in FAULTS
    if isinstance(node, ast.Assert | ast.Compare | ast.MatchValue | ast.arg):
        return True
    if isinstance(node, ast.Call):
        root = node.func
        while isinstance(root, ast.Attribute):
            root = root.value
        return name_of(node) in MARKS | CALLS or getattr(root, "id", "") in LOGGERS
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def unmarked(node):
    """Sentences within that no mark is around: texts, and texts with values put in."""
    if is_for_machines(node):
        return
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str) and is_sentence(node.value):
            yield node.value
        return
    children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.JoinedStr):
        told = "".join(
            part.value if isinstance(part, ast.Constant) else "{}" for part in node.values
        )
        if is_sentence(told):
            yield told
        children = [part for part in node.values if not isinstance(part, ast.Constant)]
    elif isinstance(node, ast.Dict):
        children = node.values
    elif isinstance(node, ast.Subscript):
        children = [node.value]
    elif isinstance(node, ast.AnnAssign):
        children = [node.value] if node.value is not None else []
    for child in children:
        yield from unmarked(child)


def place_of(path):
    return str(path.relative_to(ROOT / "dashboard"))


def test_every_sentence_is_marked():
    found = {
        place_of(path): set(unmarked(ast.parse(path.read_text())))
        for path in MODULES
        if place_of(path) not in NEVER
    }
    assert {place: texts for place, texts in found.items() if texts} == KEPT


def test_no_exception_is_left_over():
    places = {place_of(path) for path in MODULES}
    assert places >= {*NEVER, *KEPT}


def marked_in(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and name_of(node) in MARKS - {"count_of"}:
            texts = [each for each in node.args[:2] if isinstance(each, ast.Constant)]
            yield from (each.value for each in texts if isinstance(each.value, str))


def test_values_are_put_in_by_their_names():
    """A translator sees what each is, and may say them in another order."""
    for path in MODULES:
        for text in marked_in(path):
            assert "{}" not in text, (place_of(path), text)
            assert "%s" not in text, (place_of(path), text)


def test_a_text_with_values_is_marked_before_they_are_put_in():
    """What is looked up with its values in it is never found."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and name_of(node) in MARKS:
                assert not any(isinstance(each, ast.JoinedStr) for each in node.args), (
                    place_of(path),
                    node.lineno,
                )


def test_both_forms_of_a_count_say_the_number_where_it_is():
    """`makemessages` finds them only as texts; the words that templates count stand in a table."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and name_of(node) in {"count_of", "plural"}):
                continue
            texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
            if len(texts) == 2:
                assert all("{count}" in text for text in texts), (place_of(path), texts)


def test_a_sentence_that_is_not_marked_is_found():
    source = """
def told(count, name):
    \"\"\"What is said of it.\"\"\"
    if name == "not shown":
        raise ValueError("for developers only")
    return f"{count} of them wait", gettext("all well"), {"a key": "it stands"}
"""
    assert list(unmarked(ast.parse(source))) == ["{} of them wait", "it stands"]
