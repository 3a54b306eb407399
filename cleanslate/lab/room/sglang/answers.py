"""What the server says: words that come at a plausible pace, with a plausible accept length."""

import itertools
import time
import uuid
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

_TEXT = (
    "I am the practice server of the cleanslate lab . No model stands behind these words , but the processes , "
    "their memory on eight pretend GPUs and this connection are as real as they can be without hardware ."
)
_WORDS = _TEXT.split()
_TOKENS_PER_SECOND = 90.0  # of one request without speculation
_ACCEPT_LENGTH = 3.1


def accept_length(options: Namespace) -> float | None:
    """Tokens accepted for each verify step; None without speculation.

    An EAGLE-3 draft under `EAGLE` is accepted by nobody, silently: exactly 1.0 (as reported for SGLang).
    """
    algorithm = (options.speculative_algorithm or "").upper()
    if not algorithm:
        return None
    mismatched = algorithm == "EAGLE" and "Eagle3" in (options.draft_architecture or "")
    return 1.0 if mismatched else _ACCEPT_LENGTH


def count_tokens(text: str) -> int:
    """How many tokens a text has, roughly."""
    return max(1, len(text) // 4)


def words(limit: int, options: Namespace) -> Iterator[str]:
    """Give up to `limit` tokens, at the pace that the accept length makes possible."""
    length = accept_length(options) or 1.0
    endless = itertools.cycle(_WORDS) if limit > len(_WORDS) else iter(_WORDS)
    due = 0.0
    for number, word in enumerate(itertools.islice(endless, limit)):
        due += 1 / (_TOKENS_PER_SECOND * length)
        if due > 0.01:  # sleeping for less costs more than it waits
            time.sleep(due)
            due = 0.0
        yield word if number == 0 else f" {word}"


def finish_reason(limit: int) -> str:
    """Why a generation with this limit ends."""
    return "length" if limit != len(_WORDS) else "stop"


def prompt_of(body: dict[str, Any]) -> str:
    """The text that a request brings, whichever of the three forms it has."""
    if "messages" in body:
        return "\n".join(str(message.get("content", "")) for message in body["messages"])
    prompt = body.get("prompt", body.get("text", ""))
    return "\n".join(map(str, prompt)) if isinstance(prompt, list) else str(prompt)


def limit_of(body: dict[str, Any]) -> int:
    """How many tokens a request wants at most."""
    sampling = body.get("sampling_params") or {}
    wanted = body.get("max_completion_tokens") or body.get("max_tokens") or sampling.get("max_new_tokens")
    return int(wanted or len(_WORDS))


def native(body: dict[str, Any], text: str, tokens: int, seconds: float, options: Namespace) -> dict[str, Any]:
    """The answer of /generate."""
    length = accept_length(options)
    meta: dict[str, Any] = {
        "id": uuid.uuid4().hex,
        "finish_reason": {"type": finish_reason(limit_of(body)), "length": tokens},
        "prompt_tokens": count_tokens(prompt_of(body)),
        "completion_tokens": tokens,
        "cached_tokens": 1,
        "e2e_latency": round(seconds, 4),
    }
    if length:
        meta["spec_verify_ct"] = max(1, round(tokens / length))
    return {"text": text, "meta_info": meta}


class OpenAi:
    """The shapes of /v1/completions and /v1/chat/completions for one request."""

    def __init__(self, body: dict[str, Any], *, chat: bool) -> None:
        self.chat = chat
        self.kind = "chat.completion" if chat else "text_completion"
        self.prompt_tokens = count_tokens(prompt_of(body))
        self.finish = finish_reason(limit_of(body))
        self.head: dict[str, Any] = {
            "id": uuid.uuid4().hex,
            "created": int(time.time()),
            "model": body.get("model") or "default",
        }

    def _usage(self, tokens: int) -> dict[str, int]:
        total = self.prompt_tokens + tokens
        return {"prompt_tokens": self.prompt_tokens, "completion_tokens": tokens, "total_tokens": total}

    def whole(self, text: str, tokens: int) -> dict[str, Any]:
        """The answer to a request without streaming."""
        choice: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": self.finish}
        choice.update({"message": {"role": "assistant", "content": text}} if self.chat else {"text": text})
        return {**self.head, "object": self.kind, "choices": [choice], "usage": self._usage(tokens)}

    def piece(self, text: str, *, first: bool) -> dict[str, Any]:
        """One event of a stream."""
        choice: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": None}
        delta = {"role": "assistant", "content": text} if first else {"content": text}
        choice.update({"delta": delta} if self.chat else {"text": text})
        return {**self.head, "object": self._stream_kind, "choices": [choice]}

    def last(self, tokens: int) -> list[dict[str, Any]]:
        """The events that end a stream: why it ended, and what it cost."""
        choice: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": self.finish}
        choice.update({"delta": {}} if self.chat else {"text": ""})
        head = {**self.head, "object": self._stream_kind}
        return [{**head, "choices": [choice]}, {**head, "choices": [], "usage": self._usage(tokens)}]

    @property
    def _stream_kind(self) -> str:
        return "chat.completion.chunk" if self.chat else "text_completion"
