"""JSON by the C functions under the standard library's `json`, whose own import takes as long as starting Python does.

They are CPython's own affair, so whatever is different about them makes this fall back on `json`.
"""


def _fast():
    """(loads, dumps) by the interpreter's own functions; raises whatever it does where they are not as expected."""
    import _json

    class Context:
        """What the scanner asks how to read."""

        strict = True
        object_hook = object_pairs_hook = array_hook = None
        parse_float, parse_int = float, int
        parse_constant = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}.__getitem__

    def refuse(value):
        raise TypeError("Object of type %s is not JSON serializable" % type(value).__name__)

    scan = _json.make_scanner(Context())
    quote = _json.encode_basestring_ascii

    def loads(text):
        text = (text if isinstance(text, str) else bytes(text).decode("utf-8", "surrogatepass")).strip(" \t\r\n")
        try:
            found, end = scan(text, 0)
        except StopIteration as error:
            raise ValueError("this is not JSON") from error
        if end != len(text):
            raise ValueError("something follows the JSON")
        return found

    def dumps(value):
        # A new encoder for each value: it remembers what it is in the middle of.
        return "".join(_json.make_encoder({}, refuse, quote, None, ":", ",", False, False, True)(value, 0))

    proof = {"a": [1, 1.5, None, True, 'x"\n\u00e4'], "b": {}}
    if loads(dumps(proof)) != proof:
        raise ValueError("they do not read what they write")
    return loads, dumps


def _slow():
    import json

    return json.loads, lambda value: json.dumps(value, separators=(",", ":"))


try:
    loads, dumps = _fast()
except Exception:  # noqa: BLE001 - another Python, with other names or other arguments
    loads, dumps = _slow()
