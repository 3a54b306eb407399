"""The story of this repository, as people run it: in a fresh checkout, with the lab that comes up for it."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.lab.practice import PYTHON, Practice

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

REPOSITORY = Path(__file__).parent.parent.parent
FULL = 76 * 1024


class Checkout:
    """The runbooks of this repository in a folder of their own, where the lab's folder is `.lab`."""

    def __init__(self, root: Path):
        self.root = root
        root.mkdir()
        for name in ("playbooks", "roles", "templates", "inventory"):
            shutil.copytree(REPOSITORY / name, root / name)
        shutil.copy(REPOSITORY / "invoke.yaml", root)
        self.lab = Practice(root / ".lab")
        self.hurry = ()

    def up(self, *faults, pace=0.3, **hurry):
        """Bring up a lab whose servers start fast; the plays give what is stopped, or silent, little time."""
        self.lab.run("up", "--pace", str(pace))
        if faults:
            self.lab.run("break", *faults)
        self.hurry = ("-e", json.dumps({"eagle3_grace": "0.5s", "holder_grace": "0.5s", **hurry}))

    def play(self, name, *options):
        """Run `inv play`; gives exit code, recap by host, and the last word of each step by name."""
        command = [PYTHON, "-m", "cleanslate.cli", "play", name, "--output", "json", *self.hurry, *options]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True)
        events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return Played(done.returncode, events, done.stdout + done.stderr)


class Played:
    """What became of a run."""

    def __init__(self, code, events, text):
        self.code, self.text = code, text
        names = {}
        self.status, self.result = {}, {}
        for event in events:
            kind, data = event["kind"], event.get("data", event)
            if kind == "step.started":
                names[data["step"]] = data["name"].rpartition(" : ")[2]
            elif kind == "host.finished":
                self.status[names[data["step"]]] = data["status"]
                self.result[names[data["step"]]] = data["result"]
        if self.failed:
            self.text = "; ".join(f"{name}: {self.result[name].get('msg')}" for name in self.failed)

    @property
    def failed(self):
        """Names of steps that failed."""
        return [name for name, status in self.status.items() if status in ("failed", "unreachable")]


@pytest.fixture
def checkout(tmp_path):
    """A fresh checkout; its lab, if it came up, is taken down."""
    made = Checkout(tmp_path / "check out")
    yield made
    made.lab.close()


STOP = "Stop the server, its workers and whatever they left behind"
FREE = "Free the GPUs from the hypervisor, where the container cannot see the holder"
EMPTY = "Every GPU is empty"
PATCH = "The draft model accepts the target's context length"
LAUNCH = "Launch"
HEALTHY = "Healthy means it answers, not that a port is open"
SAID = "What it said"


def titles(result, key):
    """Short titles of the processes in a step's result; the server's front process is `launcher`."""
    found = [process["title"] for process in result[key]]
    return sorted("launcher" if "sglang.launch_server" in title else title for title in found)


def test_a_fresh_lab_ends_with_a_server_that_answers(checkout):
    """The server that hangs, the orphan outside, the patch, the launch, the words; and a second time."""
    first = checkout.play("restart-eagle3")
    assert 0 == first.code, first.text
    workers = [f"sglang::scheduler_TP{rank}" for rank in range(7)]
    assert ["launcher", *workers, "sglang::tokenizer_worker_0"] == titles(first.result[STOP], "stopped")
    assert ["sglang::scheduler_TP7"] == titles(first.result[FREE], "released")
    changed = {name for name, status in first.status.items() if status == "changed"}
    assert {"The start script, for people who start it by hand", STOP, FREE, PATCH, "Launch"} == changed
    assert first.result[SAID]["msg"].startswith("I am the practice server of the cleanslate lab")
    assert [FULL] * 8 == checkout.lab.used()
    assert "nvidia-persistenced" in checkout.lab.titles("pve-lab")
    again = checkout.play("restart-eagle3")
    assert 0 == again.code, again.text
    assert {STOP, "Launch"} == {name for name, status in again.status.items() if status == "changed"}
    foretold = checkout.play("restart-eagle3", "--check")
    assert ("changed", "unknown") == (foretold.status[LAUNCH], foretold.status[HEALTHY]), foretold.text
    by_hand = (checkout.root / ".lab" / "eagle3-lab" / "log" / "start-eagle3.sh").read_text()
    assert 0 == subprocess.run(["sh", "-n"], input=by_hand, text=True).returncode
    assert "--speculative-algorithm" in by_hand


def test_check_foretells_and_leaves_no_trace(checkout):
    """What would be stopped is named; the same processes live afterwards, and no file has changed."""
    checkout.up()
    before = checkout.lab.titles("pve-lab")
    config = checkout.root / ".lab" / "eagle3-lab" / "models"
    files = {path: path.lstat().st_mtime_ns for path in config.rglob("*")}
    foretold = checkout.play("restart-eagle3", "--check", "--diff")
    assert 0 == foretold.code, foretold.text
    assert 9 == len(foretold.result[STOP]["stopped"])
    assert {"changed"} == {foretold.status[name] for name in (STOP, FREE, PATCH)}
    assert {"unknown"} == {foretold.status[name] for name in (EMPTY, HEALTHY)}
    assert before == checkout.lab.titles("pve-lab")
    assert files == {path: path.lstat().st_mtime_ns for path in config.rglob("*")}


@pytest.mark.parametrize("fault", ["ignores-term", "orphan-outside", "slow-release", "port-kept", "busy-silent"])
def test_it_succeeds_where_it_can(checkout, fault):
    """Twice: with the server that hung when the lab came up, and with one that has the fault itself."""
    checkout.up(fault)
    for _ in range(2):
        played = checkout.play("restart-eagle3")
        assert (0, []) == (played.code, played.failed), played.text
        checkout.lab.run("break", fault)
    seconds = checkout.lab.says("eagle3-lab", "nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits")
    assert [FULL] * 7 == [int(line) for line in seconds.split()][:7]


@pytest.mark.parametrize(
    ("fault", "step", "told", "launched"),
    [
        ("short-draft-config", PATCH, '"max_position_embeddings" is 2048, expected 131072 or 262144', False),
        ("dies-in-start", HEALTHY, "Rank 3 scheduler is dead", True),
        ("silent-after-load", HEALTHY, "silent after load for 2 s, no CPU used", True),
        ("ready-line-of-old-run", HEALTHY, "silent after load for 2 s, no CPU used", True),
    ],
)
def test_it_fails_at_the_right_step_where_it_cannot(checkout, fault, step, told, launched):
    """With the cause named, long before the overall limit, and nothing is launched in vain."""
    checkout.up(fault, pace=1, eagle3_silence="2s")
    played = checkout.play("restart-eagle3")
    assert (2, [step, "The restart failed"]) == (played.code, played.failed), played.text
    assert told in played.result[step]["msg"]
    assert launched == ("Launch" in played.status)
    assert SAID not in played.status


def test_what_is_missing_is_found_before_the_old_server_is_touched(checkout):
    """A model that is not there: the play ends while the old server still runs."""
    checkout.up()
    before = checkout.lab.titles("eagle3-lab")
    played = checkout.play("restart-eagle3", "-e", "target_model=/models/mistyped")
    assert (2, ["The interpreter and the models are there"]) == (played.code, played.failed)
    assert "/models/mistyped/config.json" in played.result["The interpreter and the models are there"]["msg"]
    assert before == checkout.lab.titles("eagle3-lab")


def test_stop_and_proof(checkout):
    """The proof fails and names holders while they hold; after a stop it passes; stopping again is ok."""
    checkout.up()
    held = checkout.play("gpu-clean-slate")
    assert (2, ["Every GPU is empty, seen from the hypervisor"]) == (held.code, held.failed), held.text
    assert "sglang::scheduler_TP0" in held.text
    stopped = checkout.play("stop-eagle3")
    assert (0, {STOP: "changed", FREE: "changed"}) == (
        stopped.code,
        {name: status for name, status in stopped.status.items() if status != "ok"},
    ), stopped.text
    assert [0] * 8 == checkout.lab.used()
    proved = checkout.play("gpu-clean-slate")
    assert (0, {"ok"}) == (proved.code, set(proved.status.values()))
    again = checkout.play("stop-eagle3")
    assert (0, {"ok"}) == (again.code, set(again.status.values()))


def test_nccl_variables_are_kept_in_the_interpreter(checkout):
    """In a block that is really imported; a second run changes nothing; `absent` takes it out."""
    where, checked = "The variables stand there", "The interpreter really has them"
    kept = checkout.play("persist-nccl-env")
    assert (0, "changed", "ok") == (kept.code, kept.status[where], kept.status[checked]), kept.text
    python = checkout.lab.host("eagle3-lab")["server_python"]
    ask = "import os; print(os.environ.get('NCCL_NVLS_ENABLE'))"
    assert "1" == checkout.lab.says("eagle3-lab", f"'{python}' -c \"{ask}\"")
    assert "ok" == checkout.play("persist-nccl-env").status[where]
    other = checkout.play("persist-nccl-env", "-e", '{"nccl_env": {"NCCL_P2P_LEVEL": "NVL"}}')
    assert (0, "changed") == (other.code, other.status[where])
    assert "None" == checkout.lab.says("eagle3-lab", f"'{python}' -c \"{ask}\"")
    gone = checkout.play("persist-nccl-env", "-e", "nccl_state=absent")
    assert (0, "changed", "skipped") == (gone.code, gone.status[where], gone.status[checked])
    refused = checkout.play("persist-nccl-env", "-e", '{"nccl_env": {"LD_LIBRARY_PATH": "/x"}}')
    assert (2, ["Nothing that Python cannot set any more"]) == (refused.code, refused.failed)


def test_a_distributions_sitecustomize_is_left_alone(checkout):
    """It hides the environment's own, so the block goes into a .pth file, and is really there."""
    checkout.up()
    facts = checkout.lab.host("eagle3-lab")
    stdlib = checkout.root / ".lab" / "eagle3-lab" / "distribution"
    stdlib.mkdir()
    (stdlib / "sitecustomize.py").write_text("# the distribution's\n")
    python = Path(facts["server_python"])
    real = python.with_name("python-real")
    python.rename(real)
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{stdlib}" exec "{real}" "$@"\n')
    python.chmod(0o755)
    kept = checkout.play("persist-nccl-env")
    assert (0, "ok") == (kept.code, kept.status["The interpreter really has them"]), kept.text
    assert kept.result["Where the variables belong"]["ansible_facts"]["nccl_file"].endswith("/nccl_env.pth")
    assert "# the distribution's\n" == (stdlib / "sitecustomize.py").read_text()
