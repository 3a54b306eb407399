"""What a log tells of a start: phases, shards, the ready line, fatal lines; however the log is written."""

import re

import pytest

from cleanslate.remote.logfile import Log
from cleanslate.remote.profiles import PROFILES
from cleanslate.remote.startup import Startup
from cleanslate.steps._engines import ENGINES, PHASES, STATIC


def started(engine, texts, **options):
    startup = Startup(PROFILES[engine], **options)
    startup.begin(0.0)
    for second, text in enumerate(texts, 1):
        startup.take([text], float(second))
    return startup


SGLANG = [
    "[2026-11-29 10:00:00] server_args=ServerArgs(model_path='/m', tp_size=8)",
    "[2026-11-29 10:00:05 TP0] Init torch distributed begin.",
    "[2026-11-29 10:00:09 TP3] Load weight begin. avail mem=78.50 GB",
    "Loading safetensors checkpoint shards:  25% Completed | 1/4 [00:01<00:03,  1.05s/it]",
    "Loading safetensors checkpoint shards: 100% Completed | 4/4 [00:04<00:00,  1.01s/it]",
    "[2026-11-29 10:00:20 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16",
    "[2026-11-29 10:00:21 TP0] KV Cache is allocated. #tokens: 1000000, K size: 30.00 GB",
    "[2026-11-29 10:00:22 TP0] Capture cuda graph begin. This can take up to several minutes.",
    "Capturing batches (bs=1 avail_mem=8.21 GB): 100%|##########| 23/23 [00:09<00:00,  2.51it/s]",
    "INFO:     Application startup complete.",
    "INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)",
    "[2026-11-29 10:01:00] The server is fired up and ready to roll!",
]
SHORT = "User-specified context_length (262144) is greater than the derived context_length (131072)."
VLLM = [
    "INFO 11-29 10:00:00 [gpu_model_runner.py:1] Starting to load model /m...",
    "Loading safetensors checkpoint shards: 100% Completed | 2/2 [00:01<00:00,  1.05it/s]",
    "INFO [backends.py:1] Dynamo bytecode transform time: 5.01 s",
    "INFO [kv_cache_utils.py:1] GPU KV cache size: 1,000,000 tokens",
    "Capturing CUDA graph shapes: 100%|##########| 67/67 [00:20<00:00,  3.31it/s]",
    "INFO [core.py:1] init engine (profile, create kv cache, warmup model) took 40.12 seconds",
    "INFO:     Application startup complete.",
]


@pytest.mark.parametrize(
    ("engine", "lines", "phases"),
    [
        ("sglang", SGLANG, ["start", "distributed", "load", "after load", "memory", "capture", "warm-up"]),
        ("vllm", VLLM, ["start", "load", "after load", "compile", "memory", "capture", "serve"]),
    ],
)
def test_a_whole_start_is_followed_to_its_ready_line(engine, lines, phases):
    before, after = started(engine, lines[:-1]), started(engine, lines)
    assert (False, True) == (before.is_ready, after.is_ready)
    assert phases == [each["name"] for each in after.timeline(100.0)]
    assert after.verdict is None


def test_what_uvicorn_says_is_no_readiness_in_sglang():
    assert not started("sglang", ["INFO:     Application startup complete."]).is_ready


def test_a_phase_never_goes_back_when_ranks_interleave():
    startup = started("sglang", [SGLANG[5], SGLANG[2]])
    assert "after load" == startup.phase["name"]


def test_phases_have_their_seconds():
    startup = started("sglang", [SGLANG[1], SGLANG[2]])
    expected = [("start", 1.0), ("distributed", 1.0), ("load", 8.0)]
    assert expected == [(each["name"], each["seconds"]) for each in startup.timeline(10.0)]


@pytest.mark.parametrize(
    ("text", "shards", "bar"),
    [
        (SGLANG[3], [1, 4], ("Loading safetensors checkpoint shards", 1, 4)),
        (SGLANG[8], None, ("Capturing batches (bs=1 avail_mem=8.21 GB)", 23, 23)),
        ("Loading pt checkpoint shards:   0% Completed | 0/15 [00:00<?, ?it/s]", [0, 15], None),
        ("no bar here, 100% sure", None, None),
    ],
)
def test_progress_bars_are_read(text, shards, bar):
    startup = started("sglang", [text])
    assert shards == startup.shards
    if bar:
        assert bar == tuple(startup.bar.values())


@pytest.mark.parametrize(
    ("engine", "line", "hint"),
    [
        ("sglang", "Rank 3 scheduler is dead. Please check if there are relevant logs.", "a worker has died"),
        ("sglang", "RuntimeError: Rank 0 scheduler died during initialization (exit code: -9).", "exit code"),
        ("sglang", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "too little free memory"),
        ("sglang", "OSError: [Errno 98] error while attempting to bind on address ('0.0.0.0', 30000)", "port is taken"),
        ("sglang", "ValueError: " + SHORT, "patch_config"),
        ("sglang", "Initialization failed. warmup error: HTTPConnectionPool", "own warm-up failed"),
        ("vllm", "RuntimeError: Engine core initialization failed. See root cause above.", "traceback"),
        ("vllm", "torch.cuda.OutOfMemoryError: CUDA out of memory.", "too little free memory"),
        ("llama.cpp", "main: error: unable to load model", "cannot be read"),
        ("tgi", "ERROR text_generation_launcher: Shard 0 failed to start", "shard failed"),
    ],
)
def test_a_line_after_which_it_never_comes_up_is_known(engine, line, hint):
    assert hint in started(engine, [line, "and more"]).verdict["hint"]


def test_a_context_that_was_allowed_to_be_too_long_is_a_warning_of_the_servers_and_not_fatal():
    assert started("sglang", ["Warning: " + SHORT]).verdict is None


def test_a_playbooks_own_patterns_count_too():
    assert started("http", ["boom 42"], fatal=[r"boom \d+"]).verdict["line"] == "boom 42"
    assert started("http", ["serving now"], ready="serving").is_ready


def test_a_line_of_a_megabyte_is_read_at_once():
    text = "The server is fired up and ready to roll! " + "x" * 1_000_000 + " 50% Completed | 1/2"
    startup = started("sglang", [text])
    assert (True, (1, 2)) == (startup.is_ready, (startup.bar["done"], startup.bar["all"]))


def test_without_a_ready_line_none_is_waited_for():
    assert started("sglang", [], ready="").ready_enough


@pytest.mark.parametrize("engine", sorted(PROFILES))
def test_profiles_are_complete_and_their_patterns_compile(engine):
    profile = PROFILES[engine]
    assert {"flags", "port", "phases", "ready", "health", "static", "probe", "fatal"} <= profile.keys()
    assert profile["phases"][0]["marker"] is None
    for phase in profile["phases"]:
        assert {"name", "marker", "said", "silence"} == phase.keys()
        assert phase["silence"] >= 300, "storage may stall for minutes (GPU fact 93)"
        re.compile(phase["marker"] or "")
    for pattern, hint in profile["fatal"]:
        re.compile(pattern)
        assert hint
    assert profile["health"]["path"] not in profile["static"]


def test_what_steps_know_of_the_engines_is_what_the_profiles_say():
    phases = {phase["name"] for profile in PROFILES.values() for phase in profile["phases"]}
    static = {path for profile in PROFILES.values() for path in profile["static"]} - {"/"}
    assert (set(PROFILES), phases, static) == (set(ENGINES), set(PHASES), set(STATIC))


# --------------------------------------------------------------------------- following the file


def test_a_log_is_cut_at_carriage_returns_and_the_rest_is_given_again(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"one\n\r10% Completed | 1/10")
    log = Log(str(path))
    assert ["one", "10% Completed | 1/10"] == log.read()
    assert [] == log.read()
    with path.open("ab") as file:
        file.write(b" [more]\r20%")
    assert ["10% Completed | 1/10 [more]", "20%"] == log.read()


def test_a_log_that_was_replaced_is_read_from_its_beginning(tmp_path):
    path = tmp_path / "log"
    path.write_text("old one\n")
    log = Log(str(path))
    log.read()
    (tmp_path / "new").write_text("new one, and longer\n")
    (tmp_path / "new").rename(path)
    assert ["new one, and longer"] == log.read()


def test_a_log_that_was_truncated_is_read_from_its_beginning(tmp_path):
    path = tmp_path / "log"
    path.write_text("a long first line\n")
    log = Log(str(path))
    log.read()
    path.write_text("short\n")
    assert ["short"] == log.read()


def test_what_stood_there_before_does_not_count_when_one_starts_at_the_end(tmp_path):
    path = tmp_path / "log"
    path.write_text("The server is fired up and ready to roll!\n")
    log = Log(str(path), at_end=True)
    assert [] == log.read()
    with path.open("a") as file:
        file.write("next\n")
    assert ["next"] == log.read()


def test_a_log_that_is_not_there_yet_says_nothing(tmp_path):
    assert [] == Log(str(tmp_path / "none")).read()


def test_bytes_that_are_no_text_do_not_stop_it(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"\xff\xfe ready\n")
    assert 1 == len(Log(str(path)).read())
