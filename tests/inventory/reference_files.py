"""Writes a case's files; used by the tests, and by `reference.py`, which knows nothing of this package."""


def lay_out(files, root):
    """Write text files below a folder; one that begins with `#!` becomes executable."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
        if text.startswith("#!"):
            path.chmod(0o755)
