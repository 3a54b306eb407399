"""Restarts the machine, and tells one start of it from another."""

import os
import subprocess

from cleanslate.remote.registry import Failed, changes, reads


@reads
def boot(call, command=None):
    """{"boot"}: something that is another after each start: the kernel's id, or what a command prints."""
    if command is None:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return {"boot": file.read().strip()}
    return {"boot": _output(call, command)}


@reads
def works(call, command):
    """{"output"} of a command that tells that the machine is ready; Failed where it is not."""
    return {"output": _output(call, command)}


def _output(call, command):
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=max(call.left(), 0.1),
        )
    except subprocess.TimeoutExpired:
        raise Failed("failed", f"{command} did not end in time") from None
    said = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode:
        raise Failed("failed", f"{command} ended with {done.returncode}: {said[-300:]}")
    return said


@changes
def reboot(call, command=None, message="", delay=0, search=()):
    """Have the machine restart a moment after this is answered; gives the command that does it."""
    if command is None:
        found = next((path for path in (f"{folder}/shutdown" for folder in search) if os.access(path, os.X_OK)), None)
        if found is None:
            raise Failed("missing", f"there is no shutdown in {', '.join(search)}; give reboot_command")
        argv = [found, "-r", "now" if delay < 60 else f"+{int(delay // 60)}", message]
        wait = delay if delay < 60 else 0
    else:
        argv, wait = ["/bin/sh", "-c", command], delay
    # By an orphan in a session of its own, so that it outlives the connection; the answer is on its way before.
    subprocess.run(
        ["/bin/sh", "-c", '(sleep "$0"; exec "$@") &', str(wait + 0.3), *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        check=True,
    )
    return {"command": argv}
