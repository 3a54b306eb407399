"""The server's command line: those of SGLang's flags that launch commands use."""

import argparse

_TEXT = {
    "--model-path": None,
    "--host": "127.0.0.1",
    "--served-model-name": None,
    "--speculative-algorithm": None,
    "--speculative-draft-model-path": None,
    "--log-level": "info",
    "--dtype": "auto",
    "--kv-cache-dtype": "auto",
    "--quantization": None,
    "--attention-backend": None,
    "--reasoning-parser": None,
    "--tool-call-parser": None,
    "--api-key": None,
}
_NUMBERS = {
    "--port": 30000,
    "--context-length": None,
    "--speculative-num-steps": 5,
    "--speculative-eagle-topk": 4,
    "--speculative-num-draft-tokens": 8,
    "--max-running-requests": 48,
    "--chunked-prefill-size": 8192,
    "--cuda-graph-max-bs": 8,
    "--tokenizer-worker-num": 1,
    "--watchdog-timeout": 300,
}
_FLAGS = (
    "--trust-remote-code",
    "--disable-cuda-graph",
    "--disable-radix-cache",
    "--enable-metrics",
    "--skip-server-warmup",
)


def parse_options(words: list[str]) -> argparse.Namespace:
    """Read the command line; a flag that is not known ends the program with code 2, as the real one does."""
    parser = argparse.ArgumentParser("launch_server.py", allow_abbrev=False)
    for flag, default in _TEXT.items():
        parser.add_argument(flag, default=default, required=flag == "--model-path")
    for flag, number in _NUMBERS.items():
        parser.add_argument(flag, type=int, default=number)
    for flag in _FLAGS:
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--tp", "--tp-size", "--tensor-parallel-size", type=int, default=1, dest="tp_size")
    parser.add_argument("--mem-fraction-static", type=float, default=None)
    options = parser.parse_args(words)
    options.served_model_name = options.served_model_name or options.model_path
    return options
