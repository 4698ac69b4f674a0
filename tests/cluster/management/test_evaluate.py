"""`manage.py evaluate`: capsules from a file or standard input, decisions out, exit codes."""

import io
import json
import sys

import pytest
from django.core.management import CommandError, call_command

CAPSULE = {"Name": "empty", "Evaluation": {"ID": "e", "Type": "service", "JobID": "gone",
           "TriggeredBy": "job-deregister"}}  # fmt: skip


def evaluate(*arguments: str) -> str:
    out = io.StringIO()
    call_command("evaluate", *arguments, stdout=out)
    return out.getvalue()


def test_a_capsule_in_a_file_is_decided(tmp_path):
    file = tmp_path / "capsule.json"
    file.write_text(json.dumps(CAPSULE))
    text = evaluate(str(file))
    decision = json.loads(text)
    assert len(text.splitlines()) > 1
    assert (decision["Name"], decision["Evaluation"]["Status"]) == ("empty", "complete")


def test_a_file_that_is_no_text_is_no_capsule(tmp_path):
    file = tmp_path / "capsule.json"
    file.write_bytes(b'{"Name": "\xff"}')
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("evaluate", str(file), stdout=out)
    assert ended.value.code == 2
    assert json.loads(out.getvalue())["Error"]["Message"].startswith("not JSON: ")


@pytest.mark.parametrize(
    ("name", "told"),
    [("gone", "gone cannot be read: No such file"), (".", ". cannot be read: Is a directory")],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, monkeypatch, name, told):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError, match=told):
        evaluate(name)


def test_a_capsule_on_standard_input_is_decided_on_one_line(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(CAPSULE)))
    text = evaluate("-", "--compact")
    assert len(text.splitlines()) == 1
    assert json.loads(text)["Name"] == "empty"


def test_of_many_capsules_a_bad_one_is_named_and_the_others_are_decided(monkeypatch, capsys):
    lines = [CAPSULE, {"Name": "bad", "Evaluation": {"Priority": "x"}}, CAPSULE]
    text = "\n".join(map(json.dumps, lines)) + "\n\n{\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    out = io.StringIO()
    with pytest.raises(SystemExit) as ending:
        call_command("evaluate", "-", "--lines", stdout=out)
    assert ending.value.code == 2
    first, bad, second, broken = map(json.loads, out.getvalue().splitlines())
    assert first == second
    assert bad == {
        "Name": "bad",
        "Error": {"Path": "$.Evaluation.Priority", "Message": "Expected `int`, got `str`"},
    }
    assert broken["Error"]["Path"] == "$"
