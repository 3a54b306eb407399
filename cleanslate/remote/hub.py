"""What a path is in a Hugging Face cache: of which repository and commit, and who else sees the same blob.

snapshots/<commit>/config.json is a relative link to blobs/<hash>, shared by every revision with the same content;
refs/<name> holds the commit that a branch means now. A client that finds a snapshot's file never looks at its
content again, so an edit stays in use silently, until the branch moves to a new snapshot that does not have it.
"""

import os
import re

_SNAPSHOT = re.compile(r"(?P<repository>.*/(?P<folder>[^/]+))/snapshots/(?P<commit>[^/]+)/(?P<rest>.+)")
_KIND = re.compile(r"(?:models|datasets|spaces)--")


def describe(path):
    """{repository, name, commit, refs, blob, shared_with} of a file in a snapshot, or None for any other path.

    refs: the branches and tags that mean this commit now. head: the commit that `main` means now, where known.
    shared_with: the other commits whose file of the same name is the same blob.
    """
    met = _SNAPSHOT.fullmatch(os.path.abspath(path))
    if not met or not os.path.isdir(os.path.join(met["repository"], "blobs")):
        return None
    repository, commit, rest = met["repository"], met["commit"], met["rest"]
    refs = references(repository)
    real = os.path.realpath(path)
    return {
        "repository": repository,
        "name": _KIND.sub("", met["folder"], count=1).replace("--", "/"),
        "commit": commit,
        "refs": sorted(name for name, means in refs.items() if means == commit),
        "head": refs.get("main"),
        "blob": os.path.basename(real) if os.path.islink(path) else None,
        "shared_with": _sharing(repository, commit, rest, real),
    }


def references(repository):
    """{branch or tag: commit} of a repository's folder in the cache."""
    found = {}
    top = os.path.join(repository, "refs")
    for folder, _, names in os.walk(top):
        for name in names:
            place = os.path.join(folder, name)
            try:
                with open(place, encoding="ascii", errors="replace") as file:
                    found[os.path.relpath(place, top)] = file.read(100).strip()
            except OSError:
                continue
    return found


def _sharing(repository, commit, rest, real):
    folder = os.path.join(repository, "snapshots")
    try:
        commits = sorted(os.listdir(folder))
    except OSError:
        return []
    others = [other for other in commits if other != commit]
    return [other for other in others if os.path.realpath(os.path.join(folder, other, rest)) == real]


def folder_of(model, environment):
    """The folder with a model's files: the path itself, or the snapshot that `main` means in the cache; else None."""
    if os.path.isdir(model):
        return model
    home = environment.get("HF_HOME") or os.path.join(
        environment.get("XDG_CACHE_HOME") or os.path.join(environment.get("HOME") or os.path.expanduser("~"), ".cache"),
        "huggingface",
    )
    cache = environment.get("HF_HUB_CACHE") or environment.get("HUGGINGFACE_HUB_CACHE") or os.path.join(home, "hub")
    repository = os.path.join(cache, "models--" + model.replace("/", "--"))
    commit = references(repository).get("main")
    folder = os.path.join(repository, "snapshots", commit) if commit else ""
    return folder if commit and os.path.isdir(folder) else None
