"""uri, get_url, wait_for, setup: what the recorded outcomes do not say."""

from __future__ import annotations

import hashlib
import json

import pytest

from cleanslate.model import Status
from tests.steps import web
from tests.steps.harness import Context, DirectTarget, run_step


@pytest.fixture(scope="module")
def address():
    with web.serve() as found:
        yield found


@pytest.mark.parametrize(
    ("method", "status"),
    [("GET", Status.OK), ("HEAD", Status.OK), ("POST", Status.UNKNOWN), ("DELETE", Status.UNKNOWN)],
)
def test_check_mode_only_makes_requests_that_read(address, method, status):
    target = DirectTarget()
    result = run_step("uri", {"url": f"{address}/echo", "method": method}, check=True, target=target).result
    assert (result.status, bool(target.calls)) == (status, status is Status.OK)


def test_an_answer_that_is_no_json_although_it_says_so_is_warned_of(address):
    from cleanslate.runner.apply import apply_step, validate
    from cleanslate.steps.registry import step_type

    target = DirectTarget()
    context = Context(target)
    found = step_type("uri")
    arguments = validate(found, {"url": f"{address}/broken", "url_password": "s3cret"})
    result = apply_step(found, arguments, context, target, check=False).result
    assert ("json" in result.data, len(context.warnings), context.secrets) == (False, 1, ["s3cret"])


def test_files_and_fields_are_sent_as_parts(address, tmp_path):
    (tmp_path / "model.txt").write_text("weights")
    body = {"name": "x", "file": {"filename": "model.txt"}, "note": {"content": "hi", "mime_type": "text/plain"}}
    given = {"url": f"{address}/echo", "method": "POST", "body": body, "body_format": "form-multipart"}
    said = run_step("uri", given, folder=tmp_path).result.data["json"]
    assert said["headers"]["Content-Type"].startswith("multipart/form-data; boundary=")
    for part in (
        'name="name"\r\n\r\nx\r\n',
        'name="file"; filename="model.txt"\r\nContent-Type: text/plain\r\n\r\nweights\r\n',
        'name="note"\r\nContent-Type: text/plain\r\n\r\nhi\r\n',
    ):
        assert part in said["body"]


@pytest.mark.parametrize(
    ("body", "form", "words"),
    [
        ([1], "form-urlencoded", "a form's body is"),
        ("x", "form-multipart", "a multipart body is"),
        ({"a": {"x": 1}}, "form-multipart", 'the part "a" needs'),
    ],
)
def test_a_body_that_does_not_fit_its_format_is_told(address, body, form, words):
    given = {"url": f"{address}/echo", "method": "POST", "body": body, "body_format": form}
    result = run_step("uri", given).result
    assert (result.data["failed"], result.data["msg"].startswith(words)) == (True, True)


def test_a_written_answer_is_not_written_again_where_it_is_the_same(address, tmp_path):
    given = {"url": f"{address}/text", "dest": str(tmp_path / "got")}
    statuses = [run_step("uri", given).result.status for _ in range(2)]
    assert statuses == [Status.CHANGED, Status.OK]


def test_a_file_that_came_short_is_not_put_in_place(tmp_path):
    """The connection ends in the middle."""
    import socket
    import threading

    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")

        serving = threading.Thread(target=serve)
        serving.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/f"
        result = run_step("get_url", {"url": url, "dest": str(tmp_path / "f")}).result
        serving.join()
    assert (result.data["failed"], list(tmp_path.iterdir())) == (True, [])
    assert result.data["msg"] == "only 4 of 1000 bytes came; nothing was put in place"


@pytest.mark.parametrize("algorithm", ["sha256", "md5", "SHA512"])
def test_a_file_with_the_right_checksum_is_known_without_a_download(tmp_path, algorithm):
    (tmp_path / "f").write_bytes(b"weights")
    digest = hashlib.new(algorithm.lower(), b"weights").hexdigest()
    given = {"url": "http://127.0.0.1:1/never", "dest": str(tmp_path / "f"), "checksum": f"{algorithm}:{digest}"}
    for check in (True, False):
        result = run_step("get_url", given, check=check).result
        assert (result.status, result.data["msg"]) == (Status.OK, "file already exists")


@pytest.mark.parametrize(
    ("checksum", "words"),
    [("abc", "write it as sha256:HEX"), ("sha256:http://127.0.0.1:1/sums", "cannot be read for its checksums")],
)
def test_a_checksum_that_cannot_be_had_is_told(tmp_path, checksum, words):
    result = run_step(
        "get_url", {"url": "http://127.0.0.1:1/x", "dest": str(tmp_path / "f"), "checksum": checksum}
    ).result
    assert (result.data["failed"], words in result.data["msg"]) == (True, True)


def test_facts_become_variables_with_their_prefix_and_carry_the_steps_environment():
    applied = run_step("setup", {"gather_subset": "!all"}, environment={"COLOUR": "red"})
    facts = applied.result.data["ansible_facts"]
    assert (facts["ansible_env"]["COLOUR"], applied.facts == facts) == ("red", True)
    assert json.dumps(facts)


def test_own_facts_and_filters_are_honoured(tmp_path):
    (tmp_path / "site.fact").write_text('{"rack": 7}')
    given = {"fact_path": str(tmp_path), "filter": "ansible_local"}
    facts = run_step("setup", given).result.data["ansible_facts"]
    assert facts["ansible_local"] == {"site": {"rack": 7}}
    assert not [name for name in facts if name.startswith("ansible_") and name != "ansible_local"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"port": 1, "path": "/x"}, "not for both"),
        ({"path": "/x", "state": "drained"}, "is for ports"),
        ({"state": "drained"}, "needs a port"),
        ({"port": 1, "exclude_hosts": ["a"]}, "only for state: drained"),
        ({"port": 1, "state": "drained", "active_connection_states": ["OPEN"]}, "no connection state OPEN"),
    ],
)
def test_what_cannot_be_waited_for_is_told(arguments, words):
    result = run_step("wait_for", arguments).result
    assert (result.data["failed"], words in result.data["msg"]) == (True, True)


def test_a_wait_is_one_call_however_long_it_takes(tmp_path):
    target = DirectTarget()
    run_step("wait_for", {"path": str(tmp_path / "never"), "timeout": "50ms"}, target=target)
    assert target.calls == ["net.wait_for"]
