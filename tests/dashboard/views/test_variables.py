"""Variables for people: listed by right, values one at a time, nobody's change overwritten."""

import json
import re

import pytest

from cluster.agent.templates.render_order import FoundData, RenderOrder, TemplateOrder
from cluster.agent.templates.worker import rendered
from cluster.jobspec.parse import parse_text
from cluster.operations.variable_locks import acquire_lock
from cluster.operations.variables import delete_variable, put_variable, read_variable
from cluster.store.audit import AuditFilter, read_audit
from dashboard.feeds.pieces import Html, RowOrder
from dashboard.live.topics import Looker, authorise
from dashboard.panels import feed_for
from dashboard.people import person_of
from dashboard.queries.variables import EXAMPLE, readers_of
from dashboard.viewer import visible_namespaces
from scheduler.access.caller import CLUSTER
from scheduler.state.variable_nouns import VARIABLES
from tests.builders import SOME_MOMENT, CountingIDs
from tests.dashboard.views.conftest import Browser, listed
from tests.people import account_with
from tests.root_keys import put_keys, root_key

PATH = "nomad/jobs/web"
URL = f"/variables/default/{PATH}/"
SECRET = "correct horse"


@pytest.fixture(autouse=True)
def keys(store):
    put_keys(store, root_key())


@pytest.fixture
def variable(store):
    return put(store, PATH, password=SECRET, user="web")


def put(store, path=PATH, namespace="default", **items):
    return put_variable(store, namespace, path, items, by=CLUSTER, now=SOME_MOMENT)[1].variable


def items(store, path=PATH):
    found = store.read(lambda reader: read_variable(reader, "default", path, by=CLUSTER))
    return found.items if found else None


def somebody(store, *rules):
    """One who may do with each path what stands beside it."""
    paths = "".join(
        f'path "{path}" {{ capabilities = {json.dumps(may)} }}\n' for path, *may in rules
    )
    rules = f'namespace "default" {{\n policy = "read"\n variables {{\n{paths}}}\n}}'
    return Browser(account_with(store, rules))


def sent(*rows, seen=0, **more):
    was, item, deed, value = (list(column) for column in zip(*rows, strict=True))
    return {"seen": seen, "was": was, "item": item, "deed": deed, "item_value": value, **more}


def test_the_list_teaches_where_there_is_none(browser):
    page = browser.get("/variables/").text
    assert "No variable that you may list." in page
    assert "with nomadVar" in page
    assert "<code>nomad/jobs</code> every task" in page


def test_only_paths_that_one_may_list_are_listed(store, variable):
    put(store, "hidden", a="b")
    guest = somebody(store, ("nomad/*", "list"))
    page = guest.get("/variables/")
    assert listed(page) == [f"default/{PATH}"]
    assert "1 variable that you may list; none is locked." in page.text
    assert guest.get("/variables/default/hidden/").status == 404
    one = guest.get(URL)
    assert one.status == 200
    assert "password" not in one.text
    assert "needs variables:read" in one.text


def test_the_list_is_narrowed_by_path(store, browser):
    for path in ("app/a", "app/b", "other/a"):
        put(store, path, a="b")
    for query, wanted in (
        ({"prefix": "app/"}, ["app/a", "app/b"]),
        ({"q": "/a"}, ["app/a", "other/a"]),
        ({"prefix": "none"}, []),
    ):
        page = browser.get("/variables/", **query)
        assert [key.partition("/")[2] for key in listed(page)] == wanted


def followed(store, user, key=""):
    """The feed of the list for somebody."""
    access = person_of(user).access

    def asked(reader):
        looker = Looker(access, visible_namespaces(reader, access))
        return authorise("variables", key, looker, reader)

    return feed_for(store.read(asked))


def account_of(store, name="watcher"):
    rules = (
        'namespace "default" { variables { path "app/*" { capabilities = ["list"] }\n'
        'path "app/shut" { capabilities = ["deny"] } } }'
    )
    return account_with(store, rules, name)


@pytest.mark.parametrize("sort", ["", "-path", "changed"])
def test_hidden_paths_are_neither_shown_nor_counted_nor_named_as_a_place(store, sort):
    """On every page of the list, in its facets and where it goes on, in the topic as well."""
    for number in range(70):
        put(store, f"app/{number:03}", a="b")
        put(store, f"ap{number:03}", a="b")
        put(store, f"app/{number:03}", namespace="team", a="b")
    put(store, "app/shut", a="b")
    user = account_of(store)
    browser, keys, query = Browser(user), [], {"sort": sort}
    answer = browser.get("/variables/", **query)
    texts = [answer.text]
    page = answer.context["list"]
    assert (page.total, page.fitting) == (70, 70)
    assert {facet.name: facet.choices[0].count for facet in page.facets} == {"lock": 70}
    while True:
        keys += listed(answer)
        if not answer.context["list"].next_url:
            break
        answer = browser.get(answer.context["list"].next_url)
        texts.append(answer.text)
    assert sorted(keys) == [f"default/app/{number:03}" for number in range(70)]
    for text in texts:
        assert not re.search(r"ap0|shut|/team/|%22team", text)
    feed = followed(store, user, f"sort={sort}" if sort else "")
    live = store.read(lambda reader: feed.everything(reader, SOME_MOMENT))
    (rows,) = (piece for piece in live if isinstance(piece, RowOrder))
    assert [row.removeprefix("variable-rows-") for row in rows.order] == keys[:50]
    around = "".join(piece.html for piece in live if isinstance(piece, Html))
    assert "70 variables that you may list" in around
    assert not re.search(r"ap0|shut|team", around + "".join(rows.html.values()))


def test_changes_of_hidden_paths_are_not_even_read(store):
    feed, before = followed(store, account_of(store)), store.index
    put(store, "app/shut", a="b")
    put(store, "other", a="b")
    for frame in store.frames_since(before):
        feed.observe(frame)
    assert not feed.is_due(SOME_MOMENT)
    before = store.index
    put(store, "app/open", a="b")
    for frame in store.frames_since(before):
        feed.observe(frame)
    assert feed.is_due(SOME_MOMENT)


@pytest.mark.parametrize("field", ["Lock.ID", "Sealed", "KeyID"])
def test_an_expression_asks_for_nothing_that_the_list_does_not_tell(browser, variable, field):
    """Else an id that lets one write, or what is sealed, could be guessed letter by letter."""
    answer = browser.get("/variables/", filter=f'{field} matches "^a"')
    assert answer.context["list"].problem is not None
    assert listed(answer) == []
    assert not {field, field.partition(".")[0]} & set(answer.context["filter_words"]["fields"])


@pytest.mark.parametrize(
    "asked", ['Path == "app/shut"', 'Path matches "shut"', 'Namespace == "team"']
)
def test_an_expression_finds_no_hidden_path(store, asked):
    put(store, "app/shut", a="b")
    put(store, "app/shut", namespace="team", a="b")
    answer = Browser(account_of(store)).get("/variables/", filter=asked)
    assert (listed(answer), answer.context["list"].next_url) == ([], "")


def test_the_list_is_of_the_namespace_that_the_address_names(store, browser, variable):
    put(store, "app", namespace="team", a="b")
    for namespace, wanted in (("team", ["app"]), ("default", [PATH]), ("*", ["app", PATH])):
        page = browser.get("/variables/", namespace=namespace)
        assert sorted(key.partition("/")[2] for key in listed(page)) == wanted


def test_a_value_is_shown_when_asked_for_alone_and_the_audit_keeps_it(store, browser, variable):
    page = browser.get(URL)
    assert "password" in page.text
    assert SECRET not in page.text
    assert SECRET not in browser.get(f"{URL}?edit").text
    answer = browser.post("/variables/show/", namespace="default", path=PATH, key="password")
    assert SECRET in answer.text
    assert answer.headers["Cache-Control"] == page.headers["Cache-Control"] == "no-store"
    store.audit.flush()
    shown = [row for row in read_audit(store, AuditFilter(), limit=9).rows if "show" in row.act]
    assert [(row.act, row.result, row.reason) for row in shown] == [
        ("show value of variable", "done", "password")
    ]


def test_a_value_is_not_shown_without_the_right_to_read(store, variable):
    guest = somebody(store, ("nomad/*", "list"))
    answer = guest.post("/variables/show/", namespace="default", path=PATH, key="password")
    assert answer.status == 302
    store.audit.flush()
    (row,) = [row for row in read_audit(store, AuditFilter(), limit=9).rows if "show" in row.act]
    assert row.result == "refused"


def test_a_variable_is_made_and_never_over_another(store, browser):
    rows = [("", "user", "set", "web"), ("", "text", "set", "a\r\nb"), ("", "", "set", "")]
    form = sent(*rows, namespace="default", path=PATH)
    assert browser.post("/variables/new/", **form).headers["Location"] == URL
    assert items(store) == {"user": "web", "text": "a\nb"}
    again = browser.post("/variables/new/", **form)
    assert (again.status, f"There is a variable {PATH} already." in again.text) == (409, True)


def test_values_that_nobody_typed_over_are_kept(store, browser, variable):
    rows = [
        ("password", "secret", "keep", ""),
        ("user", "user", "keep", "other"),
        ("", "new", "set", "1"),
    ]
    browser.post(URL, **sent(*rows, seen=variable.modify_index))
    assert items(store) == {"secret": SECRET, "user": "other", "new": "1"}
    rows = [("secret", "secret", "remove", ""), ("user", "user", "set", "")]
    seen = store.read(lambda reader: reader.get(VARIABLES, ("default", PATH))).modify_index
    browser.post(URL, **sent(*rows, seen=seen))
    assert items(store) == {"user": ""}


def test_a_value_to_keep_that_somebody_took_away_is_a_change_in_between(store, browser, variable):
    put(store, theirs="1")
    rows = [("password", "password", "keep", ""), ("user", "user", "keep", "mine")]
    answer = browser.post(URL, **sent(*rows, seen=variable.modify_index))
    assert answer.status == 409
    assert "Somebody changed it since you opened it" in answer.text
    delete_variable(store, "default", PATH, by=CLUSTER, now=SOME_MOMENT)
    answer = browser.post(URL, **sent(*rows, seen=variable.modify_index))
    assert (answer.status, items(store)) == (409, None)
    assert "It was deleted since you opened it." in answer.text


def test_what_somebody_changed_meanwhile_is_said_and_not_overwritten(store, browser, variable):
    put(store, theirs="1")
    form = sent(("", "mine", "set", "typed here"), seen=variable.modify_index)
    answer = browser.post(URL, **form)
    assert answer.status == 409
    assert "Somebody changed it since you opened it" in answer.text
    assert "typed here" in answer.text
    assert items(store) == {"theirs": "1"}
    delete_variable(store, "default", PATH, by=CLUSTER, now=SOME_MOMENT)
    answer = browser.post(URL, **form)
    assert (answer.status, items(store)) == (409, None)
    assert "It was deleted since you opened it." in answer.text


@pytest.mark.parametrize(
    ("rows", "path", "told"),
    [
        pytest.param([("", "", "set", "x")], "app", "Row 1 has a value and no key.", id="no-key"),
        pytest.param(
            [("", "a", "set", "1"), ("", "a", "set", "2")], "app",
            "Row 2: the key a is there twice.", id="twice",
        ),
        pytest.param([("", "", "set", "")], "app", "missing required Items", id="nothing"),
        pytest.param([("", "a", "set", "1")], "a b", "Invalid path", id="path"),
        pytest.param([("", "a", "set", "x" * 65_537)], "app", "64KiB", id="large"),
    ],
)  # fmt: skip
def test_what_cannot_be_stored_is_told_and_kept_in_the_form(store, browser, rows, path, told):
    before = store.read(lambda reader: reader.index)
    answer = browser.post("/variables/new/", **sent(*rows, namespace="default", path=path))
    assert (answer.status, told in answer.text) == (400, True)
    assert [row.value for row in answer.context["rows"]] == [value for *_, value in rows]
    assert store.read(lambda reader: reader.index) == before


def test_a_form_without_its_values_stores_nothing(store, browser):
    """As it is sent again after a session ended: values are not written into that page."""
    form = sent(("", "a", "set", "1"), namespace="default", path="app")
    del form["item_value"]
    answer = browser.post("/variables/new/", **form)
    assert "The form came without its values" in answer.text
    assert items(store, "app") is None


def test_more_rows_are_given_without_storing_anything(store, browser):
    form = sent(("", "a", "set", "1"), namespace="default", path="app", more="1")
    answer = browser.post("/variables/new/", **form)
    assert [row.key for row in answer.context["rows"]] == ["a", "", "", ""]
    assert items(store, "app") is None


def test_who_may_write_and_not_read_replaces_everything_and_sees_nothing(store, variable):
    guest = somebody(store, (PATH, "list", "write"))
    form = guest.get(f"{URL}?edit").text
    assert "password" not in form
    assert "What you save replaces everything that it holds." in form
    guest.post(URL, **sent(("", "a", "set", "b"), seen=variable.modify_index))
    assert items(store) == {"a": "b"}
    seen = store.read(lambda reader: reader.index)
    answer = guest.post(URL, **sent(("a", "c", "keep", ""), seen=seen))
    assert (answer.status, items(store)) == (403, {"a": "b"})


def test_a_locked_one_says_so_and_stays_as_it_is(store, browser, variable):
    acquire_lock(
        store, "default", PATH, ttl=10**10, lock_delay=0, by=CLUSTER, now=SOME_MOMENT,
        ids=CountingIDs(),
    )  # fmt: skip
    assert "locked" in browser.get("/variables/").text
    page = browser.get(URL).text
    assert "It is locked." in page
    assert "It can be deleted once nobody holds its lock." in page
    assert "?edit" not in page
    assert "/variables/delete/" not in page
    seen = store.read(lambda reader: reader.get(VARIABLES, ("default", PATH))).modify_index
    answer = browser.post(URL, **sent(("", "a", "set", "b"), seen=seen))
    assert (answer.status, "It is locked:" in answer.text) == (409, True)
    browser.post("/variables/delete/", namespace="default", path=PATH, typed=PATH, seen=seen)
    assert items(store) == {"password": SECRET, "user": "web"}


@pytest.mark.parametrize(
    ("changed", "is_there"),
    [
        pytest.param({}, False, id="typed"),
        pytest.param({"typed": "web"}, True, id="typed-wrong"),
        pytest.param({"seen": 1}, True, id="changed-meanwhile"),
        pytest.param({"seen": ""}, True, id="without-an-index"),
    ],
)
def test_it_is_deleted_by_typing_its_path(store, browser, variable, changed, is_there):
    form = {"namespace": "default", "path": PATH, "typed": PATH, "seen": variable.modify_index}
    browser.post("/variables/delete/", **{**form, **changed})
    assert (items(store) is not None) == is_there


def test_a_writer_does_not_delete(store, variable):
    guest = somebody(store, (PATH, "read", "write"))
    assert "needs variables:destroy" in guest.get(URL).text
    form = {"namespace": "default", "path": PATH, "typed": PATH, "seen": variable.modify_index}
    guest.post("/variables/delete/", **form)
    assert items(store) is not None


def test_a_path_is_read_by_the_tasks_whose_place_it_can_be():
    assert readers_of("app") == readers_of("nomad/job-templates/x") == ""
    assert readers_of("nomad/jobs") == "every task of the namespace"
    assert readers_of("nomad/jobs/web") == "tasks of the job web"
    assert readers_of("nomad/jobs/web/g") == (
        "tasks of the job web/g and tasks of the group g of the job web"
    )
    assert readers_of("nomad/jobs/web/g/t").endswith("the task t of the group g of the job web")


def test_one_that_no_key_opens_says_so(store, browser, variable):
    store.write(
        VARIABLES.upserted,
        lambda change: change.put(
            VARIABLES, type(variable)(namespace="default", path="lost", key_id="gone",
                                      create_index=change.index, modify_index=change.index),
        ),
        now=SOME_MOMENT,
    )  # fmt: skip
    page = browser.get("/variables/default/lost/")
    assert page.status == 200
    assert "Its values cannot be read." in page.text


def test_the_example_is_a_template_that_gives_the_task_what_it_says(tmp_path):
    text = f'task "t" {{ driver = "mock_driver"\n{EXAMPLE} }}'
    job = parse_text(f'job "web" {{ group "g" {{ {text} }} }}').job
    (template,) = job.task_groups[0].tasks[0].templates
    order = RenderOrder(
        templates=(
            TemplateOrder(
                text=template.embedded_tmpl, destination=str(tmp_path / "a"), is_env=True
            ),
        ),
        env={}, bounds=str(tmp_path), task_root=str(tmp_path), namespace="default",
        region="global", now=1.0,
        found=FoundData(variables={PATH: {"password": SECRET}}),
    )  # fmt: skip
    done = rendered(order, order.templates[0])
    assert (done.error, done.env) == ("", {"DB_PASSWORD": SECRET})
