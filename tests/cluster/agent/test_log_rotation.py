"""Rotated logs: nothing lost within the limit, lines whole, numbers only growing."""

import os

import pytest

from cluster.agent.log_rotation import RotatingLog, log_numbers


def contents(directory):
    return {
        path.name.rpartition(".")[2]: path.read_bytes() for path in sorted(directory.iterdir())
    }


def write_all(directory, pieces, *, max_files=10, max_bytes=10):
    log = RotatingLog(directory, "web.stdout", max_files, max_bytes)
    for piece in pieces:
        log.write(piece)
    log.close()


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param([b"one\n"], {"0": b"one\n"}, id="fits"),
        pytest.param([b"1234567890"], {"0": b"1234567890"}, id="fills-exactly"),
        pytest.param([b"12345\n7890\n"], {"0": b"12345\n", "1": b"7890\n"}, id="cut-at-line-end"),
        pytest.param([b"123456789012"], {"0": b"1234567890", "1": b"12"}, id="no-line-end"),
        pytest.param([b"12345\n", b"abcdefg\n"], {"0": b"12345\n", "1": b"abcdefg\n"}, id="next"),
    ],
)
def test_where_a_file_ends(tmp_path, pieces, expected):
    write_all(tmp_path, pieces)
    assert contents(tmp_path) == expected


def test_only_the_newest_files_stay(tmp_path):
    write_all(tmp_path, [b"%08d\n" % number for number in range(7)], max_files=3)
    assert log_numbers(tmp_path, "web.stdout") == [4, 5, 6]


def test_a_new_writer_goes_on_with_the_highest_number(tmp_path):
    write_all(tmp_path, [b"aaaaaaaa\n", b"bbb\n"])
    write_all(tmp_path, [b"cc\n", b"dddddddd\n"])
    assert contents(tmp_path) == {"0": b"aaaaaaaa\n", "1": b"bbb\ncc\n", "2": b"dddddddd\n"}


def test_what_a_task_laid_in_the_place_of_a_log_is_replaced_not_written_through(tmp_path):
    logs, outside = tmp_path / "logs", tmp_path / "outside"
    logs.mkdir()
    outside.write_bytes(b"mine\n")
    (logs / "web.stdout.0").symlink_to(outside)
    (logs / "web.stdout.1").hardlink_to(outside)
    os.mkfifo(logs / "web.stdout.2")
    write_all(logs, [b"12345678\n", b"abcdefgh\n"], max_files=2)
    assert contents(logs) == {"2": b"12345678\n", "3": b"abcdefgh\n"}
    assert outside.read_bytes() == b"mine\n"


def test_a_directory_laid_in_the_place_of_all_logs_gets_none_of_them(tmp_path):
    logs, other = tmp_path / "logs", tmp_path / "other"
    logs.mkdir()
    other.mkdir()
    log = RotatingLog(logs, "web.stdout", 10, 10)
    logs.rename(tmp_path / "moved")
    logs.symlink_to(other)
    log.write(b"12345678\nabcdefgh\n")
    log.close()
    assert list(other.iterdir()) == []
    with pytest.raises(OSError, match="logs"):
        RotatingLog(logs, "web.stdout", 10, 10)


def test_a_next_file_that_cannot_be_made_costs_the_output_of_that_time_alone(tmp_path):
    log = RotatingLog(tmp_path, "web.stdout", 10, 10)
    log.write(b"12345678\n")
    (tmp_path / "web.stdout.1").mkdir()
    for _ in range(2):
        with pytest.raises(OSError, match=r"web.stdout.1"):
            log.write(b"lost\nlost\n")
    (tmp_path / "web.stdout.1").rmdir()
    log.write(b"abcdefgh\n")
    log.close()
    assert contents(tmp_path) == {"0": b"12345678\n", "1": b"abcdefgh\n"}
