"""What templates say, and what they may not do; in the process of the test and in its own."""

import os
import stat
from pathlib import Path

import pytest

from cluster.agent.artifacts import landlock
from cluster.agent.templates.env_file import read_env
from cluster.agent.templates.render_order import (
    FoundData,
    FoundService,
    RenderOrder,
    TemplateOrder,
)
from cluster.agent.templates.renderer import RenderFailed, render
from cluster.agent.templates.worker import rendered

WEB = (
    FoundService(id="b", name="web", address="10.0.0.2", port=81, tags=("blue", "x")),
    FoundService(id="a", name="web", address="10.0.0.1", port=80, tags=("x",)),
)
FOUND = FoundData(
    variables={"db": {"user": "kim", "password": "geheim"}, "none": None},
    lists={"nomad/": ("nomad/jobs", "nomad/jobs/web")},
    services={"web": WEB, "away": ()},
    all_services={"web": ("blue", "x"), "api": ()},
)


@pytest.fixture
def order(tmp_path):
    root = tmp_path / "alloc" / "web"
    (root / "local").mkdir(parents=True)

    def make(text="", found=FOUND, **fields):
        fields = {"destination": str(root / "local/out")} | fields
        return RenderOrder(
            templates=(TemplateOrder(text=text, **fields),),
            env={"NAME": "web", "EMPTY": ""},
            bounds=str(root.parent),
            task_root=str(root),
            namespace="default",
            region="global",
            found=found,
            now=1_750_000_000.5,
        )

    return make


@pytest.fixture
def say(order):
    """The text of a template, or what it is refused for."""

    def run(text, **fields):
        asked = order(text, **fields)
        done = rendered(asked, asked.templates[0])
        if done.error:
            return f"error: {done.error}"
        return Path(asked.templates[0].destination).read_text()

    return run


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{{ env "NAME" }}|{{ env "NONE" }}|{{ envOrDefault "NONE" "x" }}', "web||x"),
        ('{{ with nomadVar "db" }}{{ .user }}:{{ .password }}{{ end }}', "kim:geheim"),
        ('{{ (nomadVar "db").user }}', "kim"),
        (
            '{{ range $k, $v := nomadVar "db" }}{{ $k }}={{ $v }};{{ end }}',
            "password=geheim;user=kim;",
        ),
        (
            '{{ with nomadVar "db" }}{{ .Path }} {{ range .Keys }}{{ . }},{{ end }}{{ end }}',
            "db password,user,",
        ),
        (
            '{{ with nomadVar "db" }}{{ range .Tuples }}{{ .K }}-{{ .V }} {{ end }}{{ end }}',
            "password-geheim user-kim ",
        ),
        ('{{ with nomadVar "db" }}{{ .zz }}{{ end }}', "<no value>"),
        ('{{ if nomadVarExists "none" }}y{{ else }}n{{ end }}', "n"),
        ('{{ range nomadVarList "nomad/" }}{{ .Path }} {{ end }}', "nomad/jobs nomad/jobs/web "),
        (
            '{{ range nomadService "web" }}{{ .Address }}:{{ .Port }} {{ end }}',
            "10.0.0.1:80 10.0.0.2:81 ",
        ),
        ('{{ range nomadService "away" }}x{{ else }}nobody{{ end }}', "nobody"),
        ('{{ len (nomadService 1 "key" "web") }}', "1"),
        ("{{ range nomadServices }}{{ .Name }}{{ .Tags }} {{ end }}", "api[] web[blue x] "),
        (
            '{{ range $t, $s := nomadService "web" | byTag }}{{ $t }}={{ len $s }} {{ end }}',
            "blue=1 x=2 ",
        ),
        ("{{ range loop 2 5 }}{{ . }}{{ end }}", "234"),
        ('{{ "a,b" | split "," | join "-" }}', "a-b"),
        ('{{ "x" | toUpper }}{{ "a b" | replaceAll " " "_" }}', "Xa_b"),
        ("{{ 2 | add 3 }} {{ 7 | subtract 2 }} {{ 6 | divide 4 }} {{ 7 | modulo 4 }}", "5 5 1 3"),
        ('{{ "aGk=" | base64Decode }} {{ "hi" | base64Encode }}', "hi aGk="),
        ('{{ (`{"a": [1, 2]}` | parseJSON).a }}', "[1 2]"),
        ("{{ `a: 1` | parseYAML | toJSON }}", '{"a":1}'),
        ('{{ "<" | toJSON }} {{ "<" | toUnescapedJSON }}', '"\\u003c" "<"'),
        ('{{ "web-12" | regexReplaceAll "-([0-9]+)" "/$1" }}', "web/12"),
        ('{{ if "b" | in (split "," "a,b") }}in{{ end }}', "in"),
        ('{{ "abc" | sha256Hex | sprig_trunc 6 }}', "ba7816"),
        ('{{ sprig_default "d" "" }} {{ sprig_upper "u" }}', "d U"),
        ('{{ timestamp }} {{ timestamp "unix" }}', "2025-06-15T15:06:40Z 1750000000"),
        ('{{- define "row" }}<{{ . }}>{{ end -}} {{ template "row" 1 }}', "<1>"),
        ("a {{- /* nothing */ -}} b", "ab"),
    ],
)
def test_what_a_template_says(say, text, said):
    assert say(text) == said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ nope }}", "function 'nope' not defined"),
        ("{{ if }}", "template"),
        ('{{ key "x" }}', "there is no connection to Consul"),
        ('{{ secret "x" }}', "there is no connection to Vault"),
        ('{{ plugin "x" }}', "function is disabled"),
        ('{{ mustEnv "NONE" }}', "environment variable NONE must be set"),
        ('{{ file "/etc/passwd" }}', "'/etc/passwd' is outside of sandbox"),
        ('{{ file "../../x" }}', "'../../x' is outside of sandbox"),
        ("{{ range loop 0 100000000 }}x{{ end }}", "budget"),
        ('{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}', "budget"),
    ],
)
def test_what_a_template_may_not_do_is_told(say, text, why):
    assert why in say(text)


def test_a_missing_key_is_an_error_where_that_is_asked(say):
    said = say('{{ with nomadVar "db" }}{{ .zz }}{{ end }}', fails_on_missing_key=True)
    assert said.startswith("error: ")
    assert "zz" in said


def test_other_delimiters(say):
    assert say('<< env "NAME" >> {{ x }}', delimiters=("<<", ">>")) == "web {{ x }}"


def test_what_is_not_known_yet_is_asked_for_and_nothing_is_written(order):
    text = '{{ nomadVar "new" }}{{ nomadService "new" }}{{ nomadServices }}{{ nomadVarList "n" }}'
    asked = order(text, found=FoundData())
    done = rendered(asked, asked.templates[0])
    assert done.needs == ("variable new", "service new", "services", "variables n")
    assert (done.error, done.changed, done.missing) == ("", False, ())
    assert not Path(asked.templates[0].destination).exists()


def test_a_missing_variable_holds_a_template_up_and_a_missing_service_does_not(order):
    asked = order('{{ nomadVar "none" }}{{ nomadService "away" }}')
    done = rendered(asked, asked.templates[0])
    assert done.missing == ("nomad.var.block(none@default.global)",)
    assert not done.needs
    assert not Path(asked.templates[0].destination).exists()


def test_a_file_is_written_with_its_mode_and_only_when_it_changes(order):
    asked = order("x", mode=0o600)
    place = Path(asked.templates[0].destination)
    assert rendered(asked, asked.templates[0]).changed
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    written = place.stat().st_mtime_ns
    assert not rendered(asked, asked.templates[0]).changed
    assert place.stat().st_mtime_ns == written
    assert [file.name for file in place.parent.iterdir()] == ["out"]


def test_a_source_is_read_and_one_that_leads_out_is_not(order, tmp_path):
    asked = order(source=str(tmp_path / "alloc/web/local/in.tpl"))
    (tmp_path / "alloc/web/local/in.tpl").write_text('{{ env "NAME" }}')
    assert rendered(asked, asked.templates[0]).changed
    outside = tmp_path / "outside"
    outside.write_text("secret")
    (tmp_path / "alloc/web/local/link").symlink_to(outside)
    asked = order(source=str(tmp_path / "alloc/web/local/link"))
    assert rendered(asked, asked.templates[0]).error == (
        "template source path escapes alloc directory"
    )


@pytest.mark.parametrize("name", ["out", "new/out"])
def test_a_link_at_the_destination_leads_nowhere(order, tmp_path, name):
    (tmp_path / "outside").mkdir()
    (tmp_path / "alloc/web/local/dir").symlink_to(tmp_path / "outside")
    asked = order("x", destination=str(tmp_path / "alloc/web/local/dir" / name))
    assert "escapes alloc directory" in rendered(asked, asked.templates[0]).error
    assert list((tmp_path / "outside").iterdir()) == []


def test_an_env_template_gives_variables(order):
    asked = order('A={{ env "NAME" }}\n# no\nexport B="x\\ny" # c\n', is_env=True)
    assert rendered(asked, asked.templates[0]).env == {"A": "web", "B": "x\ny"}
    asked = order("=x", is_env=True)
    assert "error on line 1: empty key" in rendered(asked, asked.templates[0]).error


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A=1\nB = two words # c\n\n", {"A": "1", "B": "two words"}),
        ("A='x # $y'", {"A": "x # $y"}),
        ('A="x\\"y\\tz"', {"A": 'x"y\tz'}),
        ("A=", {"A": ""}),
        ("A=1\nA=2", {"A": "2"}),
        ("A=x#y", {"A": "x#y"}),
    ],
)
def test_how_variables_are_read(text, found):
    assert read_env(text) == found


@pytest.mark.parametrize(
    ("text", "why"), [("A", "line 1: no ="), ("A=1\n=2", "line 2: empty key"), ('A="x', "line 1")]
)
def test_what_is_no_variable_names_its_line(text, why):
    with pytest.raises(ValueError, match=why):
        read_env(text)


async def test_a_process_of_its_own_renders(order):
    asked = order('{{ with nomadVar "db" }}{{ .user }}{{ end }} {{ env "HOME" }}')
    (done,) = await render(asked)
    assert (done.changed, done.error, done.uses) == (True, "", ("variable db",))
    assert Path(asked.templates[0].destination).read_text() == "kim "


@pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
async def test_that_process_cannot_write_elsewhere(order, tmp_path):
    """Even where nothing but the kernel would refuse."""
    asked = order("x", destination=str(tmp_path / "elsewhere"))
    (done,) = await render(asked)
    assert done.error
    assert not (tmp_path / "elsewhere").exists()


async def test_one_that_needs_too_much_is_ended_and_named(order):
    asked = order('{{ sprig_repeat 100000000 "0123456789abcdef" }}')
    why = ""
    try:
        (done,) = await render(asked)
        why = done.error
    except RenderFailed as problem:
        why = str(problem)
    assert why
    assert not Path(asked.templates[0].destination).exists()


def test_nothing_of_the_agent_is_in_the_environment(say, monkeypatch):
    monkeypatch.setitem(os.environ, "BIVOUAC_JOIN_TOKEN", "geheim")
    assert say('{{ env "BIVOUAC_JOIN_TOKEN" }}') == ""
