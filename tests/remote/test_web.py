"""HTTP requests as servers of all kinds answer them."""

import datetime
import gzip
import http.server
import socket
import ssl
import threading
from contextlib import contextmanager

import pytest

from cleanslate.remote import web
from cleanslate.remote.registry import Call, Failed
from tests.steps.web import serve


@contextmanager
def serving(handle, *, tls=None, family=socket.AF_INET, address=("127.0.0.1", 0)):
    """Serve with a function that gets the request handler; gives the port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def do_GET(self):
            handle(self)

        do_POST = do_GET

    class Server(http.server.ThreadingHTTPServer):
        address_family = family
        daemon_threads = True
        block_on_close = False

        def server_bind(self):
            self.socket.bind(self.server_address)
            self.server_address = self.socket.getsockname()

    server = Server(address, Handler)
    server.server_name, server.server_port = "here", 0
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.server_address[1] if family == socket.AF_INET else None
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer(handler, body=b"", status=200, **headers):
    handler.send_response(status)
    for name, value in {"Content-Length": len(body), **headers}.items():
        handler.send_header(name.replace("_", "-"), str(value))
    handler.end_headers()
    handler.wfile.write(body)


def get(url, **options):
    return web.get(Call(), url, **{"timeout": 5, "netrc": False, **options})


@pytest.fixture(scope="module")
def address():
    with serve() as found:
        yield found


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [("json", "json", b'{"a": [1, 2], "ok": true}'), ("text", "json", b""), ("text", "always", b"plain text\n")],
)
def test_a_body_comes_back_where_it_is_json_or_asked_for(address, name, body, expected):
    assert get(f"{address}/{name}", body=body)[1] == expected


def test_a_read_cannot_be_made_to_change_something(address):
    with pytest.raises(Failed, match="POST may change something"):
        web.get(Call(), f"{address}/echo", method="POST")


def test_a_server_that_never_answers_times_out():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        found = get(f"http://127.0.0.1:{silent.getsockname()[1]}/", timeout=0.1)[0]
    assert (found["status"], found["refused"]) == (-1, "timed out")


def test_an_answer_that_is_not_http_is_said_so():
    with socket.socket() as odd:
        odd.bind(("127.0.0.1", 0))
        odd.listen()

        def talk():
            connection, _ = odd.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(b"SSH-2.0-odd\r\n")

        talking = threading.Thread(target=talk)
        talking.start()
        found = get(f"http://127.0.0.1:{odd.getsockname()[1]}/")[0]
        talking.join()
    assert (found["status"], found["refused"]) == (-1, "the answer is not HTTP: BadStatusLine: SSH-2.0-odd\r\n")


def test_digest_authentication_is_answered():
    seen = []

    def handle(handler):
        given = handler.headers.get("Authorization")
        seen.append(given)
        if given and given.startswith('Digest username="me", realm="room"'):
            answer(handler, b"in")
        else:
            answer(handler, status=401, WWW_Authenticate='Digest realm="room", nonce="n", qop="auth", algorithm=MD5')

    with serving(handle) as port:
        found, body = get(f"http://127.0.0.1:{port}/x", user="me", password="pw", body="always")
    assert (found["status"], body, len(seen)) == (200, b"in", 2)


def test_name_and_password_come_from_netrc(tmp_path, monkeypatch, address):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("NETRC", raising=False)
    with_it, without = (get(f"{address}/private", netrc=netrc)[0]["status"] for netrc in (True, False))
    assert (with_it, without) == (200, 401)


@pytest.mark.parametrize(
    ("environment", "through"),
    [({"http_proxy": "{}"}, True), ({"HTTP_PROXY": "{}", "no_proxy": "internal.test"}, False), ({}, False)],
)
def test_the_steps_environment_names_the_proxy(environment, through, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving(lambda handler: answer(handler, handler.path.encode())) as port:
        given = {name: value.format(f"http://127.0.0.1:{port}") for name, value in environment.items()}
        found, body = get("http://internal.test/x", environment=given, body="always", timeout=1)
    assert (found["status"], body) == ((200, b"http://internal.test/x") if through else (-1, b""))


def test_a_unix_socket_is_connected_to(tmp_path):
    path = str(tmp_path / "s")
    with serving(lambda handler: answer(handler, handler.path.encode()), family=socket.AF_UNIX, address=path):
        found, body = get("http://localhost/ask", unix_socket=path, body="always")
    assert (found["status"], body) == (200, b"/ask")


def test_a_compressed_answer_is_unpacked_unless_not_wanted():
    packed = gzip.compress(b"hello")
    with serving(lambda handler: answer(handler, packed, Content_Encoding="gzip")) as port:
        bodies = [get(f"http://127.0.0.1:{port}/", body="always", decompress=wanted)[1] for wanted in (True, False)]
    assert bodies == [b"hello", packed]


def test_headers_that_are_not_to_be_sent_on_stay_behind():
    seen = []

    def handle(handler):
        seen.append((handler.path, handler.headers.get("X-Token"), handler.headers.get("X-Other")))
        if handler.path == "/first":
            answer(handler, status=302, Location="/second")
        else:
            answer(handler)

    with serving(handle) as port:
        get(f"http://127.0.0.1:{port}/first", headers={"X-Token": "t", "X-Other": "o"}, unredirected=["x-token"])
    assert seen == [("/first", "t", "o"), ("/second", None, "o")]


def test_redirects_without_an_end_are_given_up():
    with serving(lambda handler: answer(handler, status=302, Location="/again")) as port:
        assert get(f"http://127.0.0.1:{port}/")[0]["status"] == 302


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate that nobody has signed but itself, for 127.0.0.1."""
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "here")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "here.pem"
    kept = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(kept + made.public_bytes(serialization.Encoding.PEM))
    return path


def test_a_certificate_must_be_valid_unless_it_need_not(certificate):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    with serving(lambda handler: answer(handler, b"safe"), tls=tls) as port:
        url = f"https://127.0.0.1:{port}/"
        refused = get(url)[0]
        trusted = get(url, ca_path=str(certificate))[0]
        anyway = get(url, validate_certs=False)[0]
    assert (refused["status"], trusted["status"], anyway["status"]) == (-1, 200, 200)
    assert "self-signed certificate" in refused["refused"]
