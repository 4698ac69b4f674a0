"""Functions of lists, sets, maps and objects.

In and out: values of expressions. What could grow without bound is refused before it does.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import product

from cluster.jobspec.hcl.functions_text import (
    BadArgument,
    list_argument,
    text_argument,
    whole_argument,
)
from cluster.jobspec.hcl.values import (
    Mismatch,
    TypedList,
    TypedMap,
    TypedSet,
    Value,
    are_equal,
    sorted_set,
    to_number,
    unified,
)

#: The longest range, as in the language's own library.
_LONGEST_RANGE = 1024
_MOST_PRODUCTS = 100_000


def _map(value: Value, position: int, name: str = "inputMap") -> dict[str, Value]:
    if isinstance(value, dict):
        return value
    raise BadArgument(position, name, "must have map or object type")


def chunklist(items: Value, size: Value) -> Value:
    """The list in pieces of a size; 0 leaves it whole."""
    values, length = list_argument(items, 0), whole_argument(size, 1, "size")
    if length < 0:
        raise BadArgument(1, "size", "the size argument must be positive")
    length = length or max(1, len(values))
    return [list(values[start : start + length]) for start in range(0, len(values), length)]


def coalesce(*values: Value) -> Value:
    """The first that is not null."""
    for value in values:
        if value is not None:
            return value
    raise Mismatch("no non-null arguments")


def coalescelist(*lists: Value) -> Value:
    """The first list that is not empty."""
    for position, each in enumerate(lists):
        if each is not None and list_argument(each, position):
            return each
    raise Mismatch("no non-null arguments")


def compact(items: Value) -> Value:
    """The texts that are not empty."""
    texts = (None if item is None else text_argument(item, 0) for item in list_argument(items, 0))
    return TypedList(text for text in texts if text)


def concat(*lists: Value) -> Value:
    """All lists after one another."""
    return [item for position, each in enumerate(lists) for item in list_argument(each, position)]


def contains(items: Value, wanted: Value) -> Value:
    """Whether the element is there."""
    return any(are_equal(item, wanted) for item in list_argument(items, 0))


def distinct(items: Value) -> Value:
    """The elements without repetitions."""
    result: list[Value] = []
    seen: set[Value] = set()
    for item in unified(list_argument(items, 0)):
        if isinstance(item, list | dict):
            if not any(are_equal(item, other) for other in result):
                result.append(item)
        elif (key := (type(item), item)) not in seen:
            seen.add(key)
            result.append(item)
    return TypedList(result)


def element(items: Value, index: Value) -> Value:
    """The element at an index that goes round and round."""
    values, position = list_argument(items, 0), whole_argument(index, 1, "index")
    if not values:
        raise BadArgument(0, "list", "cannot use element function with an empty list")
    if position < 0:
        raise BadArgument(1, "index", "cannot use element function with a negative index")
    return values[position % len(values)]


def flatten(items: Value) -> Value:
    """Lists within lists as one list."""
    flat: list[Value] = []
    pending = list(reversed(list_argument(items, 0)))
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            pending.extend(reversed(item))
        else:
            flat.append(item)
    return flat


def index(collection: Value, key: Value) -> Value:
    """The element under a key."""
    if isinstance(collection, dict):
        name = text_argument(key, 1, "key")
        if name in collection:
            return collection[name]
        raise BadArgument(1, "key", "there is no such element")
    values, position = list_argument(collection, 0, "collection"), whole_argument(key, 1, "key")
    if 0 <= position < len(values) and not isinstance(collection, TypedSet):
        return values[position]
    raise BadArgument(1, "key", "there is no such element")


def keys(collection: Value) -> Value:
    """The names in their order."""
    return sorted(_map(collection, 0))


def length(collection: Value) -> Value:
    """How many elements; text and objects are not counted."""
    if isinstance(collection, list | TypedMap):
        return len(collection)
    raise Mismatch("collection must be a list, a map or a tuple")


def lookup(collection: Value, name: Value, default: Value = None) -> Value:
    """The element of that name, or the default."""
    members = _map(collection, 0)
    key = text_argument(name, 1, "key")
    if key in members:
        return members[key]
    if default is None:
        raise BadArgument(1, "key", f'the map has no element "{key[:64]}"')
    return default


def merge(*maps: Value) -> Value:
    """All members together; later ones win."""
    result: dict[str, Value] = {}
    for position, each in enumerate(maps):
        if each is not None:
            result.update(_map(each, position, "maps"))
    return result


def number_range(*bounds: Value) -> Value:
    """Numbers from a start (or 0) to below an end, by a step (or 1)."""
    if not 1 <= len(bounds) <= 3:
        raise Mismatch("must have one, two, or three arguments")
    numbers = [to_number(bound) for bound in bounds]
    if any(isinstance(number, float) for number in numbers):
        raise Mismatch("the bounds must be finite")
    start, end = (0, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])
    step = numbers[2] if len(numbers) == 3 else (1 if start <= end else -1)
    if step == 0 or ((step > 0) != (end >= start) and end != start):
        raise Mismatch("the step leads away from the end")
    count = -(-(Fraction(end) - Fraction(start)) // Fraction(step))
    if count > _LONGEST_RANGE:
        raise Mismatch(f"more than {_LONGEST_RANGE} values were generated")
    return TypedList(start + position * step for position in range(int(count)))


def setintersection(first: Value, *others: Value) -> Value:
    """What all sets have."""
    result = list_argument(first, 0, "sets")
    for position, each in enumerate(others, start=1):
        other = list_argument(each, position, "sets")
        result = [item for item in result if any(are_equal(item, known) for known in other)]
    return sorted_set(result)


def setunion(first: Value, *others: Value) -> Value:
    """What any set has."""
    lists = [
        list_argument(each, position, "sets") for position, each in enumerate((first, *others))
    ]
    return sorted_set([item for each in lists for item in each])


def setproduct(*sets: Value) -> Value:
    """Every way to take one element of each."""
    lists = [list_argument(each, position, "sets") for position, each in enumerate(sets)]
    if len(lists) < 2:
        raise Mismatch("at least two arguments are required")
    total = 1
    for each in lists:
        total *= len(each)
    if total > _MOST_PRODUCTS:
        raise Mismatch("the product would be too large")
    return [list(combination) for combination in product(*lists)]


def cut(items: Value, start: Value, end: Value) -> Value:
    """The elements from a start to below an end."""
    values = list_argument(items, 0)
    low, high = whole_argument(start, 1, "start_index"), whole_argument(end, 2, "end_index")
    if not 0 <= low <= high <= len(values):
        raise BadArgument(1, "start_index", "the indices must lie within the list, in order")
    return list(values[low:high])


def sort(items: Value) -> Value:
    """The texts in their order."""
    return TypedList(sorted(text_argument(item, 0, "list") for item in list_argument(items, 0)))


def values(collection: Value) -> Value:
    """The elements in the order of their names."""
    members = _map(collection, 0)
    return [members[name] for name in sorted(members)]


def zipmap(names: Value, items: Value) -> Value:
    """Names and elements put together."""
    heads = [text_argument(name, 0, "keys") for name in list_argument(names, 0, "keys")]
    elements = list_argument(items, 1, "values")
    if len(heads) != len(elements):
        raise Mismatch("number of keys does not match number of values")
    return dict(zip(heads, elements, strict=True))


#: By the name the language gives them.
FUNCTIONS: dict[str, Callable[..., Value]] = {
    "chunklist": chunklist, "coalesce": coalesce, "coalescelist": coalescelist,
    "compact": compact, "concat": concat, "contains": contains, "distinct": distinct,
    "element": element, "flatten": flatten, "index": index, "keys": keys, "length": length,
    "lookup": lookup, "merge": merge, "range": number_range, "setintersection": setintersection,
    "setunion": setunion, "setproduct": setproduct, "slice": cut, "sort": sort, "values": values,
    "zipmap": zipmap,
}  # fmt: skip
