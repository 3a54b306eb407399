"""Asks a server over HTTP under a hard deadline, and reads numbers from what it tells of itself."""

import contextlib
import http.client
import json
import re
import socket
import threading

_MOST = 8 << 20
_SAMPLE = re.compile(r"^([A-Za-z_:][A-Za-z0-9_:]*)(?:\{[^}]*\})?\s+(\S+)")


def ask(place, method, path, body=None, seconds=10.0, opened=None):
    """(status or what went wrong, bytes); `place` is {host, port, key}. `opened` gets the connection, for `cut`.

    A timeout of a socket starts anew with each byte; here the whole answer has `seconds`. What went wrong is
    `refused`, `timeout`, or the reason in words.
    """
    headers = {"Accept": "*/*", "Connection": "close"}
    if place.get("key"):
        headers["Authorization"] = "Bearer " + place["key"]
    data = None
    if body is not None:
        data = json.dumps(body).encode()
        headers["Content-Type"] = "application/json"
    connection = http.client.HTTPConnection(place["host"], place["port"], timeout=seconds)
    if opened is not None:
        opened(connection)
    late = threading.Event()
    guard = threading.Timer(seconds, lambda: (late.set(), cut(connection)))
    guard.daemon = True
    guard.start()
    try:
        connection.request(method, path, body=data, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(_MOST)
    except ConnectionRefusedError:
        return "refused", b""
    except socket.timeout:
        return "timeout", b""
    except (OSError, http.client.HTTPException) as error:
        return "timeout" if late.is_set() else (str(error) or type(error).__name__), b""
    finally:
        guard.cancel()
        connection.close()


def cut(connection):
    """End a question in its middle, from another thread."""
    if connection.sock is not None:
        with contextlib.suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)


def samples(text):
    """Prometheus' text format as {name: the sum over its labels}; what is no finite number makes a name None."""
    found = {}
    for line in text.splitlines():
        met = _SAMPLE.match(line)
        if not met:
            continue
        name = met[1]
        value = _finite(met[2])
        before = found.get(name, 0.0)
        found[name] = None if value is None or before is None else before + value
    return found


def _finite(word):
    try:
        value = float(word)
    except ValueError:
        return None
    return value if value - value == 0 else None


def numbers(value, name):
    """Every value under this key in JSON data, however deep; what is no number there comes as None."""
    if isinstance(value, dict):
        own = [_number(value[name])] if name in value else []
        return own + [each for key, inner in value.items() if key != name for each in numbers(inner, name)]
    if isinstance(value, list):
        return [each for inner in value for each in numbers(inner, name)]
    return []


def _number(value):
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def reading(place, source, seconds=10.0):
    """({name: number or None}, what was wrong or None) from one source of a profile.

    source: {path, form: json|prometheus, names, combine}. Several values of a name (ranks, labels) are added, or in
    JSON with `combine: mean` averaged. A name that the server does not tell, or whose value is no
    number, is None: unknown, never 0.
    """
    status, data = ask(place, "GET", source["path"], seconds=seconds)
    if status != 200:
        return dict.fromkeys(source["names"]), "%s: %s" % (source["path"], _said(status))
    text = data.decode("utf-8", "replace")
    if source["form"] == "prometheus":
        told = samples(text)
        found = {name: told.get(name) for name in source["names"]}
    else:
        try:
            value = json.loads(text)
        except ValueError:
            return dict.fromkeys(source["names"]), "%s: the answer is not JSON" % source["path"]
        found = {}
        for name in source["names"]:
            all_of = numbers(value, name)
            shares = len(all_of) if source.get("combine") == "mean" else 1
            found[name] = sum(all_of) / shares if all_of and None not in all_of else None
    missing = [name for name, number in found.items() if number is None]
    return found, "%s does not tell %s" % (source["path"], ", ".join(missing)) if missing else None


def _said(status):
    return "HTTP %d" % status if isinstance(status, int) else {"refused": "nobody listens"}.get(status, status)
