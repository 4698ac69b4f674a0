"""Compare an answer with a recorded shape: the same keys, the same JSON types.

A shape is a type name (`string int float bool null`, joined by `|`), a list of one shape, an
object, an object `{"*": shape}` for free keys, or `{"anyOf": [...]}`. `key?` may be absent. `null`
alone and `unseen` are no rule: only empty values were met in the recordings.
"""

#: What everybody is told and the reference has not (http-api.md 5.8), by a field that only objects
#: of that kind have: of an update block `Strategy`, of an evaluation `Story`.
OUR_ADDITIONS = {"MaxParallel": "Strategy", "TriggeredBy": "Story"}

_TYPES = {
    "string": str,
    "int": int,
    "bool": bool,
    "null": type(None),
}


def differences(shape, value, path="$"):
    """Every place where the value is not of the shape, as sentences."""
    if isinstance(shape, str):
        return _scalar(shape, value, path)
    if isinstance(shape, list):
        return _list(shape, value, path)
    if "anyOf" in shape:
        tried = [differences(each, value, path) for each in shape["anyOf"]]
        return [] if [] in tried else min(tried, key=len)
    if set(shape) == {"*"}:
        if not isinstance(value, dict):
            return [f"{path}: a map was wanted, not {value!r:.80}"]
        found = []
        for key, item in value.items():
            found += differences(shape["*"], item, f"{path}.{key}")
        return found
    return _object(shape, value, path)


def _scalar(shape, value, path):
    if shape in {"null", "unseen"}:
        return []
    for name in shape.split("|"):
        if name == "float" and isinstance(value, int | float) and not isinstance(value, bool):
            return []
        is_bool_for_int = name == "int" and isinstance(value, bool)
        if name in _TYPES and isinstance(value, _TYPES[name]) and not is_bool_for_int:
            return []
    return [f"{path}: {shape} was wanted, not {value!r:.80}"]


def _list(shape, value, path):
    if not isinstance(value, list):
        return [f"{path}: a list was wanted, not {value!r:.80}"]
    if not shape:
        return []
    found = []
    for position, item in enumerate(value):
        found += differences(shape[0], item, f"{path}[{position}]")
    return found


def _object(shape, value, path):
    if not isinstance(value, dict):
        return [f"{path}: an object was wanted, not {value!r:.80}"]
    found = []
    names = set()
    for name, each in shape.items():
        key = name.removesuffix("?")
        names.add(key)
        if key in value:
            found += differences(each, value[key], f"{path}.{key}")
        elif key == name:
            found.append(f"{path}: {key} is missing")
    ours = {added for kind, added in OUR_ADDITIONS.items() if kind in names}
    strange = set(value) - names - ours
    found += [f"{path}: nobody knows {key}" for key in sorted(strange)]
    return found
