"""What the steps may know of the engines before a host is touched; a test holds it to cleanslate/remote/profiles.py."""

from __future__ import annotations

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
