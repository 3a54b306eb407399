"""What each serving engine says and answers while it starts: plain data for launching and for health.

flags      options of its command line that say what we must know (port, model, draft, context, tp, rank ...)
port       its port when the command line names none
phases     in order: {name, marker, said, silence}. A phase begins when its marker is seen in the log and never goes
           back. `said` completes "silent ...". `silence` is how many seconds nothing at all may happen in it: no line,
           no CPU, no reading, no GPU memory.
ready      the line that the engine writes when it serves. It alone proves nothing; neither do HTTP or a probe alone.
health     the path that answers 200 when it serves, and how long one answer may take
static     paths that answer 200 long before and long after: never taken for readiness
probe      how to let it generate, tried in order until one is not 404 or 405
workers    titles of the processes of which there must be one for each rank
fatal      [pattern, hint]: lines after which it never becomes ready
allows     environment variables that skip a check of the context length
load       where it tells how many requests it has, tried in order: {path, form, names, off}. The sum of the names is
           what is in flight. `off` is what to do where the path is not there.
accepts    where it tells how many tokens a verify step of speculation gives: {path, form, names, combine}. One name is
           the value itself; of two, both counted since the start, it is 1 + first / second.

Patterns are Python regular expressions, searched in text that was split at CR and LF alike. Sources: sglang
http_server.py, engine.py and the logs in PR#5893, PR#10741; vllm's start-up logs and PR#51317; GPU facts 81 to 99.
"""

_SHARDS_DONE = r"100% Completed"
_MEMORY = [
    [
        r"torch\.(?:cuda\.)?OutOfMemoryError|CUDA out of memory|Not enough memory\. Please try",
        "a GPU had too little free memory: is something else on it (assert_gpus), is the memory fraction too high?",
    ],
]
_COMMON = [
    [
        r"\[Errno 98\]|address already in use",
        "a port is taken: a leftover process keeps it (stop_server finds it by its port)",
    ],
    [
        r"No space left on device",
        "a file system is full: look at /dev/shm first, then at the log and cache folders",
    ],
    [
        r"CUDA error: no kernel image is available|CUDA driver version is insufficient",
        "the installed build does not fit this GPU or driver",
    ],
    [
        r"system not yet initialized|CUDA error 802",
        "the fabric manager of the host does not run; without it CUDA does not start on NVSwitch machines",
    ],
]
_OPENAI = [
    {"path": "/v1/completions", "body": {"prompt": "1 2 3 4", "max_tokens": 4, "temperature": 0}, "model": True},
    {
        "path": "/v1/chat/completions",
        "body": {"messages": [{"role": "user", "content": "Say yes."}], "max_tokens": 4, "temperature": 0},
        "model": True,
    },
]

PROFILES = {
    "sglang": {
        "flags": {
            "port": ["--port"],
            "host": ["--host"],
            "model": ["--model-path", "--model"],
            "draft": ["--speculative-draft-model-path", "--speculative-draft-model"],
            "algorithm": ["--speculative-algorithm", "--speculative-algo"],
            "context": ["--context-length"],
            "tp": ["--tensor-parallel-size", "--tp-size", "--tp"],
            "pp": ["--pipeline-parallel-size", "--pp-size", "--pp"],
            "nodes": ["--nnodes"],
            "rank": ["--node-rank"],
            "key": ["--api-key"],
            "watchdog": ["--watchdog-timeout"],
        },
        "port": 30000,
        "phases": [
            {"name": "start", "marker": None, "said": "before it loads anything", "silence": 300},
            {
                "name": "distributed",
                "marker": r"Init torch distributed begin",
                "said": "while the ranks find each other",
                "silence": 300,
            },
            {
                "name": "load",
                "marker": r"Load weight begin|Loading \w+ checkpoint shards",
                "said": "while loading",
                "silence": 600,
            },
            {"name": "after load", "marker": _SHARDS_DONE + r"|Load weight end", "said": "after load", "silence": 300},
            {
                "name": "memory",
                "marker": r"KV Cache is allocated|Memory pool end",
                "said": "after the KV cache was allocated",
                "silence": 300,
            },
            {
                "name": "capture",
                "marker": r"Capture (?:draft )?(?:cuda )?graph begin|Capturing batches",
                "said": "while CUDA graphs are captured",
                "silence": 900,
            },
            {
                "name": "warm-up",
                "marker": r"Application startup complete|Uvicorn running on",
                "said": "in its own warm-up",
                "silence": 750,
            },
        ],
        "ready": r"The server is fired up and ready to roll",
        "health": {"path": "/health", "seconds": 30},
        "static": ["/v1/models", "/get_model_info", "/model_info", "/get_server_info", "/ping", "/version"],
        "probe": [
            {
                "path": "/generate",
                "body": {"text": "1 2 3 4", "sampling_params": {"max_new_tokens": 4, "temperature": 0}},
            },
            *_OPENAI,
        ],
        "workers": r"sglang::scheduler",
        "fatal": [
            [
                r"Rank \d+ scheduler is dead",
                "a worker has died; the cause stands above this line, or in its own traceback",
            ],
            [r"scheduler died during initialization", "a worker has died; its exit code stands in this line"],
            [r"Received sigquit from a child process", "a worker has failed; its traceback stands above this line"],
            [r"Initialization failed", "the server's own warm-up failed and it gives up"],
            [
                r"ValueError: .*context_length \(\d+\) is greater than the derived context_length",
                "a model's config.json allows fewer positions than the launch wants (patch_config)",
            ],
            *_MEMORY,
            *_COMMON,
        ],
        "allows": ["SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"],
        # num_reqs counts the waiting ones too; the gauges of /metrics are set once in many steps, so they come last.
        "load": [
            {"path": "/v1/loads", "form": "json", "names": ["num_running_reqs", "num_waiting_reqs"]},
            {"path": "/get_load", "form": "json", "names": ["num_reqs"]},
            {
                "path": "/metrics",
                "form": "prometheus",
                "names": ["sglang:num_running_reqs", "sglang:num_queue_reqs"],
                "off": "launch it with --enable-metrics",
            },
        ],
        "accepts": {
            "path": "/get_server_info",
            "form": "json",
            "names": ["avg_spec_accept_length"],
            "combine": "mean",
        },
        "shallow": ["SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION"],
    },
    "vllm": {
        "flags": {
            "port": ["--port"],
            "host": ["--host"],
            "model": ["--model"],
            "draft": ["--speculative-model"],
            "speculative": ["--speculative-config", "--speculative_config"],
            "context": ["--max-model-len"],
            "tp": ["--tensor-parallel-size", "-tp"],
            "pp": ["--pipeline-parallel-size", "-pp"],
            "key": ["--api-key"],
        },
        "port": 8000,
        "phases": [
            {"name": "start", "marker": None, "said": "before it loads anything", "silence": 300},
            {
                "name": "load",
                "marker": r"Starting to load model|Loading \w+ checkpoint shards",
                "said": "while loading",
                "silence": 600,
            },
            {
                "name": "after load",
                "marker": _SHARDS_DONE + r"|Loading weights took|Model loading took",
                "said": "after load",
                "silence": 300,
            },
            {
                "name": "compile",
                "marker": r"Dynamo bytecode transform|torch\.compile",
                "said": "while compiling",
                "silence": 900,
            },
            {"name": "memory", "marker": r"GPU KV cache size|# GPU blocks", "said": "after profiling", "silence": 300},
            {
                "name": "capture",
                "marker": r"Capturing (?:CUDA graph|cudagraphs)",
                "said": "while CUDA graphs are captured",
                "silence": 900,
            },
            {
                "name": "serve",
                "marker": r"init engine .* took|Starting vLLM API server",
                "said": "before it serves",
                "silence": 300,
            },
        ],
        "ready": r"Application startup complete",
        "health": {"path": "/health", "seconds": 30},
        "static": ["/v1/models", "/ping", "/version"],
        "probe": _OPENAI,
        "workers": r"VLLM::(?:Worker|EngineCore)",
        "fatal": [
            [
                r"Engine core initialization failed|EngineCore failed to start|Failed core proc",
                "the engine process failed; its traceback stands above this line",
            ],
            [r"EngineCore encountered a fatal error|EngineDeadError", "the engine died while it was serving"],
            [
                r"ValueError: .*(?:max_model_len|KV cache|To serve at least one request)",
                "the model with this context length does not fit into the memory that is left for the KV cache",
            ],
            *_MEMORY,
            *_COMMON,
        ],
        "allows": ["VLLM_ALLOW_LONG_MAX_MODEL_LEN"],
        "load": [
            {
                "path": "/metrics",
                "form": "prometheus",
                "names": ["vllm:num_requests_running", "vllm:num_requests_waiting"],
                "off": "its statistics are switched off (--disable-log-stats)",
            },
        ],
        "accepts": {
            "path": "/metrics",
            "form": "prometheus",
            "names": ["vllm:spec_decode_num_accepted_tokens_total", "vllm:spec_decode_num_drafts_total"],
        },
    },
    "llama.cpp": {
        "flags": {
            "port": ["--port"],
            "host": ["--host"],
            "model": ["-m", "--model"],
            "context": ["-c", "--ctx-size"],
            "key": ["--api-key"],
        },
        "port": 8080,
        "phases": [
            {"name": "start", "marker": None, "said": "before it loads anything", "silence": 300},
            {"name": "load", "marker": r"load_tensors|loading model", "said": "while loading", "silence": 600},
            {"name": "warm-up", "marker": r"warming up the model", "said": "in its own warm-up", "silence": 300},
        ],
        "ready": r"server is listening on|model loaded",
        "health": {"path": "/health", "seconds": 30},
        "static": ["/v1/models", "/props"],
        "probe": [{"path": "/completion", "body": {"prompt": "1 2 3 4", "n_predict": 4}}, *_OPENAI],
        "load": [
            {
                "path": "/metrics",
                "form": "prometheus",
                "names": ["llamacpp:requests_processing", "llamacpp:requests_deferred"],
                "off": "launch it with --metrics",
            },
        ],
        "fatal": [
            [r"error loading model|failed to load model|unable to load model", "the model file cannot be read"],
            [r"cudaMalloc failed|unable to allocate .* buffer", "a GPU had too little free memory"],
            *_COMMON,
        ],
    },
    "tgi": {
        "flags": {
            "port": ["--port", "-p"],
            "host": ["--hostname"],
            "model": ["--model-id"],
            "context": ["--max-total-tokens"],
            "tp": ["--num-shard"],
            "key": ["--api-key"],
        },
        "port": 3000,
        "phases": [
            {"name": "start", "marker": None, "said": "before it loads anything", "silence": 300},
            {
                "name": "download",
                "marker": r"Starting (?:check and )?download",
                "said": "in its download",
                "silence": 600,
            },
            {"name": "load", "marker": r"Starting shard", "said": "while loading", "silence": 600},
            {
                "name": "warm-up",
                "marker": r"Shard ready in|Warming up model",
                "said": "in its own warm-up",
                "silence": 600,
            },
        ],
        "ready": r"\bConnected\b",
        "health": {"path": "/health", "seconds": 30},
        "static": ["/info", "/ping"],
        "probe": [{"path": "/generate", "body": {"inputs": "1 2 3 4", "parameters": {"max_new_tokens": 4}}}, *_OPENAI],
        "load": [
            {"path": "/metrics", "form": "prometheus", "names": ["tgi_batch_current_size", "tgi_queue_size"]},
        ],
        "fatal": [
            [
                r"Shard \d+ failed to start|Shard complete standard error output",
                "a shard failed; its error stands below",
            ],
            [r"Webserver Crashed|Download encountered an error", "the launcher gives up"],
            *_MEMORY,
            *_COMMON,
        ],
    },
    "triton": {
        "flags": {"port": ["--http-port"], "model": ["--model-repository", "--model-store"]},
        "port": 8000,
        "phases": [
            {"name": "start", "marker": None, "said": "before it loads anything", "silence": 300},
            {
                "name": "load",
                "marker": r"loading: |TRITONBACKEND_ModelInitialize",
                "said": "while loading",
                "silence": 600,
            },
        ],
        "ready": r"Started HTTPService",
        "health": {"path": "/v2/health/ready", "seconds": 10},
        "static": ["/v2/health/live", "/v2"],
        "probe": [],
        "fatal": [[r"failed to load .* model|error: creating server", "a model of the repository failed"], *_COMMON],
    },
    "ollama": {
        "flags": {},
        "port": 11434,
        "phases": [{"name": "start", "marker": None, "said": "in its start", "silence": 300}],
        "ready": r"Listening on",
        "health": {"path": "/api/tags", "seconds": 10},
        "static": ["/", "/api/version"],
        "probe": [],
        "fatal": _COMMON,
    },
    "transformers": {
        "flags": {"port": ["--port"], "host": ["--host"], "model": ["--force-model", "--model"]},
        "port": 8000,
        "phases": [
            {"name": "start", "marker": None, "said": "before it loads anything", "silence": 300},
            {"name": "load", "marker": r"Loading checkpoint shards", "said": "while loading", "silence": 600},
        ],
        "ready": r"Application startup complete",
        "health": {"path": "/health", "seconds": 30},
        "static": ["/v1/models"],
        "probe": _OPENAI,
        "fatal": [*_MEMORY, *_COMMON],
    },
    # Whatever speaks HTTP and is none of the above: its process, its port, its health path, and what the step is told.
    "http": {
        "flags": {"port": ["--port", "-p"], "host": ["--host"]},
        "port": None,
        "phases": [{"name": "start", "marker": None, "said": "in its start", "silence": 300}],
        "ready": None,
        "health": {"path": "/health", "seconds": 30},
        "static": [],
        "probe": [],
        "fatal": [],
    },
}
