"""The troubles that can be asked for, and the draft's config, which one of them spoils."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from cleanslate.lab.layout import DRAFT_COMMIT, DRAFT_COMMIT_BEFORE, Layout

FAULTS = {
    "ignores-term": "the server and its workers ignore TERM",
    "silent-after-load": "all shards are loaded, then nothing happens, and no CPU is used",
    "busy-silent": "after loading, one worker is silent and busy for 3 s, then all is well",
    "dies-in-start": "one worker dies while it loads, and the server with it",
    "dies-once": "the next server dies while it loads; those after it do not",
    "orphan-outside": "a process that the container cannot see holds GPU 7",
    "slow-release": "the driver gives memory back 4 s after its holder is gone",
    "short-draft-config": "the draft has 2048 positions only, which no playbook expects and the server refuses",
    "port-kept": "a tokenizer worker keeps the port when the main process is killed",
    "ready-line-of-old-run": "the log holds the ready line of an earlier run, and the server is silent after loading",
}
POSITIONS = 131072
SHORT_POSITIONS = 2048


def draft_config(positions: int) -> bytes:
    """The draft's config.json."""
    config = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "bos_token_id": 151643,
        "draft_vocab_size": 32000,
        "eos_token_id": 151645,
        "head_dim": 128,
        "hidden_size": 4096,
        "max_position_embeddings": positions,
        "model_type": "llama",
        "num_attention_heads": 64,
        "num_hidden_layers": 1,
        "num_key_value_heads": 4,
        "rms_norm_eps": 1e-06,
        "rope_theta": 5000000.0,
        "torch_dtype": "bfloat16",
        "vocab_size": 151936,
    }
    return (json.dumps(config, indent=2) + "\n").encode()


def _link(layout: Layout, commit: str, positions: int) -> None:
    """Let a revision's config.json be a link to the blob with this content, as the cache keeps it."""
    data = draft_config(positions)
    blob = layout.draft / "blobs" / hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    if not blob.exists():
        blob.parent.mkdir(parents=True, exist_ok=True)
        blob.write_bytes(data)
    link = layout.draft / "snapshots" / commit / "config.json"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(Path("..") / ".." / "blobs" / blob.name)


def build_draft(layout: Layout) -> None:
    """Make the draft model: two revisions whose config.json is the same blob."""
    for commit in (DRAFT_COMMIT_BEFORE, DRAFT_COMMIT):
        _link(layout, commit, POSITIONS)
    refs = layout.draft / "refs"
    refs.mkdir(parents=True, exist_ok=True)
    (refs / "main").write_text(DRAFT_COMMIT, encoding="ascii")


def asked(layout: Layout) -> list[str]:
    """The faults that are asked for now."""
    try:
        return layout.faults.read_text(encoding="ascii").split()
    except FileNotFoundError:
        return []


def ask_for(layout: Layout, names: list[str]) -> list[str]:
    """Add faults to those asked for, or take all back with `none`; gives what holds now.

    Only files change here; an orphan is made by the running lab.
    """
    before = asked(layout)
    if "none" in names:
        layout.faults.unlink(missing_ok=True)
        if "short-draft-config" in before and _positions(layout) == SHORT_POSITIONS:
            _link(layout, DRAFT_COMMIT, POSITIONS)
        return []
    now = list(dict.fromkeys([*before, *names]))
    if "short-draft-config" in names:
        _link(layout, DRAFT_COMMIT, SHORT_POSITIONS)
    if "ready-line-of-old-run" in names:
        layout.logs.mkdir(exist_ok=True)
        with layout.server_log.open("a", encoding="utf-8") as log:
            log.write("[2026-01-01 00:00:00] The server is fired up and ready to roll!\n")
    layout.faults.write_text("\n".join(now) + "\n", encoding="ascii")
    return now


def _positions(layout: Layout) -> object:
    try:
        text = (layout.draft_snapshot / "config.json").read_text(encoding="utf-8")
        return json.loads(text).get("max_position_embeddings")
    except (OSError, ValueError, AttributeError):
        return None
