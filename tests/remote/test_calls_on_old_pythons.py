"""The calls on files, archives, networks and facts work on every Python that a target may have."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import cleanslate
from tests.remote.test_old_pythons import INTERPRETERS
from tests.steps.web import serve

PROGRAM = """
import io, json, os, sys, tarfile
from cleanslate.remote import (
    archives, copies, downloads, facts, files, find, fragments, links, net, power, services, temporary, trees
)
from cleanslate.remote.registry import Call, Failed
here = sys.argv[1]
done = []
def call(function, *arguments, blob=None, **named):
    answer = function(Call(left=20.0, blob=io.BytesIO(blob) if blob is not None else None), *arguments, **named)
    out = answer[1] if isinstance(answer, tuple) else b""
    if hasattr(out, "read"):
        out.close()
    done.append(function.__name__)
    return answer[0] if isinstance(answer, tuple) else answer
call(files.make_directory, here + "/d", mode="u=rwx,go=")
call(files.write, here + "/d/f", blob=b"text", mode="0640", backup=True)
call(files.write, here + "/d/f", blob=b"more", backup=True, validate="true %s")
call(files.survey, here + "/d/f", digest=True, content=100, wanted={"mode": "g+w"})
call(files.stat, here + "/d/f", digest="sha256", mime=True, flags=True)
call(files.read, here + "/d/f")
call(files.touch, here + "/d/t", mtime="now")
call(files.set_attributes, here + "/d", recurse=True, mode="u+rwX")
call(files.differing_below, here + "/d", mode="u+rwX")
call(links.survey, here + "/l", "d/f")
call(links.make, here + "/l", "d/f")
entries = [{"path": "a/b", "kind": "file", "size": 1, "sha1": "x", "mode": None, "content": True}]
call(trees.survey, here + "/tree", entries, content=10)
call(trees.write, here + "/tree", entries, blob=b"1")
call(copies.survey, here + "/tree", here + "/copy")
call(copies.copy_folder, here + "/tree", here + "/copy")
usual = dict.fromkeys("contains encoding age size mode".split())
call(find.find, [here], recurse=True, kind="any", patterns=["*"], excludes=[], regex=False, hidden=True, whole=False,
     stamp="mtime", exact_mode=True, **usual)
call(find.matching, ["*"], chdir=here)
call(fragments.read_all, here + "/d")
out = io.BytesIO()
with tarfile.open(fileobj=out, mode="w:gz") as packed:
    packed.add(here + "/tree", "tree")
call(archives.survey, here + "/d", blob=out.getvalue())
call(archives.unpack, here + "/d", blob=out.getvalue())
call(downloads.fetch, "file://" + here + "/d/f", here + "/got")
call(temporary.make, path=here)
call(net.get, "http://127.0.0.1:1/", timeout=1)
asked = [sys.argv[2] + path for path in ("/json", "/status?code=503", "/private")]
statuses = [call(net.get, url, timeout=5)["status"] for url in asked]
assert statuses == [200, 503, 401], statuses
call(net.wait_for, "present", 1, host="", port=None, path=here, search_regex=None, connect_timeout=1, sleep=0.1,
     exclude_hosts=None, states=[], text="")
call(power.boot)
gathered = call(facts.gather)
call(files.remove, here + "/d")
try:
    call(services.show, "nothing")
except Failed as refused:
    assert refused.kind in ("unsupported", "failed"), refused.kind
print(json.dumps({"done": len(done), "missed": gathered["missed"], "python": gathered["facts"]["python_version"]}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("version", INTERPRETERS)
def test_every_call_works(tmp_path, version):
    with serve() as address:
        works(tmp_path, version, address)


def works(tmp_path, version, address):
    root = str(Path(cleanslate.__file__).parents[1])
    # Below the interpreter's own paths nothing but our package: what a target has.
    start = f"import sys; sys.path.insert(0, {root!r})\n"
    done = subprocess.run(
        [INTERPRETERS[version], "-I", "-W", "error", "-c", start + PROGRAM, str(tmp_path), address],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert (told["done"], told["missed"], told["python"].startswith(f"{version}.")) == (30, {}, True)
