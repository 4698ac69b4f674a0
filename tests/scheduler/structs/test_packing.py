"""What is packed reads back; a short text is not packed with the tables of a long one."""

import zlib

import pytest

from scheduler.structs.packing import compressed
from tests.builders import make_job


@pytest.mark.parametrize(("size", "window_bits"), [(0, 13), (700, 13), (16_383, 13), (16_384, 15)])
def test_bytes_read_back_and_say_how_large_their_tables_are(size, window_bits):
    plain = (repr(make_job()).encode() * 20)[:size]
    packed = compressed(plain)
    assert zlib.decompress(packed) == plain
    # The first byte of zlib's format: the upper half is the window's bits less eight.
    assert (packed[0] >> 4) + 8 == window_bits
