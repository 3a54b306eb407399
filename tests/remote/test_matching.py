"""A process is an engine's by its title, program or module; the same words in other arguments mean nothing."""

import pytest

from cleanslate.remote import matching
from cleanslate.remote.engines import ENGINES, defaults

ALL = matching.patterns(list(ENGINES))


@pytest.mark.parametrize(
    ("command_line", "engine"),
    [
        (["sglang::scheduler_TP0"], "sglang"),
        (["sglang::detokenizer"], "sglang"),
        (["python3", "-m", "sglang.launch_server", "--port", "30000"], "sglang"),
        (["/opt/venv/bin/python3.12", "-u", "-X", "dev", "-m", "sglang.launch_server"], "sglang"),
        (["python", "-um", "sglang.launch_server"], "sglang"),
        (["python", "-msglang.launch_server"], "sglang"),
        (["python", "-Wignore", "--check-hash-based-pycs", "default", "-m", "sglang.launch_server"], "sglang"),
        (["/usr/bin/python3", "/opt/venv/bin/sglang", "serve", "--model-path", "x"], "sglang"),
        (["python", "/src/python/sglang/launch_server.py"], "sglang"),
        (["VLLM::EngineCore"], "vllm"),
        (["/usr/bin/python3", "/usr/local/bin/vllm", "serve", "model"], "vllm"),
        (["python", "-m", "vllm.entrypoints.openai.api_server"], "vllm"),
        (["/opt/llama.cpp/build/bin/llama-server", "-m", "x.gguf"], "llama.cpp"),
        (["text-generation-launcher", "--model-id", "x"], "tgi"),
        (["tritonserver", "--model-repository=/models"], "triton"),
        (["/usr/local/bin/ollama", "serve"], "ollama"),
        (["/usr/local/bin/ollama", "runner", "--model", "x"], "ollama"),
        (["python", "/usr/bin/transformers", "serve"], "transformers"),
        (["ray::IDLE"], "ray"),
        (["/site-packages/ray/core/src/ray/raylet/raylet"], "ray"),
    ],
)
def test_processes_of_an_engine_are_recognised(command_line, engine):
    assert engine == matching.match("python3", command_line, ALL)[2]


@pytest.mark.parametrize(
    "command_line",
    [
        ["vim", "sglang/launch_server.py"],
        ["vim", "-m", "sglang.launch_server"],
        ["bash", "-c", "python -m sglang.launch_server --port 30000"],
        ["ssh", "gpu1", "python", "-m", "sglang.launch_server"],
        ["docker", "exec", "-it", "x", "vllm", "serve"],
        ["tail", "-f", "sglang::scheduler_TP0.log"],
        ["grep", "-r", "sglang::", "."],
        ["python", "edit.py", "-m", "sglang.launch_server"],
        ["python", "-c", "import sglang.launch_server", "-m", "sglang.launch_server"],
        ["python", "-m", "pytest", "sglang.launch_server"],
        ["python", "/usr/bin/vllm", "bench", "serve"],
        ["ollama", "run", "llama3"],
        ["ollama", "pull", "serve"],
        ["python", "/home/me/launch_server.py"],
        ["sglang", "--help", "serve"],
        ["python", "-m"],
        ["python", "-X"],
        ["python", "-"],
        [""],
        [],
    ],
)
def test_bystanders_are_not(command_line):
    assert None is matching.match("python3", command_line, ALL)


@pytest.mark.parametrize("comm", ["sglang::schedul", "VLLM::EngineCor", "VLLM::Worker_TP"])
def test_the_kernels_fifteen_letters_are_enough(comm):
    assert matching.match(comm, ["python", "spawn_main"], ALL) is not None


def test_a_title_longer_than_the_kernels_name_is_matched_cut():
    wanted = matching.patterns([], {"titles": ["my-very-long-engine::"]})
    assert ("titles", "my-very-long-engine::", "named") == matching.match("my-very-long-en", ["python"], wanted)


def test_every_engine_says_who_is_in_front_and_ray_is_off():
    assert [] == [name for name, engine in ENGINES.items() if not engine["fronts"]]
    fronts = {text for engine in ENGINES.values() for text in engine["fronts"]}
    known = {text for engine in ENGINES.values() for kind in matching.KINDS for text in engine[kind]}
    assert (set(), False) == (fronts - known, "ray" in defaults())
