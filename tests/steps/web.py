"""A small web server for the step types that speak HTTP: what each path answers never changes."""

from __future__ import annotations

import base64
import http.server
import json
import threading
from contextlib import contextmanager
from urllib.parse import parse_qsl, urlsplit


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "web", ""

    def log_message(self, *args):
        pass

    def date_time_string(self, timestamp=None):
        return "Thu, 01 Jan 2026 00:00:00 GMT"

    def answer(self, status, body=b"", kind="text/plain", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_any(self):
        url = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        found = getattr(self, "on_" + url.path.strip("/").replace("/", "_").replace(".", "_"), None)
        if found is None:
            self.answer(404, b"nothing here\n")
        else:
            found(body, dict(parse_qsl(url.query)))

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = handle_any

    def on_text(self, body, query):
        self.answer(200, b"plain text\n")

    def on_json(self, body, query):
        self.answer(200, json.dumps({"a": [1, 2], "ok": True}).encode(), "application/json")

    def on_broken(self, body, query):
        self.answer(200, b"{not json", "application/json")

    def on_status(self, body, query):
        self.answer(int(query["code"]), b'{"status": "x"}', "application/json")

    def on_echo(self, body, query):
        kept = ("Content-Type", "Authorization", "X-One", "User-Agent", "Accept-Encoding")
        headers = {name: self.headers[name] for name in kept if self.headers[name]}
        said = {"method": self.command, "body": body.decode("utf-8", "replace"), "headers": headers, "query": query}
        self.answer(200, json.dumps(said).encode(), "application/json")

    def on_redirect(self, body, query):
        self.answer(int(query.get("code", 302)), b"", Location=query.get("to", "/text"))

    def on_private(self, body, query):
        right = "Basic " + base64.b64encode(b"me:secret").decode()
        if self.headers.get("Authorization") == right:
            self.answer(200, b"welcome\n")
        else:
            self.answer(401, b"who are you\n", WWW_Authenticate='Basic realm="x"')

    def on_cookies(self, body, query):
        self.answer(200, b"", Set_Cookie="flavour=oat; Path=/")

    def on_latin(self, body, query):
        self.answer(200, "caf\xe9".encode("latin-1"), "text/plain; charset=iso-8859-1")

    def on_file_bin(self, body, query):
        if self.headers.get("If-Modified-Since"):
            self.answer(304)
            return
        self.answer(200, b"0123456789abcdef", "application/octet-stream", Last_Modified="Thu, 01 Jan 2026 00:00:00 GMT")

    def on_named(self, body, query):
        self.answer(200, b"named\n", "application/octet-stream", Content_Disposition='attachment; filename="given.txt"')

    def on_sums(self, body, query):
        digest = "9f9f5111f7b27a781f1f1ddde5ebc2dd2b796bfc7365c9c28b548e564176929f"
        self.answer(200, f"{'0' * 64}  other\n{digest}  file.bin\n".encode())


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False


@contextmanager
def serve():
    """Serve on a free port of the loopback; gives the address without a slash at its end."""
    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
