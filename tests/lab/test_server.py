"""The server in the lab: it starts, answers and fails as SGLang does, asked without any of our own steps."""

import json
import shlex

import pytest

from tests.lab.practice import until

pytestmark = pytest.mark.slow


ASK = """
import json, sys, urllib.error, urllib.request
body = sys.argv[2].encode() if sys.argv[2:] else None
try:
    with urllib.request.urlopen(sys.argv[1], data=body, timeout=5) as answer:
        found = [answer.status, answer.read().decode()]
except urllib.error.HTTPError as error:
    found = [error.code, error.read().decode()]
except OSError:
    found = [0, ""]
print(json.dumps(found))
"""


FOLLOW = """
import json, sys, time, urllib.error, urllib.request
seen, end = [], time.monotonic() + 60
while seen[-1:] != [200] and time.monotonic() < end:
    try:
        with urllib.request.urlopen(sys.argv[1], timeout=5) as answer:
            status = answer.status
    except urllib.error.HTTPError as error:
        status = error.code
    except OSError:
        status = 0
    seen += [status] if status not in seen else []
    time.sleep(0.02)
print(json.dumps(seen))
"""


class Server:
    """The server started by hand in a lab's container, in a session of its own."""

    def __init__(self, practice):
        self.lab = practice
        host = practice.host("eagle3-lab")
        self.port = host["server_port"]
        self.log = practice.root / "eagle3-lab" / "log" / "by-hand.log"
        self.argv = [host["server_python"], "-m", "sglang.launch_server", "--model-path", host["target_model"]]
        self.argv += ["--tp", "8", "--port", str(self.port), "--speculative-draft-model-path", host["draft_model"]]

    def start(self, *more, context=131072, algorithm="EAGLE3"):
        """Start it; gives its pid in the container."""
        words = [*self.argv, "--context-length", str(context), "--speculative-algorithm", algorithm, *more]
        log = shlex.quote(str(self.log))
        told = self.lab.says("eagle3-lab", f"setsid {shlex.join(words)} > {log} 2>&1 < /dev/null & echo $!")
        return int(told)

    def text(self):
        return self.log.read_bytes().decode()  # with its carriage returns

    def ask(self, path, body=None):
        """The status and the text of an answer; status 0 where nobody listens."""
        words = [path] if body is None else [path, json.dumps(body)]
        line = f"python3 - http://127.0.0.1:{self.port}{shlex.join(words)}"
        status, text = json.loads(self.lab.ssh("eagle3-lab", line, given=ASK.encode()).stdout)
        return status, text

    def follow(self, path):
        """Every status that a path has until it is 200, in order; looked at from inside, fifty times a second."""
        line = f"python3 - http://127.0.0.1:{self.port}{shlex.quote(path)}"
        return json.loads(self.lab.ssh("eagle3-lab", line, given=FOLLOW.encode()).stdout)

    def ready(self):
        return until(lambda: "ready to roll" in self.text())

    def ended(self, pid):
        return until(lambda: self.lab.ssh("eagle3-lab", f"kill -0 {pid}", check=False).returncode == 1)

    def workers(self):
        """Pid and title of the server's schedulers."""
        seen = self.lab.processes("eagle3-lab")
        return {title: pid for pid, _, state, title in seen if title.startswith("sglang::sch") and state != "Z"}


@pytest.fixture(scope="module")
def cleared(tmp_path_factory):
    """A lab without the server that hangs, and without its orphan."""
    from tests.lab.practice import Practice

    practice = Practice(tmp_path_factory.mktemp("cleared") / "room")
    practice.run("up")
    clear(practice)
    yield practice
    practice.close()


def clear(practice):
    """Kill whatever is left of any server."""
    practice.run("break", "none")
    left = [pid for pid, _, state, title in practice.processes("pve-lab") if "sglang" in title and state != "Z"]
    if left:
        # One of them may end by itself meanwhile, as the front process takes its workers with it.
        practice.ssh("pve-lab", f"kill -9 {' '.join(map(str, left))}", check=False)
    until(lambda: practice.used() == [0] * 8)


@pytest.fixture
def server(cleared):
    """A server that can be started; whatever it leaves behind is removed."""
    yield Server(cleared)
    clear(cleared)


def test_a_start_goes_through_sglangs_phases(server):
    """Shards with carriage returns, graphs, 503 while it warms up, then the line, 200 and eight renamed workers."""
    pid = server.start()
    assert [0, 503, 200] == server.follow("/health")
    text = server.text()
    order = [text.index(mark) for mark in (
        "Load weight begin", "100% Completed | 24/24", "Capture cuda graph begin",
        "Capture cuda graph end", "Uvicorn running on", "The server is fired up and ready to roll!",
    )]  # fmt: skip
    assert sorted(order) == order
    assert text.count("\rLoading safetensors checkpoint shards:") == 25
    assert [76 * 1024] * 8 == server.lab.used()
    children = [title for _, parent, _, title in server.lab.processes("eagle3-lab") if parent == pid]
    assert [*(f"sglang::scheduler_TP{rank}" for rank in range(8)), "sglang::tokenizer_worker_0"] == sorted(children)


def test_it_answers_in_every_form(server):
    """/generate, completions and chat, whole and as a stream that ends with [DONE]."""
    server.start()
    server.ready()
    chat = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
    status, text = server.ask("/v1/chat/completions", chat)
    assert (200, "I am the practice server") == (status, json.loads(text)["choices"][0]["message"]["content"])
    _, stream = server.ask("/v1/chat/completions", {**chat, "stream": True})
    events = [line.removeprefix("data: ") for line in stream.split("\n") if line]
    said = [json.loads(event)["choices"] for event in events[:-1]]
    assert "I am the practice server" == "".join(c[0]["delta"].get("content", "") for c in said if c)
    assert "[DONE]" == events[-1]
    _, text = server.ask("/generate", {"text": "hi", "sampling_params": {"max_new_tokens": 31}})
    meta = json.loads(text)["meta_info"]
    assert (31, 10) == (meta["completion_tokens"], meta["spec_verify_ct"])
    assert 400 == server.ask("/v1/completions", {"prompt": "hi", "max_tokens": 200_000})[0]
    assert 200 == server.ask("/v1/models")[0]
    assert "accept len: 3.10" in server.text()


def test_an_eagle3_draft_under_eagle_is_accepted_by_nobody(server):
    """Silently: the server is healthy, and the accept length is 1."""
    server.start(algorithm="EAGLE")
    server.ready()
    server.ask("/v1/completions", {"prompt": "hi", "max_tokens": 3})
    until(lambda: "accept len: 1.00" in server.text())


def test_term_drains_and_ends_with_kill(server):
    """As reported for the real one: a clean stop has exit status 137, and nobody stays."""
    pid = server.start()
    server.ready()
    server.lab.kill("eagle3-lab", "TERM", pid)
    server.ended(pid)
    assert "Draining requests" in server.text()
    assert until(lambda: server.lab.used() == [0] * 8)


def test_killing_the_front_process_leaves_the_workers(server):
    """They hold their GPUs, and the port is free at once."""
    pid = server.start()
    server.ready()
    server.lab.kill("eagle3-lab", 9, pid)
    server.ended(pid)
    assert [76 * 1024] * 8 == server.lab.used()
    assert until(lambda: server.ask("/health")[0] == 0)
    again = server.start()
    server.ended(again)
    assert "torch.OutOfMemoryError: CUDA out of memory." in server.text()


@pytest.mark.parametrize(
    ("context", "more", "told"),
    [
        (262144, [], "User-specified context_length (262144) is greater than the derived context_length (131072)"),
        (131072, ["--no-such-flag"], "error: unrecognized arguments: --no-such-flag"),
        (131072, ["--model-path", "/nowhere"], "Can't load the configuration of '/nowhere'"),
        (131072, ["--tp", "16"], "tp_size 16 is larger than the number of GPUs (8)"),
    ],
)
def test_what_it_cannot_serve_it_refuses(server, context, more, told):
    """With the real one's words, and at once."""
    server.ended(server.start(*more, context=context))
    assert told in server.text()


def test_a_port_that_is_taken_ends_the_start(server):
    """It names address and reason as uvicorn does."""
    server.start()
    server.ready()
    first = server.log.read_text()
    server.log = server.log.with_name("second.log")
    server.ended(server.start())
    assert "[Errno 98] error while attempting to bind on address ('127.0.0.1', " in server.text()
    assert "ready to roll" in first


def test_a_worker_that_dies_takes_the_server_down(server):
    """The launcher says which one and ends."""
    pid = server.start()
    server.ready()
    server.lab.kill("eagle3-lab", 9, server.workers()["sglang::scheduler_TP5"])
    server.ended(pid)
    assert "Rank 5 scheduler is dead." in server.text()
    assert until(lambda: server.lab.used() == [0] * 8)


def test_dies_in_start(server):
    """Fault: one worker fails half-way, the server ends with code 1."""
    server.lab.run("break", "dies-in-start")
    server.ended(server.start())
    assert "Rank 3 scheduler died during initialization (exit code: 1)" in server.text()


@pytest.mark.parametrize("fault", ["silent-after-load", "ready-line-of-old-run"])
def test_silent_after_load(server, fault):
    """Fault: 100 %, then no line, no CPU, no port."""
    server.lab.run("break", fault)
    pid = server.start()
    until(lambda: server.text().count("Load weight end") == 8)
    before = server.text()
    used = server.lab.says("eagle3-lab", f"cut -d' ' -f14,15 /proc/{pid}/stat")
    assert 8 == len(server.workers())
    assert (before, 0) == (server.text(), server.ask("/health")[0])
    assert used == server.lab.says("eagle3-lab", f"cut -d' ' -f14,15 /proc/{pid}/stat")


def test_ignores_term(server):
    """Fault: neither the launcher nor a worker ends; it can be asked for while they run."""
    pid = server.start()
    server.ready()
    server.lab.run("break", "ignores-term")
    server.lab.kill("eagle3-lab", "TERM", -pid)
    assert 200 == server.ask("/health")[0]
    server.lab.run("break", "none")
    server.lab.kill("eagle3-lab", "TERM", pid)
    server.ended(pid)


def test_port_kept(server):
    """Fault: a tokenizer worker listens on when the launcher is killed, and the next start finds the port taken."""
    server.lab.run("break", "port-kept")
    pid = server.start()
    server.ready()
    server.lab.kill("eagle3-lab", 9, pid)
    server.ended(pid)
    assert "sglang::tokenizer_worker_0" in server.lab.titles("eagle3-lab")
    server.ended(server.start())
    assert "address already in use" in server.text()


def test_slow_release(server):
    """Fault: the holder is gone and its memory is not, for some seconds, with nobody named."""
    pid = server.start()
    server.ready()
    server.lab.run("break", "slow-release")
    server.lab.used()
    server.lab.kill("eagle3-lab", "TERM", pid)
    server.ended(pid)
    holders = "nvidia-smi --query-compute-apps=pid --format=csv,noheader"
    assert ([76 * 1024] * 8, "") == (server.lab.used(), server.lab.says("pve-lab", holders))
    assert until(lambda: server.lab.used() == [0] * 8)


def test_orphan_outside(server):
    """Fault: at once, a worker that the container cannot see holds GPU 7 and ignores TERM."""
    server.lab.run("break", "orphan-outside")
    assert [0] * 7 + [76 * 1024] == server.lab.used()
    assert "sglang::scheduler_TP7" not in server.lab.titles("eagle3-lab")
    orphan = server.lab.says("pve-lab", "nvidia-smi --query-compute-apps=pid --format=csv,noheader")
    server.lab.kill("pve-lab", "TERM", orphan)
    assert 76 * 1024 == server.lab.used()[7]


def test_short_draft_config(server):
    """Fault: the draft's config really is too short; `none` gives the right one back."""
    server.lab.run("break", "short-draft-config")
    server.ended(server.start(context=4096))
    assert "is greater than the derived context_length (2048)" in server.text()
    server.lab.run("break", "none")
    server.start()
    assert server.ready()
