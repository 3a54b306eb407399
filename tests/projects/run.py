#!/usr/bin/env python3
"""Run playbook projects and check what each one left behind.

    ./run.py                                  every project, with ansible-core
    ./run.py --only 04-json-patch --keep -v   one project; keep its work folder
    ./run.py --runner 'invoke play {playbook} -i {inventory} -e workdir={workdir} {args}'

A project is playbooks/NN-slug/ with playbook.yml, an inventory and expect.yml.
It is copied to a fresh folder and run from there, once for each entry of `runs`
in expect.yml, every run of a project sharing one workdir.  Console output is
never checked: only the exit status, and what stands under the workdir.

Placeholders of a runner template: {playbook} {inventory} {workdir} {project}
{args}.  {args} stands for the run's further arguments (-e NAME=VALUE, --tags,
--check ...); a template without it gets them appended.  Where a product spells
a flag otherwise, say so: --flag check=--dry-run --flag tags=--only-tags.

expect.yml:
    summary: one line             covers: [features]
    inventory: FILE               (else inventory.ini, inventory.yml, inventory)
    ports: [NAME ...]             a free port each, passed as -e NAME=PORT
    timeout: SECONDS              for one run (default 240)
    runs:
      - name: text
        vars: {k: v}              -e k=v          (so the value is a string)
        vars_json: {k: [1, 2]}    -e '{"k": ...}' (so types are kept)
        vars_file: FILE           -e @FILE         (of the project)
        tags / skip_tags: [a]     limit: pattern      check / diff: true
        env: {K: V}               environment of the runner
        exit: 0 | nonzero
        absent: [path ...]        nothing may stand there
        files:
          - path: P               relative to the workdir; must be a file
            content: exact text   sha256: HEX       mode: "0640"
            lines: [whole line]   not_lines: [..]   ordered_lines: [..]
            regex: [..]           not_regex: [..]   line_count: N
            json: VALUE           yaml: VALUE       (equal once parsed)
            json_items: {k: v}    (as json, each key a check of its own)
        dirs: [path | {path, mode, entries: [name ...]}]
        links: {path: target}
        pids: {pidfile: alive | dead}
        http: [{url, status, regex}]      asked after the runner has exited
In all of these @workdir@ and @NAME@ (a port) are replaced; @int:NAME@ is the number.

After a project, the processes it started are ended by pid: those whose command
line names its work folder, a path that no other process has.  Exit 0: all pass.
"""
import argparse, concurrent.futures, hashlib, json, os, re, shlex, shutil, signal
import socket, stat, subprocess, sys, tempfile, time, urllib.error, urllib.request

try:
    import yaml
except ImportError:                       # fall back on the bench's own interpreter
    alt = os.environ.get("REFERENCE_PYTHON", sys.executable)
    if os.path.exists(alt) and os.path.realpath(sys.executable) != os.path.realpath(alt) \
            and not os.environ.get("PROJECTS_REEXEC"):
        os.environ["PROJECTS_REEXEC"] = "1"
        os.execv(alt, [alt] + sys.argv)
    sys.exit("run.py needs PyYAML")

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT = "ansible-playbook {playbook} -i {inventory} -e workdir={workdir} {args}"
FLAGS = {"vars": "-e", "tags": "--tags", "skip_tags": "--skip-tags", "limit": "--limit",
         "check": "--check", "diff": "--diff"}
RUN_KEYS = {"name", "vars", "vars_json", "vars_file", "tags", "skip_tags", "limit", "check", "diff", "env",
            "exit", "absent", "files", "dirs", "links", "pids", "http"}
FILE_KEYS = {"path", "content", "sha256", "mode", "lines", "not_lines", "ordered_lines", "regex",
             "not_regex", "line_count", "json", "json_items", "yaml"}
TOP_KEYS = {"summary", "covers", "inventory", "ports", "timeout", "runs"}


def sub(value, table):
    """Replace @name@ in every string of value (keys too)."""
    if isinstance(value, str):
        if value.startswith("@int:"):
            return int(table[value[5:-1]])
        for k, v in table.items():
            value = value.replace("@%s@" % k, str(v))
        return value
    if isinstance(value, list):
        return [sub(v, table) for v in value]
    if isinstance(value, dict):
        return {sub(k, table): sub(v, table) for k, v in value.items()}
    return value


def free_ports(names):
    held, out = [], {}
    for n in names:
        s = socket.socket()
        s.bind(("127.0.0.1", 0))
        held.append(s)
        out[n] = s.getsockname()[1]
    for s in held:
        s.close()
    return out


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in ("Z", "X")
    except OSError:
        return False


def started_here(root, since):
    """Pids begun after `since` whose command line names root; never this program or a parent."""
    mine, pid = set(), os.getpid()
    while pid > 1:
        mine.add(pid)
        try:
            with open("/proc/%d/stat" % pid) as f:
                pid = int(f.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            break
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in mine:
            try:
                with open("/proc/%s/cmdline" % name, "rb") as f:
                    named = os.fsencode(root) in f.read()
                with open("/proc/%s/stat" % name) as f:
                    began = int(f.read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
                if named and began >= since:
                    found.append(int(name))
            except OSError:
                pass
    return found


def uptime():
    with open("/proc/uptime") as f:
        return float(f.read().split()[0])


def end_processes(root, since):
    for sig, patience in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 2.0)):
        pids = started_here(root, since)
        for pid in pids:
            try:
                os.kill(pid, sig)
            except ProcessLookupError:
                pass
        deadline = time.time() + patience
        while any(alive(p) for p in pids) and time.time() < deadline:
            time.sleep(0.05)
        if not started_here(root, since):
            return


def command(template, place, args):
    out, had = [], False
    for token in shlex.split(template):
        if token == "{args}":
            out += args
            had = True
        else:
            for k, v in place.items():
                token = token.replace("{%s}" % k, v)
            out.append(token)
    return out if had else out + args


def extra_args(run, ports, flags, project):
    args = []
    for k, v in ports.items():
        args += [flags["vars"], "%s=%s" % (k, v)]
    for k, v in (run.get("vars") or {}).items():
        args += [flags["vars"], "%s=%s" % (k, v)]
    if run.get("vars_json"):
        args += [flags["vars"], json.dumps(run["vars_json"])]
    if run.get("vars_file"):
        args += [flags["vars"], "@" + os.path.join(project, run["vars_file"])]
    for k in ("tags", "skip_tags"):
        if run.get(k):
            args += [flags[k], ",".join(run[k])]
    if run.get("limit"):
        args += [flags["limit"], run["limit"]]
    for k in ("check", "diff"):
        if run.get(k):
            args.append(flags[k])
    return args


def short(text, n=400):
    text = text if isinstance(text, str) else repr(text)
    return text if len(text) <= n else text[:n] + "…(%d)" % len(text)


class Checks:
    def __init__(self):
        self.total, self.failed = 0, []

    def see(self, ok, what):
        self.total += 1
        if not ok:
            self.failed.append(what)
        return ok


def check_file(c, workdir, spec):
    unknown = set(spec) - FILE_KEYS
    if unknown:
        raise SystemExit("unknown key in a file check: %s" % sorted(unknown))
    path = os.path.join(workdir, spec["path"])
    name = spec["path"]
    if not c.see(os.path.isfile(path), "%s: no such file" % name):
        # every fact about a missing file counts as failed
        n = sum(len(v) if k in ("lines", "not_lines", "regex", "not_regex", "json_items")
                else 1 for k, v in spec.items() if k != "path")
        c.total += n
        c.failed += ["%s: (missing)" % name] * n
        return
    with open(path, "rb") as f:
        raw = f.read()
    text = raw.decode("utf-8", "replace")
    rows = text.splitlines()
    if "content" in spec:
        c.see(text == spec["content"], "%s: content is\n%s\n    wanted\n%s"
              % (name, short(text, 1500), short(spec["content"], 1500)))
    if "sha256" in spec:
        c.see(hashlib.sha256(raw).hexdigest() == spec["sha256"], "%s: another sha256" % name)
    if "mode" in spec:
        mode = "%04o" % stat.S_IMODE(os.stat(path).st_mode)
        c.see(mode == spec["mode"], "%s: mode %s, wanted %s" % (name, mode, spec["mode"]))
    for row in spec.get("lines", []):
        c.see(row in rows, "%s: no line %r in %s" % (name, row, short(text)))
    for row in spec.get("not_lines", []):
        c.see(row not in rows, "%s: has line %r" % (name, row))
    if "ordered_lines" in spec:
        it = iter(rows)
        ok = all(any(r == w for r in it) for w in spec["ordered_lines"])
        c.see(ok, "%s: lines not in the order %s: %s" % (name, spec["ordered_lines"], short(text)))
    for rx in spec.get("regex", []):
        c.see(re.search(rx, text, re.M) is not None, "%s: no match of %r in %s" % (name, rx, short(text)))
    for rx in spec.get("not_regex", []):
        c.see(re.search(rx, text, re.M) is None, "%s: matches %r" % (name, rx))
    if "line_count" in spec:
        c.see(len(rows) == spec["line_count"], "%s: %d lines, wanted %d: %s"
              % (name, len(rows), spec["line_count"], short(text)))
    if "json_items" in spec:
        try:
            got = json.loads(text)
            got = got if isinstance(got, dict) else {}
        except ValueError:
            got = {}
        for k, v in spec["json_items"].items():
            c.see(k in got and json.dumps(got[k], sort_keys=True) == json.dumps(v, sort_keys=True),
                  "%s: %s is %s, wanted %s" % (name, k, json.dumps(got.get(k)), json.dumps(v)))
        c.see(set(got) <= set(spec["json_items"]), "%s: further keys %s" % (name, sorted(set(got) - set(spec["json_items"]))))
    for kind, load in (("json", json.loads), ("yaml", yaml.safe_load)):
        if kind in spec:
            try:
                got = load(text)
            except Exception as e:                       # the product's output: anything may be wrong
                c.see(False, "%s: not %s: %s: %s" % (name, kind, e, short(text)))
            else:
                same = got == spec[kind] and json.dumps(got, sort_keys=True, default=str) == \
                    json.dumps(spec[kind], sort_keys=True, default=str)   # true is not 1
                c.see(same, "%s: %s is\n%s\n    wanted\n%s" % (name, kind,
                      json.dumps(got, sort_keys=True, default=str),
                      json.dumps(spec[kind], sort_keys=True, default=str)))


def check_run(c, workdir, run, rc):
    want = run.get("exit", 0)
    c.see(rc != 0 if want == "nonzero" else rc == want, "exit status %s, wanted %s" % (rc, want))
    for p in run.get("absent", []):
        c.see(not os.path.lexists(os.path.join(workdir, p)), "%s: should not be there" % p)
    for spec in run.get("files", []):
        check_file(c, workdir, spec)
    for spec in run.get("dirs", []):
        spec = {"path": spec} if isinstance(spec, str) else spec
        path = os.path.join(workdir, spec["path"])
        if c.see(os.path.isdir(path), "%s: no such folder" % spec["path"]):
            if "mode" in spec:
                mode = "%04o" % stat.S_IMODE(os.stat(path).st_mode)
                c.see(mode == spec["mode"], "%s: mode %s, wanted %s" % (spec["path"], mode, spec["mode"]))
            if "entries" in spec:
                got = sorted(os.listdir(path))
                c.see(got == sorted(spec["entries"]), "%s: holds %s, wanted %s"
                      % (spec["path"], got, sorted(spec["entries"])))
        else:
            n = sum(k in spec for k in ("mode", "entries"))
            c.total += n
            c.failed += ["%s: (missing)" % spec["path"]] * n
    for p, target in (run.get("links") or {}).items():
        path = os.path.join(workdir, p)
        got = os.readlink(path) if os.path.islink(path) else None
        c.see(got == target, "%s: links to %s, wanted %s" % (p, got, target))
    for p, state in (run.get("pids") or {}).items():
        try:
            with open(os.path.join(workdir, p)) as f:
                pid = int(f.read().strip())
        except (OSError, ValueError):
            c.see(False, "%s: no pid in it" % p)
        else:
            c.see(alive(pid) == (state == "alive"), "%s: process %d is not %s" % (p, pid, state))
    for spec in run.get("http", []):
        try:
            with urllib.request.urlopen(spec["url"], timeout=5) as r:
                code, body = r.status, r.read().decode("utf-8", "replace")
        except urllib.error.HTTPError as e:
            code, body = e.code, e.read().decode("utf-8", "replace")
        except Exception as e:
            code, body = str(e), ""
        c.see(code == spec.get("status", 200), "%s: answered %s" % (spec["url"], code))
        if "regex" in spec:
            c.see(re.search(spec["regex"], body) is not None, "%s: body %s" % (spec["url"], short(body)))


def run_project(slug, opts):
    src = os.path.join(opts.projects, slug)
    with open(os.path.join(src, "expect.yml")) as f:
        expect = yaml.safe_load(f)
    if set(expect) - TOP_KEYS:
        raise SystemExit("%s: unknown key %s" % (slug, sorted(set(expect) - TOP_KEYS)))
    root = os.path.realpath(tempfile.mkdtemp(prefix="projects-%s-" % slug, dir=opts.tmp))
    project, workdir = os.path.join(root, "project"), os.path.join(root, "work")
    shutil.copytree(src, project, symlinks=True, ignore=shutil.ignore_patterns("expect.yml", "__pycache__"))
    os.mkdir(workdir)
    with open(os.path.join(root, "ansible.cfg"), "w") as f:   # so that no configuration of this machine's counts
        f.write("[defaults]\ninterpreter_python = %s\n" % sys.executable)   # found, not guessed by discovery
    inventory = expect.get("inventory") or next(
        n for n in ("inventory.ini", "inventory.yml", "inventory") if os.path.exists(os.path.join(project, n)))
    ports = free_ports(expect.get("ports", []))
    table = dict(ports, workdir=workdir)
    c, log, t0, since = Checks(), [], time.time(), uptime() - 1
    try:
        for i, run in enumerate(expect["runs"]):
            if set(run) - RUN_KEYS:
                raise SystemExit("%s: unknown key %s" % (slug, sorted(set(run) - RUN_KEYS)))
            run = sub(run, table)
            place = {"playbook": os.path.join(project, "playbook.yml"),
                     "inventory": os.path.join(project, inventory), "workdir": workdir, "project": project}
            argv = command(opts.runner, place, extra_args(run, ports, opts.flags, project))
            env = dict(os.environ, ANSIBLE_NOCOLOR="1", ANSIBLE_HOME=os.path.join(root, "ahome"),
                       ANSIBLE_LOCAL_TEMP=os.path.join(root, "alocal"), ANSIBLE_REMOTE_TEMP=os.path.join(root, "aremote"),
                       ANSIBLE_ASYNC_DIR=os.path.join(root, "aasync"), ANSIBLE_CONFIG=os.path.join(root, "ansible.cfg"),
                       CLEANSLATE_LEASES=os.path.join(root, "leases"), PYTHONDONTWRITEBYTECODE="1", **{k: str(v) for k, v in (run.get("env") or {}).items()})
            seen, failed = c.total, len(c.failed)
            p = subprocess.Popen(argv, cwd=project, env=env, stdin=subprocess.DEVNULL, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                                 errors="replace")
            limit = expect.get("timeout", 240) * opts.slack
            try:
                out, _ = p.communicate(timeout=limit)
                rc = p.returncode
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)          # our own child's group
                try:
                    out, _ = p.communicate(timeout=5)
                except subprocess.TimeoutExpired:         # something it started holds the pipe
                    end_processes(root, since)
                    out, _ = p.communicate()
                rc = "timeout after %ss" % limit
            check_run(c, workdir, run, rc)
            label = run.get("name", "run %d" % (i + 1))
            c.failed[failed:] = ["[%s] %s" % (label, f) for f in c.failed[failed:]]
            log.append("$ %s\n%s(exit %s; %d of %d checks)\n" % (
                shlex.join(argv), out, rc, c.total - seen - (len(c.failed) - failed), c.total - seen))
    finally:
        end_processes(root, since)
        if not opts.keep:
            shutil.rmtree(root, ignore_errors=True)
    return dict(project=slug, ok=not c.failed, checks=c.total, failed=c.failed, runs=len(expect["runs"]),
                seconds=round(time.time() - t0, 1), log="".join(log), root=root if opts.keep else None)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--runner", default=DEFAULT, help="command template (default: ansible-core)")
    ap.add_argument("--only", nargs="+", metavar="SLUG", help="these projects (a number or part of the name will do)")
    ap.add_argument("--projects", default=os.path.join(HERE, "playbooks"))
    ap.add_argument("--flag", action="append", default=[], metavar="NAME=FLAG", help="spell a flag otherwise: " + ", ".join(FLAGS))
    ap.add_argument("--jobs", type=int, default=max(1, min(4, (os.cpu_count() or 2) // 2)))
    ap.add_argument("--slack", type=float, default=1.0, help="multiply the time limits by this")
    ap.add_argument("--tmp", default=None, help="where the fresh folders are made")
    ap.add_argument("--keep", action="store_true", help="keep the fresh folders")
    ap.add_argument("--report", help="write the results here as JSON")
    ap.add_argument("--list", action="store_true")
    ap.add_argument("-v", "--verbose", action="store_true", help="show the runner's output of failing projects")
    ap.add_argument("-vv", dest="all_output", action="store_true", help="... and of passing ones")
    opts = ap.parse_args()
    opts.flags = dict(FLAGS)
    for f in opts.flag:
        k, _, v = f.partition("=")
        if k not in FLAGS:
            ap.error("no flag called %r" % k)
        opts.flags[k] = v
    slugs = sorted(n for n in os.listdir(opts.projects) if os.path.exists(os.path.join(opts.projects, n, "expect.yml")))
    if opts.only:
        slugs = [s for s in slugs if any(s.startswith(o) or o in s for o in opts.only)]
    if not slugs:
        ap.error("no project matches")
    if opts.list:
        for s in slugs:
            with open(os.path.join(opts.projects, s, "expect.yml")) as f:
                print("%-28s %s" % (s, yaml.safe_load(f).get("summary", "")))
        return 0
    results = []
    with concurrent.futures.ThreadPoolExecutor(opts.jobs) as pool:
        for r in pool.map(lambda s: run_project(s, opts), slugs):
            results.append(r)
            print("%-4s %-28s %3d/%3d checks  %d runs  %5.1fs%s" % (
                "ok" if r["ok"] else "FAIL", r["project"], r["checks"] - len(r["failed"]), r["checks"],
                r["runs"], r["seconds"], "  " + r["root"] if r["root"] else ""), flush=True)
            for f in r["failed"] if opts.verbose or len(r["failed"]) <= 5 else r["failed"][:5] + ["…"]:
                print("       - " + f.replace("\n", "\n         "), flush=True)
            if opts.all_output or (opts.verbose and not r["ok"]):
                print(r["log"], flush=True)
    good = sum(r["ok"] for r in results)
    total, bad = sum(r["checks"] for r in results), sum(len(r["failed"]) for r in results)
    print("\n%d of %d projects pass; %d of %d checks; %d runs" % (
        good, len(results), total - bad, total, sum(r["runs"] for r in results)))
    if opts.report:
        with open(opts.report, "w") as f:
            json.dump(dict(runner=opts.runner, projects=results), f, indent=1)
    return 0 if good == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
