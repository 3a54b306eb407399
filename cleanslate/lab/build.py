"""Makes the files of a lab: keys, programs, device files, models and the server's environment."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from cleanslate.lab.faults import build_draft
from cleanslate.lab.hardware import Hardware
from cleanslate.lab.layout import CONTAINER, HYPERVISOR, MACHINES, ROOM, VMID, Layout

CONTEXT = 262144


def base_python() -> str:
    """The interpreter that this one's environment was made from."""
    return str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())


def build(layout: Layout, identity: str, hardware: Hardware) -> None:
    """Make everything that does not need a running lab."""
    layout.identity.write_text(identity + "\n", encoding="ascii")  # first, so that a half-built lab is known as one
    hardware.save(layout.hardware_facts)
    for name in MACHINES:
        for folder in (layout.machine(name) / "bin", layout.machine(name) / "tmp", layout.home(name)):
            folder.mkdir(parents=True)
        (layout.home(name) / ".local" / "state").mkdir(parents=True)
        _programs(layout, name)
    for folder in (layout.keys, layout.run, layout.devices, layout.libraries, layout.logs, layout.outside):
        folder.mkdir(mode=0o700 if folder == layout.keys else 0o755)
    if not layout.hardware.real:
        _pretend(layout)
    _models(layout)
    _server(layout)


def _pretend(layout: Layout) -> None:
    """Device files, and an empty library that hides a real NVML."""
    for device in [*(f"nvidia{gpu}" for gpu in range(layout.hardware.gpus)), "nvidiactl", "nvidia-uvm"]:
        (layout.devices / device).touch(mode=0o666)
        os.truncate(layout.devices / device, 4096)  # sparse; a mapping may be far larger than its file
    (layout.libraries / "libnvidia-ml.so.1").touch()


def _program(path: Path, *argv: str) -> None:
    path.write_text(f'#!/bin/sh\nexec {shlex.join(argv)} "$@"\n', encoding="utf-8")
    path.chmod(0o755)


def _programs(layout: Layout, name: str) -> None:
    folder, quick = layout.machine(name) / "bin", (base_python(), "-I", "-S")
    (folder / "python3").symlink_to(base_python())
    _program(folder / "sudo", *quick, str(ROOM / "sudo.py"))
    if not layout.hardware.real:
        _program(folder / "nvidia-smi", *quick, str(ROOM / "smi_client.py"), str(layout.run))
    if name == HYPERVISOR:
        for program in ("pct", "lxc-info"):
            _program(folder / program, *quick, str(ROOM / "hypervisor.py"), str(layout.container_facts), program)


def _models(layout: Layout) -> None:
    build_draft(layout)
    target = layout.models / "target"
    target.mkdir()
    config = {"architectures": ["Qwen3MoeForCausalLM"], "max_position_embeddings": CONTEXT, "model_type": "qwen3_moe"}
    (target / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _server(layout: Layout) -> None:
    """A virtual environment with the server in it, made by hand: `python -m venv` takes longer than the whole lab."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = layout.server / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    layout.server_python.parent.mkdir()
    for name in ("python", "python3"):
        (layout.server / "bin" / name).symlink_to(base_python())
    about = f"home = {Path(base_python()).parent}\ninclude-system-site-packages = false\n"
    (layout.server / "pyvenv.cfg").write_text(about, encoding="utf-8")
    shutil.copytree(ROOM / "sglang", packages / "sglang", ignore=shutil.ignore_patterns("__pycache__"))
    hardware = layout.hardware
    facts = {
        "devices": str(hardware.devices(layout.devices)),
        "smi": f"{hardware.path}/nvidia-smi" if hardware.real else "",
        **{
            name: str(getattr(hardware, name))
            for name in ("gpus", "total", "weights", "pool", "held", "pinned", "pace", "torch")
        },
        "run": str(layout.run),
        "faults": str(layout.faults),
        "client": str(ROOM / "smi_client.py"),
    }
    (packages / "sglang" / "machine.json").write_text(json.dumps(facts), encoding="utf-8")


def make_keys(layout: Layout, ports: dict[str, int]) -> None:
    """Make the client's key and one for each machine, and write what OpenSSH wants to know of them."""
    import asyncssh

    def make(name: str) -> Any:
        key = asyncssh.generate_private_key("ssh-ed25519", f"cleanslate lab: {name}")
        path = layout.keys / name
        path.touch(mode=0o600)
        path.write_bytes(key.export_private_key())
        (layout.keys / f"{name}.pub").write_bytes(key.export_public_key())
        return key

    make("client")
    lines = []
    for machine in MACHINES:
        public = " ".join(make(machine).export_public_key().decode().split()[:2])
        lines.append(f"[127.0.0.1]:{ports[machine]} {public}\n")
    layout.known_hosts.write_text("".join(lines), encoding="ascii")
    blocks = [_ssh_block(layout, machine, ports[machine]) for machine in MACHINES]
    layout.ssh_config.write_text(
        f"# ssh -F {shlex.quote(str(layout.ssh_config))} {CONTAINER}\n\n" + "\n".join(blocks), encoding="utf-8"
    )


def _ssh_block(layout: Layout, machine: str, port: int) -> str:
    return (
        f"Host {machine}\n    HostName 127.0.0.1\n    Port {port}\n    User root\n    IdentitiesOnly yes\n"
        f'    IdentityFile "{layout.keys / "client"}"\n    UserKnownHostsFile "{layout.known_hosts}"\n'
    )


def inventory(layout: Layout, ports: dict[str, int], server_port: int, identity: str, isolation: Any) -> dict[str, Any]:
    """What lab.json holds: hosts and groups as an inventory wants them, and how this lab was made."""
    known = str(layout.known_hosts)
    known = f'"{known}"' if " " in known else known  # the option takes several files, with blanks between
    common = {
        "ansible_host": "127.0.0.1",
        "ansible_user": "root",
        "ansible_ssh_private_key_file": str(layout.keys / "client"),
        "ansible_ssh_common_args": shlex.join(["-o", f"UserKnownHostsFile={known}", "-o", "IdentitiesOnly=yes"]),
        "ansible_python_interpreter": base_python(),
    }
    container = {
        "hypervisor": HYPERVISOR,
        "vmid": VMID,
        "models_dir": str(layout.models),
        "target_model": str(layout.models / "target"),
        "draft_model": str(layout.draft_snapshot),
        "log_dir": str(layout.logs),
        "server_python": str(layout.server_python),
        "server_port": server_port,
        "gpu_count": layout.hardware.gpus,
        "gpu_idle_mib": layout.hardware.idle_mib,
        "eagle3_grace": "3s",  # who practises has seen TERM being ignored after three seconds
        "holder_grace": "1s",
        "eagle3_silence": "6s",
    }
    return {
        "hosts": {
            CONTAINER: {**common, "ansible_port": ports[CONTAINER], **container},
            HYPERVISOR: {**common, "ansible_port": ports[HYPERVISOR]},
        },
        "groups": {"eagle3": [CONTAINER], "hypervisors": [HYPERVISOR]},
        "lab": {"id": identity, "root": str(layout.root), "isolation": isolation._asdict()},
    }
