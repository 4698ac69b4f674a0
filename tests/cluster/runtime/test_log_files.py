"""Logs that grow: begun anew at their limit, while their writer holds them open."""

import stat

from cluster.runtime.embedded import open_private
from cluster.runtime.log_files import older_part, turn_over


def parts(file):
    return {path.name: path.read_text() for path in sorted(file.parent.iterdir())}


def test_a_log_within_its_size_is_left_alone(tmp_path):
    file = tmp_path / "web.log"
    assert not turn_over(file, limit=4, keep=2)
    file.write_text("1234")
    assert not turn_over(file, limit=4, keep=2)
    assert parts(file) == {"web.log": "1234"}


def test_a_log_beyond_its_size_goes_on_empty_and_its_parts_move_up(tmp_path):
    file = tmp_path / "web.log"
    with open_private(file) as writer:
        for number in range(1, 5):
            writer.write(f"part {number}".encode())
            writer.flush()
            assert turn_over(file, limit=4, keep=2)
        writer.write(b"next")
        writer.flush()
        assert parts(file) == {"web.log": "next", "web.log.1": "part 4", "web.log.2": "part 3"}
    assert stat.S_IMODE(older_part(file, 1).stat().st_mode) == 0o600


def test_nothing_older_is_kept_where_nothing_shall_be(tmp_path):
    file = tmp_path / "web.log"
    file.write_text("12345")
    assert turn_over(file, limit=4, keep=0)
    assert parts(file) == {"web.log": ""}
