"""launch_server and draft models: their reach, where they lie, and what would crash or accept nothing later."""

import json

from cleanslate.model import Status
from tests.steps.harness import run_step
from tests.steps.test_launch_server import launch, warnings_of


def draft(folder, positions, architecture="LlamaForCausalLMEagle3"):
    folder.mkdir(exist_ok=True)
    config = {"architectures": [architecture], "max_position_embeddings": positions}
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


def test_a_draft_that_is_too_short_is_refused_until_it_is_patched(serving):
    place = draft(serving.folder / "draft", 131072)
    flags = ["--context-length", 262144, "--speculative-draft-model-path", place]
    refused = serving.launch(*flags)
    assert ["context"] == [each["code"] for each in refused.data["findings"]]
    assert "reaches 131072 positions" in refused.data["msg"]
    run_step("patch_config", {"path": f"{place}/config.json", "set": {"max_position_embeddings": 262144}})
    assert Status.CHANGED == serving.launch(*flags).status


def test_the_context_of_the_target_model_counts_where_no_option_says_one(serving):
    target, short = draft(serving.folder / "target", 262144, "Llama"), draft(serving.folder / "draft", 4096)
    argv = ["/bin/sleep", "60", "--model-path", target, "--speculative-draft-model-path", short]
    result = launch(serving, argv=argv, engine="sglang", port=serving.port)
    assert "the server is to serve 262144" in result.data["msg"]


def test_a_model_in_the_cache_is_found_by_its_name(serving, monkeypatch):
    repository = serving.folder / "hub" / "models--lab--draft"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("abc")
    (repository / "snapshots").mkdir()
    draft(repository / "snapshots" / "abc", 2048)
    argv = ["/bin/sleep", "60", "--context-length", "4096", "--speculative-draft-model-path", "lab/draft"]
    env = {"HF_HUB_CACHE": str(serving.folder / "hub")}
    result = launch(serving, argv=argv, engine="sglang", port=serving.port, env=env)
    assert f"reaches 2048 positions ({repository}/snapshots/abc/config.json)" in result.data["msg"]


def test_the_switch_that_only_skips_the_check_is_a_warning(serving):
    place = draft(serving.folder / "draft", 4096)
    argv = serving.argv("--context-length", 8192, "--speculative-draft-model-path", place)
    env = {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"}
    warned = warnings_of(serving, argv=argv, engine="sglang", env=env)
    assert ["it will start, and crash at the first long request" in text for text in warned] == [True]


def test_an_eagle3_draft_under_eagle_is_warned_about(serving):
    place = draft(serving.folder / "draft", 4096)
    argv = serving.argv("--speculative-algorithm", "EAGLE", "--speculative-draft-model-path", place)
    assert [True] == ["it would accept nothing" in text for text in warnings_of(serving, argv=argv, engine="sglang")]


def test_a_draft_whose_config_is_a_dangling_link_is_refused(serving):
    folder = serving.folder / "draft"
    folder.mkdir()
    (folder / "config.json").symlink_to("gone")
    refused = serving.launch("--context-length", 4096, "--speculative-draft-model-path", folder)
    assert ["draft"] == [each["code"] for each in refused.data["findings"]]
