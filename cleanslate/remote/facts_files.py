"""Small readers that the facts share: what cannot be read is empty, not an error."""


def text(path, limit=1 << 20):
    """A file's text, or the empty text."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(limit)
    except OSError:
        return ""


def line(path):
    """A file's text without blanks at its ends."""
    return text(path).strip()


def pairs(path, separator="="):
    """{key: value} of a file of such lines; quotes around values are removed."""
    found = {}
    for entry in text(path).splitlines():
        key, mark, value = entry.partition(separator)
        if mark and not key.lstrip().startswith("#"):
            found[key.strip()] = value.strip().strip("\"'")
    return found
