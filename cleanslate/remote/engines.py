"""How the processes of each serving engine are recognised: plain data, shared by stopping and by health.

titles    prefixes of a rewritten process title (argv[0]) or of the kernel's 15-character name (comm)
modules   prefixes of the module in `python -m MODULE`
commands  `NAME` or `NAME SUBCOMMAND` where argv[0], or the script that Python runs, is called NAME
scripts   ends of the path of the script that Python runs (`python .../vllm/entrypoints/openai/api_server.py`)
fronts    the subset of modules, commands and scripts that is the server's front process, the one to ask first
default   whether the engine is looked for when nobody names one

Nothing here is ever matched against the other arguments of a process: an editor that has such a file open, a
shell that carries the word, a log that is being followed are none of our business (see `matching.py`).
Sources: sglang python/sglang/cli/killall.py and its setproctitle lines; vllm PR#21445, PR#22205 (titles) and
PR#34816 (comm is cut); ray's own `ray::` titles; the rest by the names of the programs.
"""

ENGINES = {
    "sglang": {
        "titles": ("sglang::", "sgl_diffusion::"),
        "modules": ("sglang.launch_server", "sglang.bench", "sglang.data_parallel", "sglang.srt", "sglang.cli"),
        "commands": ("sglang serve",),
        "scripts": ("sglang/launch_server.py",),
        "fronts": ("sglang.launch_server", "sglang serve", "sglang/launch_server.py"),
        "default": True,
    },
    "vllm": {
        "titles": ("VLLM::",),
        "modules": ("vllm.entrypoints", "vllm.v1", "vllm.engine"),
        "commands": ("vllm serve",),
        "scripts": ("vllm/entrypoints/openai/api_server.py", "vllm/entrypoints/api_server.py"),
        "fronts": ("vllm.entrypoints", "vllm serve", "vllm/entrypoints/openai/api_server.py"),
        "default": True,
    },
    "llama.cpp": {
        "titles": (),
        "modules": ("llama_cpp.server",),
        "commands": ("llama-server", "llama-box", "rpc-server"),
        "scripts": (),
        "fronts": ("llama-server", "llama-box", "llama_cpp.server"),
        "default": True,
    },
    "tgi": {
        "titles": (),
        "modules": ("text_generation_server",),
        "commands": ("text-generation-launcher", "text-generation-router", "text-generation-server"),
        "scripts": (),
        "fronts": ("text-generation-launcher",),
        "default": True,
    },
    "triton": {
        "titles": (),
        "modules": (),
        "commands": ("tritonserver", "triton_python_backend_stub"),
        "scripts": (),
        "fronts": ("tritonserver",),
        "default": True,
    },
    "ollama": {
        "titles": (),
        "modules": (),
        "commands": ("ollama serve", "ollama runner", "ollama_llama_server"),
        "scripts": (),
        "fronts": ("ollama serve",),
        "default": True,
    },
    "transformers": {
        "titles": (),
        "modules": ("transformers.commands.serving", "transformers.cli.serve"),
        "commands": ("transformers serve", "transformers-cli serve"),
        "scripts": (),
        "fronts": ("transformers serve", "transformers-cli serve"),
        "default": True,
    },
    # One `ray` may carry work of many people, so it is never taken for part of a server unless somebody says so.
    "ray": {
        "titles": ("ray::",),
        "modules": ("ray.serve", "ray._private", "ray.dashboard"),
        "commands": ("raylet", "gcs_server"),
        "scripts": (
            "ray/dashboard/dashboard.py",
            "ray/dashboard/agent.py",
            "ray/_private/workers/default_worker.py",
            "ray/_private/log_monitor.py",
            "ray/autoscaler/_private/monitor.py",
        ),
        "fronts": ("raylet",),
        "default": False,
    },
}


def defaults():
    """The names of the engines that are looked for when nobody names one."""
    return [name for name, engine in ENGINES.items() if engine["default"]]
