"""Whether this machine has an NVIDIA GPU, without asking it and without what asking takes."""

import os

from cleanslate.remote.registry import reads


@reads
def gpus(call):
    """Give {"gpus": whether anything speaks for one: a device, a driver, its tool}."""
    devices = os.path.isdir("/dev") and any(name.startswith("nvidia") for name in os.listdir("/dev"))
    driver = os.path.exists("/proc/driver/nvidia") or os.path.exists("/sys/module/nvidia")
    return {"gpus": devices or driver or _has_tool()}


def _has_tool():
    """Whether there is an nvidia-smi; `shutil`, which could tell too, takes longer to import than Python to start."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return any(os.access(os.path.join(folder, "nvidia-smi"), os.X_OK) for folder in folders)
