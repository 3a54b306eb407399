"""A practice machine room on this computer: a container, its hypervisor, eight GPUs and a server that misbehaves.

It fakes hardware at its boundary (device files, `nvidia-smi`, `pct`) and never outcomes: processes are real, they
really hold the device files mapped, and memory is free again only when the last of them is really gone.
"""
