"""Reads prompts for a measurement, and compares two measurements."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cleanslate.errors import StepFailed

PROMPTS = (
    "Explain to a new colleague why a GPU's memory can stay in use after the process that took it was killed.",
    "Write a Python function that merges two sorted lists, with a docstring and three examples.",
    "List the steps to restart a web service without losing a request, and what can go wrong in each.",
    "Summarise how speculative decoding works, and when it makes a server slower.",
    "Translate into German: The server was restarted at noon, and nobody noticed.",
    "A train leaves at 9:40 and arrives at 13:05 after a stop of 12 minutes. How long did it move? Think step by step.",
    "Write a short story about a lighthouse keeper who repairs a radio.",
    "Compare JSON, YAML and TOML as formats for configuration, in a table.",
)
"""What is asked where a step gives no prompts: prose, code, lists, arithmetic: drafts do not like all the same."""

_MOST = 8 << 20
COMPARED = {
    "tokens_per_second": ("tok/s", True),
    "first_token_p50": ("time to first token", False),
    "between_p50": ("time between tokens", False),
}
"""What is compared: in words, and whether more is better."""


def read_prompts(path: Path) -> list[Any]:
    """The prompts of a file: `.json` a list, `.jsonl` a value or object a line, otherwise a text a line.

    An object has `prompt` or `messages` (or `text`). Raises StepFailed, naming the line.
    """
    if path.stat().st_size > _MOST:
        raise StepFailed(f"{path} has more than {_MOST >> 20} MiB, which are no prompts for one measurement")
    text = path.read_text("utf-8")
    try:
        if path.suffix == ".json":
            values = json.loads(text)
            if not isinstance(values, list):
                raise StepFailed(f"{path} is no list of prompts", fix='write ["...", "..."], or one prompt a line')
        elif path.suffix == ".jsonl":
            values = [json.loads(line) for line in text.splitlines() if line.strip()]
        else:
            values = [line for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise StepFailed(f"{path} is not JSON: {error}") from None
    prompts = [_prompt(value, place, path) for place, value in enumerate(values, 1)]
    if not prompts:
        raise StepFailed(f"{path} holds no prompt")
    return prompts


def _prompt(value: Any, place: int, path: Path) -> Any:
    if isinstance(value, Mapping):
        value = value.get("messages") or value.get("prompt") or value.get("text")
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, list) and value and all(isinstance(each, dict) and "role" in each for each in value):
        return value
    raise StepFailed(f"prompt {place} of {path} is neither text nor messages", fix="{prompt: ...} or {messages: [...]}")


def digest(value: Any) -> str:
    """A short digest of JSON data, by which two loads are known to be the same."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]


def compare(now: Mapping[str, Any], before: Mapping[str, Any], threshold: float) -> list[dict[str, Any]]:
    """[{concurrency, metric, before, now, change, worse, overlap}] of the levels that both have, medians compared.

    change is in percent of before, positive where it is better; worse: by more than `threshold` percent. overlap: the
    spreads of both meet, so that the difference may be chance.
    """
    found = []
    for concurrency, level in (now.get("levels") or {}).items():
        earlier = (before.get("levels") or {}).get(concurrency) or {}
        for name, (_, more_is_better) in COMPARED.items():
            new, old = level.get(name), earlier.get(name)
            if not new or not old or not old["median"]:
                continue
            change = 100.0 * (new["median"] - old["median"]) / old["median"] * (1 if more_is_better else -1)
            found.append(
                {
                    "concurrency": int(concurrency),
                    "metric": name,
                    "before": old["median"],
                    "now": new["median"],
                    "change": round(change, 2),
                    "worse": change < -threshold,
                    "overlap": new["low"] <= old["high"] and old["low"] <= new["high"],
                }
            )
    return found


def sentence(each: Mapping[str, Any]) -> str:
    """One comparison in words: `tok/s at 8: 812 -> 640 (21 % worse)`."""
    words, _ = COMPARED[each["metric"]]
    shown = [_shown(each["metric"], each[key]) for key in ("before", "now")]
    how = "worse" if each["change"] < 0 else "better"
    chance = ", but the rounds' spreads meet" if each["overlap"] else ""
    return f"{words} at {each['concurrency']}: {shown[0]} -> {shown[1]} ({abs(each['change']):.0f} % {how}{chance})"


def _shown(metric: str, value: float) -> str:
    return f"{value:.0f}" if metric == "tokens_per_second" else f"{1000 * value:.1f} ms"


def told(metrics: Mapping[str, Any]) -> Sequence[str]:
    """One line for each level, for people."""
    lines = []
    for concurrency, level in metrics["levels"].items():
        speed, first, between = (level.get(name) for name in COMPARED)
        if speed is None:
            continue
        words = [f"{speed['median']:.0f} tok/s ({speed['low']:.0f} to {speed['high']:.0f})"]
        if first:
            words.append(f"first token {1000 * first['median']:.0f} ms")
        if between:
            words.append(f"then one in {1000 * between['median']:.1f} ms")
        if level.get("accept_length"):
            words.append(f"accept length {level['accept_length']['median']:.2f}")
        lines.append(f"{concurrency} at once: {', '.join(words)}")
    return lines
