"""Rotated logs: nothing lost within the limit, lines whole, numbers only growing."""

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
