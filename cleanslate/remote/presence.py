"""Whether this machine has an NVIDIA GPU, without asking it and without what asking takes."""

import os
import shutil

from cleanslate.remote.registry import reads


@reads
def gpus(call):
    """Give {"gpus": whether anything speaks for one: a device, a driver, its tool}."""
    devices = os.path.isdir("/dev") and any(name.startswith("nvidia") for name in os.listdir("/dev"))
    driver = os.path.exists("/proc/driver/nvidia") or os.path.exists("/sys/module/nvidia")
    return {"gpus": devices or driver or shutil.which("nvidia-smi") is not None}
