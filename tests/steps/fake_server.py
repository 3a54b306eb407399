"""A small server that starts as SGLang does and misbehaves when told: real processes, real HTTP, a real log.

Run as a program. `--fault` is one of FAULTS. With `--pace` the seconds between its steps. Workers are processes of
their own with the titles that the real ones have, and end with their parent.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FAULTS = (
    *("none", "dies-in-load", "bus-error", "killed", "silent", "busy", "fatal-line", "worker-dies", "mute"),
    *("never-ready", "no-http", "too-few", "steps-aside", "starts-quietly", "slow-health", "drains"),
)


def say(text, end="\n"):
    sys.stdout.write(text + end)
    sys.stdout.flush()


def worker():
    """Live as long as the parent does; rank 0 may be told to die."""
    if "--die-after" in sys.argv:
        time.sleep(float(sys.argv[sys.argv.index("--die-after") + 1]))
        return
    while os.getppid() == int(sys.argv[sys.argv.index("--worker") + 1]):
        time.sleep(0.05)


def start_workers(options):
    """Real processes whose argv[0] is the title that the real ones give themselves."""
    for rank in range(options.tp - (options.fault == "too-few")):
        dying = ["--die-after", "0.6"] if options.fault == "worker-dies" and rank == 0 else []
        title = f"sglang::scheduler_TP{rank}"
        subprocess.Popen([title, __file__, "--worker", str(os.getpid()), *dying], executable=sys.executable)


def load_shards(options):
    say(f"server_args=ServerArgs(port={options.port}, tp_size={options.tp})")
    say("Init torch distributed begin.")
    say("Load weight begin. avail mem=79.00 GB")
    for done in range(5):
        if options.fault == "dies-in-load" and done == 3:
            say("\nTraceback (most recent call last):\nRuntimeError: the file of shard 3 is cut short")
            sys.exit(3)
        say(f"\rLoading safetensors checkpoint shards: {done * 25:3d}% Completed | {done}/4 [00:00<00:01]", end="")
        time.sleep(options.pace)
    say("")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    ready = False
    options = argparse.Namespace()

    def log_message(self, *words):
        pass

    def answer(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path == "/health":
            if self.options.fault == "slow-health":
                time.sleep(0.5)
            self.answer(200 if Handler.ready else 503, {})
        else:
            self.answer(200, {"data": [{"id": "fake"}]})

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        asked = json.loads(self.rfile.read(size))
        if self.options.fault == "mute":
            time.sleep(60)
        key = self.options.api_key
        if key and self.headers.get("Authorization") != f"Bearer {key}":
            self.answer(401, {"error": "who are you?"})
        elif self.path == "/generate":
            tokens = asked["sampling_params"]["max_new_tokens"]
            self.answer(200, {"text": " 5 6 7 8"[: 2 * tokens], "meta_info": {"completion_tokens": tokens}})
        else:
            self.answer(404, {})


def serve(options):
    Handler.options = options
    door = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    door.daemon_threads = True
    threading.Thread(target=door.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    say("INFO:     Application startup complete.")
    say(f"INFO:     Uvicorn running on http://127.0.0.1:{options.port}")
    time.sleep(2 * options.pace)
    Handler.ready = True
    if options.fault != "never-ready":
        say("The server is fired up and ready to roll!")


def refuse_short_draft(options):
    if not options.speculative_draft_model_path:
        return
    config = json.loads((Path(options.speculative_draft_model_path) / "config.json").read_text())
    if config["max_position_embeddings"] < options.context_length:
        say(
            f"ValueError: User-specified context_length ({options.context_length}) is greater than the derived "
            f"context_length ({config['max_position_embeddings']})."
        )
        sys.exit(1)


def misbehave(options):
    """What happens after the load, before anything listens."""
    if options.fault == "bus-error":
        os.kill(os.getpid(), signal.SIGBUS)
    if options.fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if options.fault == "silent":
        time.sleep(3600)
    if options.fault == "busy":
        until = time.monotonic() + 3.0
        while time.monotonic() < until:
            pass
    if options.fault == "fatal-line":
        say("Rank 0 scheduler is dead. Please check if there are relevant logs.")
        time.sleep(3600)
    if options.fault == "steps-aside" and os.fork():
        os._exit(0)


def drain(_number, _frame):
    """End a while after TERM, as a server with requests under way."""
    say("SIGTERM received, draining")
    threading.Timer(0.4, os._exit, (0,)).start()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--tp", type=int, default=2)
    parser.add_argument("--fault", choices=FAULTS, default="none")
    parser.add_argument("--pace", type=float, default=0.02)
    parser.add_argument("--context-length", type=int, default=0)
    parser.add_argument("--speculative-draft-model-path")
    parser.add_argument("--speculative-algorithm")
    parser.add_argument("--api-key")
    options = parser.parse_args()
    if options.fault == "drains":
        signal.signal(signal.SIGTERM, drain)
    refuse_short_draft(options)
    if options.fault != "starts-quietly":
        load_shards(options)
    start_workers(options)
    misbehave(options)
    if options.fault != "no-http":
        serve(options)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    worker() if "--worker" in sys.argv else main()
