"""Lines of output: the newest, those that hold a text, those from a time on."""

from dashboard.queries.output import SEARCHED, OutputWish, found_lines

OUTPUT = b"".join(
    b"2026-11-22T20:%02d:00Z GET /cart %s\n" % (minute, b"retry" if minute % 7 == 0 else b"ok")
    for minute in range(60)
)


def lines(output, **wish):
    found = found_lines(output, OutputWish(task="web", **wish))
    found["text"] = ["".join(text for _, text in line.parts) for line in found["lines"]]
    return found


def test_all_lines_are_shown_while_they_are_few():
    found = lines(OUTPUT)
    assert (found["told"], len(found["lines"])) == ("60 lines in all that is kept", 60)
    assert found["has_times"]


def test_a_text_is_found_whatever_its_case_and_marked():
    found = lines(OUTPUT, find="RETRY")
    assert found["told"] == "9 lines hold it, in all that is kept"
    assert found["lines"][0].parts == ((False, "2026-11-22T20:00:00Z GET /cart "), (True, "retry"))
    assert [line.number for line in found["lines"]] == [1, 8, 15, 22, 29, 36, 43, 50, 57]


def test_the_newest_of_many_are_shown_and_the_rest_is_counted():
    found = lines(b"x\n" * 1000, find="x")
    assert found["told"].endswith("hold it, in all that is kept; the newest 200 are shown")
    assert found["lines"][-1].number == 1000


def test_a_time_leads_to_the_first_line_of_it_or_after():
    assert lines(OUTPUT, at="20:58:30")["text"] == ["2026-11-22T20:59:00Z GET /cart ok"]
    assert lines(OUTPUT, at="2026-11-22 20:58")["lines"][0].number == 59
    assert lines(OUTPUT, at="2026-11-21 23:00")["lines"][0].number == 1
    late = lines(OUTPUT, at="21:00")
    assert (late["lines"], late["note"]) == ([], "Nothing was written at that time or later.")


def test_a_time_where_there_is_none_is_said():
    assert lines(b"hello\n", at="20:58")["note"].startswith("No line begins with a time")
    assert lines(OUTPUT, at="soon")["note"].startswith("A time is written 14:05")


def test_of_more_than_is_searched_the_first_line_is_left_out_and_that_is_said():
    found = lines(b"y" * (SEARCHED - 6) + b"\nlast\n", find="y")
    assert found["told"] == "0 lines hold it, in the newest 8.0\N{NO-BREAK SPACE}MiB"


def test_a_letter_that_folds_to_two_is_found_and_nothing_else_is_marked_wrong():
    found = lines("Straße\n".encode(), find="strasse")
    assert found["lines"][0].parts == ((False, "Straße"),)


def test_bytes_that_are_no_text_are_shown_as_such():
    assert lines(b"\xff\xfe\n")["text"] == ["\ufffd\ufffd"]
