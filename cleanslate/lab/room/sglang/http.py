"""The server's HTTP side: health in its phases, the endpoints that lie, and generation."""

import json
import socket
import threading
import time
from argparse import Namespace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sglang import answers
from sglang.machine import log

_MODEL_INFO = ("/get_model_info", "/model_info")
_SERVER_INFO = ("/get_server_info", "/server_info")


class Door(ThreadingHTTPServer):
    """An HTTP server on a socket that is bound already. `state` is `starting`, `ready`, `stuck` or `draining`."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, bound: socket.socket, options: Namespace) -> None:
        super().__init__(bound.getsockname(), Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = bound
        self.options = options
        self.state = "starting"
        self.served = 0
        self.running = 0
        self.counting = threading.Lock()

    def open(self) -> None:
        """Listen, and serve in a thread of its own."""
        self.server_activate()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True).start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that hung up."""


class Handler(BaseHTTPRequestHandler):
    """One client's connection."""

    protocol_version = "HTTP/1.1"
    server: Door

    def log_message(self, format: str, *words: Any) -> None:
        """Log requests as uvicorn does; health checks are left out, as with SGLang's default."""
        if not self.path.startswith("/health"):
            log(f'INFO:     {self.client_address[0]}:{self.client_address[1]} - "{self.requestline}" {words[1]}')

    def do_GET(self) -> None:
        """Answer the questions that need no body."""
        options, path = self.server.options, self.path.partition("?")[0]
        if path in ("/health", "/health_generate"):
            self._health()
        elif path == "/v1/models":
            entry = {
                "id": options.served_model_name,
                "object": "model",
                "created": int(time.time()),
                "owned_by": "sglang",
                "root": options.served_model_name,
                "max_model_len": options.context_length,
            }
            self._json(200, {"object": "list", "data": [entry]})
        elif path in _MODEL_INFO:
            about = {"model_path": options.model_path, "tokenizer_path": options.model_path, "is_generation": True}
            self._json(200, about)
        elif path in _SERVER_INFO:
            internal = {"avg_spec_accept_length": answers.accept_length(options)}
            self._json(200, {**vars(options), "internal_states": [internal], "version": "0.0.0+lab"})
        elif path == "/get_load":
            load = {"dp_rank": 0, "num_reqs": self.server.running, "num_waiting_reqs": 0, "num_tokens": 0}
            self._json(200, [load])
        elif path == "/metrics" and options.enable_metrics:
            gauges = {"num_running_reqs": self.server.running, "num_queue_reqs": 0}
            label = f'{{model_name="{options.served_model_name}"}}'
            text = "".join(f"sglang:{name}{label} {float(number)}\n" for name, number in gauges.items())
            self._send(200, text.encode(), "text/plain")
        else:
            self._json(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        """Generate."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        if path not in ("/generate", "/v1/completions", "/v1/chat/completions"):
            self._json(404, {"detail": "Not Found"})
            return
        try:
            body = json.loads(raw)
            if not isinstance(body, dict):
                raise ValueError("an object is wanted")
        except ValueError as error:
            self._refuse(f"the body is not JSON: {error}")
            return
        if self.server.state == "stuck":
            time.sleep(3600)
        asked = answers.count_tokens(answers.prompt_of(body)) + answers.limit_of(body)
        if asked > self.server.options.context_length:
            self._refuse(
                f"Requested token count exceeds the model's maximum context length of "
                f"{self.server.options.context_length} tokens. You requested a total of {asked} tokens."
            )
            return
        with self.server.counting:
            self.server.running += 1
        try:
            self._generate(path, body)
        finally:
            with self.server.counting:
                self.server.running -= 1

    def _generate(self, path: str, body: dict[str, Any]) -> None:
        options, began = self.server.options, time.monotonic()
        self.server.served += 1
        tokens = answers.count_tokens(answers.prompt_of(body))
        log(f"Prefill batch. #new-seq: 1, #new-token: {tokens}, #cached-token: 1", 0)
        pieces = answers.words(answers.limit_of(body), options)
        if path == "/generate":
            said = list(pieces)
            self._json(200, answers.native(body, "".join(said), len(said), time.monotonic() - began, options))
        elif body.get("stream"):
            said = self._stream(answers.OpenAi(body, chat="chat" in path), pieces)
        else:
            said = list(pieces)
            self._json(200, answers.OpenAi(body, chat="chat" in path).whole("".join(said), len(said)))
        self._log_batch(len(said), time.monotonic() - began)

    def _stream(self, shape: answers.OpenAi, pieces: Any) -> list[str]:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        said: list[str] = []
        for piece in pieces:
            self._event(json.dumps(shape.piece(piece, first=not said)))
            said.append(piece)
        for event in shape.last(len(said)):
            self._event(json.dumps(event))
        self._event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")
        return said

    def _event(self, text: str) -> None:
        data = f"data: {text}\n\n".encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _log_batch(self, tokens: int, seconds: float) -> None:
        length = answers.accept_length(self.server.options)
        accepted = f"accept len: {length:.2f}, accept rate: {length / 4:.2f}, " if length else ""
        speed = tokens / max(seconds, 0.001)
        log(
            f"Decode batch. #running-req: 1, #token: {tokens}, token usage: 0.00, "
            f"{accepted}gen throughput (token/s): {speed:.2f}",
            0,
        )

    def _health(self) -> None:
        """503 while starting or draining; a real generation of one token when ready; silence when stuck."""
        if self.server.state == "stuck":
            time.sleep(3600)
        if self.server.state == "ready":
            time.sleep(0.02)
        self._send(200 if self.server.state == "ready" else 503, b"", "text/plain")

    def _refuse(self, message: str) -> None:
        self._json(400, {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400})

    def _json(self, status: int, value: Any) -> None:
        self._send(status, json.dumps(value).encode(), "application/json")

    def _send(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
