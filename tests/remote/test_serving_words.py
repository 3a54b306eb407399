"""Reading command lines, exits, and generations of the engines."""

import json

import pytest

from cleanslate.remote import commandline, exits, server_state
from cleanslate.remote.probing import generated


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        ("python -m sglang.launch_server --port 1", "sglang"),
        ("/venv/bin/python3.11 -u -m vllm.entrypoints.openai.api_server", "vllm"),
        ("vllm serve /models/x", "vllm"),
        ("/opt/llama/llama-server -m x.gguf", "llama.cpp"),
        ("text-generation-launcher --model-id x", "tgi"),
        ("tritonserver --model-repository=/m", "triton"),
        ("ollama serve", "ollama"),
        ("vim sglang.launch_server", None),
        ("python app.py", None),
    ],
)
def test_the_engine_is_told_by_the_command(text, engine):
    assert engine == commandline.engine_of(text.split())


@pytest.mark.parametrize(
    ("engine", "text", "expected"),
    [
        (
            "sglang",
            "python -m sglang.launch_server --model-path /m --tp 8 --port=30001",
            {"model": "/m", "tp": "8", "port": "30001"},
        ),
        ("sglang", "x --tp 4 --tp 8", {"tp": "8"}),
        ("vllm", "vllm serve /m --port 9", {"model": "/m", "port": "9"}),
        ("vllm", "vllm serve --port 9", {"model": None}),
        ("vllm", 'x --speculative-config {"model":"/d"}', {"draft": "/d"}),
        ("vllm", "x --speculative-config nonsense", {"draft": None}),
        ("sglang", "x --port", {"port": None}),
    ],
)
def test_settings_are_read_by_the_engines_options(engine, text, expected):
    said = commandline.settings(engine, text.split())
    assert expected == {name: said[name] for name in expected}


@pytest.mark.parametrize(
    ("text", "value"), [("131072", 131072), ("128k", 131072), ("-1", -1), ("auto", None), (None, None)]
)
def test_numbers_are_read_as_engines_take_them(text, value):
    assert value == commandline.number(text)


@pytest.mark.parametrize(
    ("said", "ranks"),
    [
        ({"tp": "8"}, 8),
        ({"tp": "4", "pp": "2"}, 8),
        ({"tp": "16", "nodes": "2"}, 8),
        ({}, None),
        ({"tp": "auto"}, None),
    ],
)
def test_ranks_follow_from_tensor_and_pipeline_parallelism(said, ranks):
    assert ranks == commandline.ranks({"tp": None, "pp": None, **said})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"text": " 5 6", "meta_info": {"completion_tokens": 4}}, " 5 6"),
        ([{"text": "x"}], "x"),
        ({"choices": [{"text": "7"}]}, "7"),
        ({"choices": [{"message": {"role": "assistant", "content": "Yes"}}]}, "Yes"),
        ({"choices": [{"message": {"content": None, "reasoning_content": "hm"}}]}, "hm"),
        ({"generated_text": "tgi"}, "tgi"),
        ({"content": "llama"}, "llama"),
        ({"choices": [{"text": ""}], "usage": {"completion_tokens": 1}}, ""),
        ({"choices": [{"text": ""}], "usage": {"completion_tokens": 0}}, None),
        ({"text": ""}, None),
        ({"choices": []}, None),
        ({"error": "busy"}, None),
        ([], None),
    ],
)
def test_a_generation_is_told_from_an_answer_without_one(value, text):
    assert text == generated(json.dumps(value).encode())


def test_what_is_no_json_is_no_generation():
    assert generated(b"<html>OK</html>") is None


STATE = {"name": "eagle3", "launch_id": "one", "pid": 1}


@pytest.mark.parametrize(
    ("end", "text", "hint"),
    [
        ({"code": 1}, "ended with exit code 1", None),
        ({"code": 137}, "ended with exit code 137 (128 + 9, SIGKILL)", "kill -9"),
        ({"code": 135}, "ended with exit code 135 (128 + 7, SIGBUS)", "/dev/shm has"),
        ({"signal": 9, "oom": 1}, "was ended by signal 9 (SIGKILL)", "the kernel's OOM killer"),
        ({"signal": 9, "oom": 0}, "was ended by signal 9 (SIGKILL)", "somebody's kill -9"),
        ({"signal": 7}, "was ended by signal 7 (SIGBUS)", "/dev/shm is full or too small"),
        ({"signal": 11}, "was ended by signal 11 (SIGSEGV)", "native code"),
        ({"signal": 64}, "was ended by signal 64 (SIGRTMAX)", None),
        ({"launch_id": "two", "code": 0}, "is gone; nobody saw how it ended", "keeper"),
        (None, "is gone; nobody saw how it ended", "keeper"),
    ],
)
def test_an_end_is_told_in_words_with_its_usual_cause(tmp_path, monkeypatch, end, text, hint):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    if end is not None:
        place = server_state.path("eagle3").with_suffix(".end")
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps({"launch_id": "one", "code": None, "signal": None, **end}))
    told = exits.explain(STATE)
    assert text == told["text"]
    assert (hint or "") in (told["hint"] or "")


def test_an_end_that_was_asked_for_is_no_crash(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    told = exits.explain({**STATE, "stopped_at": 1.0})
    assert (True, "was stopped", None) == (told["asked"], told["text"], told["hint"])
