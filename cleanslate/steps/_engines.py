"""What the steps may know of the engines before a host is touched; a test holds it to cleanslate/remote/profiles.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from cleanslate.errors import suggest
from cleanslate.steps.contract import AfterValidator, Text

ENGINES = ("sglang", "vllm", "llama.cpp", "tgi", "triton", "ollama", "transformers", "http")
PHASES = (
    *("start", "distributed", "load", "after load", "memory", "capture", "warm-up"),
    *("compile", "serve", "download"),
)
STATIC = (
    *("/v1/models", "/get_model_info", "/model_info", "/get_server_info", "/ping", "/version", "/info"),
    *("/props", "/v2", "/v2/health/live", "/api/version"),
)
"""Paths that answer 200 during warm-up and with a dead engine."""
LOAD = ("sglang", "vllm", "llama.cpp", "tgi")
"""Engines that tell how many requests they have."""


def _known(engine: str) -> str:
    if engine not in ENGINES:
        raise ValueError(f"{suggest(engine, ENGINES) or 'known are'} {', '.join(ENGINES)}")
    return engine


Engine = Annotated[Text, AfterValidator(_known)]
"""The name of an engine; another is refused with the nearest one."""


def misnamed(literal: Mapping[str, Any]) -> list[tuple[str, str, str | None]]:
    """What is wrong with a literal `engine`, as a step type's `check` tells it."""
    engine = literal.get("engine")
    if not isinstance(engine, str) or "{{" in engine or engine in ENGINES:
        return []
    return [("engine", f'no engine is called "{engine}"', suggest(engine, ENGINES) or ", ".join(ENGINES))]
