"""Linux namespaces without any tool: what a container is made of, as root and as an ordinary user.

A machine gets its own user, PID, mount, cgroup, UTS and IPC namespaces, and the hypervisor a network of its own, so
that nothing in the lab can see, signal or reach anything else on this computer. Where the kernel forbids it,
`find_isolation` says why, and the lab runs without.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
_CLONE_FS = 0x00000200
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
_SYS_MOUNT_SETATTR = 442  # the same number on every architecture
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_PR_SET_CHILD_SUBREAPER = 36
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 0x1
_LIBC = ctypes.CDLL(None, use_errno=True)


class Isolation(NamedTuple):
    """Which namespaces the machines get. All false: none at all, and `reason` says why."""

    user: bool = False
    pid: bool = False
    network: bool = False
    reason: str = ""


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Move this process into new namespaces (for CLONE_NEWPID: its later children)."""
    _check(_LIBC.unshare(flags), "unshare")


def mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
    """Attach a file system or a folder; the arguments are those of the system call."""
    words = [word.encode() if word is not None else None for word in (source, target, kind)]
    _check(_LIBC.mount(*words, ctypes.c_ulong(flags), None), f"mount {target}")


def pid_namespace(pid: int | str = "self") -> str:
    """The PID namespace of a process, as /proc names it (`pid:[4026531836]`)."""
    return str(Path(f"/proc/{pid}/ns/pid").readlink())


def become_subreaper() -> None:
    """Be the one to whom orphaned descendants fall, as a PID namespace's first process is."""
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _map_ids(pid: int) -> None:
    """Give a process that has just made a user namespace its ids; run by a process outside of it.

    Root keeps all ids that it has here; anybody else becomes root in there, and has nobody beside.
    """
    folder = Path(f"/proc/{pid}")
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        try:
            for name in ("uid_map", "gid_map"):
                ranges = [line.split() for line in Path("/proc/self", name).read_text(encoding="ascii").splitlines()]
                text = "".join(f"{inside} {inside} {count}\n" for inside, _, count in ranges)
                (folder / name).write_text(text, encoding="ascii")
            return
        except PermissionError:
            pass  # root without CAP_SETUID: as anybody else
    (folder / "setgroups").write_text("deny", encoding="ascii")
    (folder / "uid_map").write_text(f"0 {user} 1\n", encoding="ascii")
    (folder / "gid_map").write_text(f"0 {group} 1\n", encoding="ascii")


def unshare_user() -> None:
    """Move this process into a new user namespace, where it is root."""
    me = os.getpid()
    reading, writing = os.pipe()
    helper = os.fork()
    if helper == 0:
        code = 1
        try:
            os.close(writing)
            if os.read(reading, 1):
                _map_ids(me)
                code = 0
        finally:
            os._exit(code)
    os.close(reading)
    try:
        unshare(CLONE_NEWUSER)
        os.write(writing, b".")
    finally:
        os.close(writing)
        status = os.waitpid(helper, 0)[1]
    if status != 0:
        raise PermissionError("the ids of the new user namespace cannot be mapped")


def unshare_machine(isolation: Isolation, *, network: bool) -> None:
    """Move this process into a machine's namespaces, except that of pids; its mounts are nobody else's business."""
    if isolation.user:
        unshare_user()
    unshare(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | (CLONE_NEWNET if network else 0))
    mount(None, "/", None, _MS_REC | _MS_PRIVATE)


class Outside:
    """A way for processes that share a container's mounts, and not its pids, to find themselves in /proc for a while.

    Made before the container covers /proc with its own, in which they do not exist. CUDA writes to /proc/self, and
    fails with error 304 where it cannot (measured).
    """

    def __init__(self, kept: Path) -> None:
        self._kept = kept
        mount("/proc", str(kept), None, _MS_BIND | _MS_REC)
        self._mounts = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)

    def enter(self) -> None:
        """Have a /proc of one's own PID namespace."""
        unshare(CLONE_NEWNS)
        mount(None, "/", None, _MS_REC | _MS_PRIVATE)
        mount(str(self._kept), "/proc", None, _MS_BIND | _MS_REC)
        # Held open for life: with its mounts gone, what was opened here would lose its full path in /proc/PID/maps.
        self._own = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)

    def leave(self) -> None:
        """Share the container's mounts again; threads that were started meanwhile stay where they are."""
        unshare(_CLONE_FS)
        _check(_LIBC.setns(self._mounts, CLONE_NEWNS), "setns")


def settle_machine(name: str) -> None:
    """As the first process of a PID namespace: see only its processes, and have the machine's name."""
    mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    _check(_LIBC.sethostname(name.encode(), len(name)), "sethostname")


def hide_real_driver() -> None:
    """Cover what /proc tells of a real NVIDIA driver, so that nobody compares it with the pretended one.

    Only after every machine within this one has its own /proc: from a covered one the kernel makes no new one.
    """
    if Path("/proc/driver/nvidia").is_dir():
        with contextlib.suppress(OSError):
            mount("none", "/proc/driver/nvidia", "tmpfs", _MS_RDONLY)


def raise_loopback() -> None:
    """Switch on the loopback interface of a new network namespace."""
    import fcntl
    import socket

    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))


def _set_read_only(path: str, *, read_only: bool) -> None:
    attributes = struct.pack("QQQQ", *((_MS_RDONLY, 0) if read_only else (0, _MS_RDONLY)), 0, 0)
    result = _LIBC.syscall(_SYS_MOUNT_SETATTR, _AT_FDCWD, path.encode(), _AT_RECURSIVE, attributes, len(attributes))
    _check(result, f"mount_setattr {path}")


def protect(writable: list[str], hidden: list[str]) -> None:
    """Make this computer's files read-only here except below `writable`, and empty the folders in `hidden`.

    A playbook that was meant for a server must not be able to change this computer. Raises OSError when the
    kernel is too old (before 5.12).
    """
    for path in hidden:
        if Path(path).is_dir():
            mount("none", path, "tmpfs", _MS_NOSUID | _MS_NODEV)
    kept = [path for path in writable if Path(path).is_dir()]
    for path in kept:
        mount(path, path, None, _MS_BIND | _MS_REC)
    _set_read_only("/", read_only=True)
    for path in kept:
        with contextlib.suppress(PermissionError):  # something below it was read-only before
            _set_read_only(path, read_only=False)


def fork(work: Callable[[], object]) -> int:
    """Run `work` in a child that never returns from here; gives the child's pid."""
    pid = os.fork()
    if pid == 0:
        _run(work)
    return pid


def _run(work: Callable[[], object]) -> NoReturn:
    code = 1
    try:
        work()
        code = 0
    except BaseException:  # noqa: BLE001 - a forked child must not go on in its parent's code
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def find_isolation() -> Isolation:
    """What the kernel lets us have, found by having it in a child: two levels, as the lab needs them."""
    reason = ""
    for user in (True, False):
        for network in (True, False):
            isolation = Isolation(user=user, pid=True, network=network)
            failure = _try(isolation)
            if not failure:
                return isolation
            reason = reason or failure
    return Isolation(reason=reason)


def _try(isolation: Isolation) -> str:
    """Make a machine within a machine and throw both away; gives why that failed, or an empty text."""
    reading, writing = os.pipe()

    def level(inner: Callable[[], None], *, network: bool) -> None:
        unshare_machine(isolation, network=network)
        unshare(CLONE_NEWPID)

        def first() -> None:
            settle_machine("probe")
            inner()

        os.waitpid(fork(lambda: _tell(writing, first)), 0)

    def inner() -> None:
        if isolation.network:
            raise_loopback()
        level(lambda: None, network=False)

    def outer() -> None:
        level(inner, network=isolation.network)

    child = fork(lambda: _tell(writing, outer))
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, encoding="utf-8", errors="replace") as pipe:
        return pipe.readline().strip()


def _tell(writing: int, work: Callable[[], object]) -> None:
    try:
        work()
    except OSError as error:
        os.write(writing, f"{error.strerror or error}\n".encode())
