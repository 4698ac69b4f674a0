"""Bytes made fewer, at the price that their number is worth.

In: bytes. Out: fewer of them, for `zlib.decompress`.
"""

import zlib

#: Up to here small tables do: clearing those for more costs more than a small text does.
_SMALL_TO = 16_384
#: 8 KB of what went before; in zlib's words.
_SMALL_WINDOW_BITS, _SMALL_MEMORY = 13, 5


def compressed(plain: bytes) -> bytes:
    """The same in as few bytes as cost little."""
    if len(plain) >= _SMALL_TO:
        return zlib.compress(plain, 1)
    compressor = zlib.compressobj(1, zlib.DEFLATED, _SMALL_WINDOW_BITS, _SMALL_MEMORY)
    return compressor.compress(plain) + compressor.flush()
