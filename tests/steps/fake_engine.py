"""A server that tells its load and streams completions as it is scripted to, in this process: real HTTP, real time."""

import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Engine(ThreadingHTTPServer):
    """`pages`: path -> text, (status, text), or a function that gives either. Completions are streamed: `tokens` in
    `pieces`-sized events, `gap` seconds apart; `refuse` of every so many requests are answered 503; `usage` is told.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages = {}
        self.asked = []
        self.bodies = []
        self.gap = 0.0
        self.piece = 1
        self.refuse = 0
        self.usage = True
        self.hang = False
        self.broken = False

    @property
    def port(self):
        return self.server_address[1]

    def handle_error(self, request, client_address):
        pass


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, status, text):
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.server.asked.append(self.path)
        page = self.server.pages.get(self.path, (404, "{}"))
        page = page() if callable(page) else page
        status, text = page if isinstance(page, tuple) else (200, page)
        self.answer(status, text)

    def do_POST(self):
        engine = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        engine.bodies.append(body)
        if engine.refuse and len(engine.bodies) % engine.refuse == 0:
            self.answer(503, json.dumps({"error": {"message": "too busy"}}))
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.close_connection = True
        if engine.hang:
            time.sleep(30)
        for number in range(0, body["max_tokens"], engine.piece):
            time.sleep(engine.gap)
            count = min(engine.piece, body["max_tokens"] - number)
            self.event({"choices": [{"delta": {"content": "word " * count}}]})
        if engine.broken:
            return
        if engine.usage:
            self.event({"choices": [], "usage": {"completion_tokens": body["max_tokens"], "prompt_tokens": 3}})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, value):
        with contextlib.suppress(BrokenPipeError):
            self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")


@contextlib.contextmanager
def running():
    """An engine that serves as long as the block lasts."""
    made = Engine()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.shutdown()
        made.server_close()
        thread.join()


@pytest.fixture
def engine():
    with running() as made:
        yield made
