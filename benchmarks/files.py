"""A thousand small files, and one large one, beside rsync or scp: python -m benchmarks.files."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from benchmarks.figures import Figure, tell
from benchmarks.measuring import Command, take_turns
from benchmarks.room import Room

SMALL, LARGE_MIB = 1000, int(os.environ.get("CLEANSLATE_BENCH_MIB", "1024"))


def main() -> None:
    """Measure, and tell."""
    rsync = shutil.which("rsync")
    peer, flushing = ("`rsync -a`", "`rsync -a --fsync`") if rsync else ("`scp -r`", "`scp -r`")
    with Room() as room:
        small, large, there = _sources(room.folder)
        hosts = str(room.inventory(1))

        def ours(name: str, source: str, target: Path, *, fresh: bool, times: int) -> Command:
            text = f"- hosts: all\n  gather_facts: false\n  tasks:\n    - copy: {{src: {source}, dest: {target}}}\n"
            argv = room.ours("play", str(room.playbook(name, text)), "-i", hosts)
            return Command(argv, cwd=room.root, times=times, before=(lambda: _gone(target)) if fresh else None)

        def theirs(source: str, target: Path, *, times: int, flushed: bool = False) -> Command:
            """With `flushed`, what was written is on the disk when it ends, as with ours."""
            ssh, remote = shlex.join(["ssh", *room.ssh_options()]), f"{room.listen}:{target}"
            if rsync and source.endswith("/"):
                how = ["-a", "--fsync"] if flushed else ["-a"]
                argv = [rsync, *how, "-e", ssh, source, f"{remote}/"]
            else:
                argv = ["scp", "-q", "-r", *room.ssh_options(), source.rstrip("/"), remote]
                if flushed:
                    sync = f"{ssh} {room.listen} 'find {target} -type f -exec sync {{}} +'"
                    argv = ["sh", "-c", f"{shlex.join(argv)} && {sync}"]
            return Command(argv, times=times, before=lambda: _gone(target))

        few = take_turns(
            {
                "ours": ours("small", f"{small}/", there / "ours-small", fresh=True, times=5),
                "peer": theirs(f"{small}/", there / "peer-small", times=5),
                "flushed": theirs(f"{small}/", there / "flushed-small", times=3, flushed=True),
                "again": ours("again", f"{small}/", there / "ours-small", fresh=False, times=3),
            }
        )
        big = take_turns(
            {
                "ours": ours("large", str(large), there / "ours-large", fresh=True, times=3),
                "scp": theirs(str(large), there / "scp-large", times=3),
                "flushed": theirs(str(large), there / "flushed-large", times=3, flushed=True),
                "again": ours("large-again", str(large), there / "ours-large", fresh=False, times=3),
            },
            warm=False,
        )
    size = f"{LARGE_MIB} MiB"
    tell(
        "files",
        [
            Figure(f"{SMALL} small files, `copy` of a folder", few["ours"].seconds, peer, few["peer"].seconds, 1.2),
            Figure(f"{SMALL} small files, `copy` of a folder", few["ours"].seconds, f"{flushing}, flushed too",
                   few["flushed"].seconds),
            Figure("the same, unchanged", few["again"].seconds, "our own first copy", few["ours"].seconds),
            Figure(f"one file of {size}", big["ours"].seconds, "`scp`", big["scp"].seconds, 1.2),
            Figure(f"one file of {size}", big["ours"].seconds, "`scp`, flushed too", big["flushed"].seconds),
            Figure("the same, unchanged", big["again"].seconds, "our own first copy", big["ours"].seconds),
            Figure("processor seconds of the controller, the large file", big["ours"].processor, "`scp`",
                   big["scp"].processor),
            Figure("most memory of the controller, the large file", max(big["ours"].mib), "the small ones",
                   max(few["ours"].mib), unit="MiB"),
        ],
        note="Ours are whole processes, and flush what they write.",
    )  # fmt: skip


def _sources(folder: Path) -> tuple[Path, Path, Path]:
    small, large, there = folder / "small", folder / "large", folder / "there"
    there.mkdir()
    for number in range(SMALL):
        place = small / f"d{number % 20}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"f{number}").write_bytes(os.urandom(3000))
    with large.open("wb") as out:
        for _ in range(LARGE_MIB):
            out.write(os.urandom(1 << 20))
    return small, large, there


def _gone(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
