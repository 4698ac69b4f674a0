"""Functions of network addresses.

In and out: values of expressions.
"""

import ipaddress
from collections.abc import Callable

from cluster.jobspec.hcl.functions_text import BadArgument, text_argument, whole_argument
from cluster.jobspec.hcl.values import Mismatch, Value

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _network(value: Value) -> _Network:
    text = text_argument(value, 0, "prefix")
    try:
        if "/" not in text:
            raise ValueError(text)
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise BadArgument(0, "prefix", f"invalid CIDR expression: {text[:64]}") from None


def cidrhost(prefix: Value, number: Value) -> Value:
    """The address of that number in a network; negative ones count from its end."""
    network, host = _network(prefix), whole_argument(number, 1, "hostnum")
    if not -network.num_addresses <= host < network.num_addresses:
        raise BadArgument(1, "hostnum", f"the prefix does not accommodate a host numbered {host}")
    base = network.num_addresses if host < 0 else 0
    return str(network.network_address + (base + host))


def cidrnetmask(prefix: Value) -> Value:
    """The mask of a network of the older kind."""
    network = _network(prefix)
    if isinstance(network, ipaddress.IPv6Network):
        raise BadArgument(0, "prefix", "IPv6 addresses cannot have a netmask")
    return str(network.netmask)


def cidrsubnet(prefix: Value, bits: Value, number: Value) -> Value:
    """The network of that number among those that take some bits more."""
    network = _network(prefix)
    more, chosen = whole_argument(bits, 1, "newbits"), whole_argument(number, 2, "netnum")
    length = network.prefixlen + more
    if more < 0 or length > network.max_prefixlen:
        raise BadArgument(1, "newbits", "not enough remaining address space")
    if not 0 <= chosen < 2**more:
        raise BadArgument(2, "netnum", f"{more} bits cannot number subnet {chosen}")
    step = 2 ** (network.max_prefixlen - length)
    return f"{network.network_address + chosen * step}/{length}"


def cidrsubnets(prefix: Value, *bits: Value) -> Value:
    """Networks after one another, each taking its own number of bits more."""
    network = _network(prefix)
    start = int(network.network_address)
    end = start + network.num_addresses
    result = []
    for position, each in enumerate(bits, start=1):
        length = network.prefixlen + whole_argument(each, position, "newbits")
        if not network.prefixlen < length <= network.max_prefixlen:
            raise BadArgument(position, "newbits", "must extend prefix by at least one bit")
        size = 2 ** (network.max_prefixlen - length)
        start = -(-start // size) * size
        if start + size > end:
            raise Mismatch("not enough remaining address space for a subnet")
        address = type(network.network_address)(start)
        result.append(f"{address}/{length}")
        start += size
    return result


#: By the name the language gives them.
FUNCTIONS: dict[str, Callable[..., Value]] = {
    "cidrhost": cidrhost, "cidrnetmask": cidrnetmask, "cidrsubnet": cidrsubnet,
    "cidrsubnets": cidrsubnets,
}  # fmt: skip
