"""Which release of Bivouac this is, and which release of Nomad it behaves like.

Bivouac's own version stands in `pyproject.toml` alone; everything that tells it asks here.
"""

from cluster.installation import our_version

VERSION: str = our_version()
#: The release of Nomad whose API and behaviour this is; clients compare it, jobs constrain on it.
REFERENCE_VERSION = "2.0.6"
