"""Lookups and `with_*` loops: what they give, what they keep, what they tell."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from cleanslate.errors import Origin, RenderError
from cleanslate.model import SourceMap, SourceText
from cleanslate.redaction import Secrets
from cleanslate.render import Renderer, Variables, with_items
from cleanslate.yamlfile import load_yaml
from tests.render.against_ansible import ENVIRONMENT, LOOPS

TABLE = load_yaml(LOOPS / "loops.yml")
ITEMS = json.loads((LOOPS / "loops.json").read_text())
ROWS = [
    pytest.param(kind, terms, outcome, id=f"with_{kind}: {terms}"[:80])
    for entry, outcome in zip(TABLE["loops"], ITEMS, strict=True)
    for kind, terms in entry.items()
]


@pytest.mark.parametrize(("kind", "terms", "expected"), ROWS)
def test_a_loop_has_the_items_that_ansible_gives_it(kind, terms, expected, monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    renderer = Renderer(lookup_paths=lambda folder: [LOOPS / folder, LOOPS])
    variables = Variables([TABLE["vars"]], renderer)
    if "error" in expected:
        with pytest.raises(RenderError):
            with_items(kind, terms, variables)
        return
    assert expected["items"] == json.loads(json.dumps(with_items(kind, terms, variables)).replace(str(LOOPS), "HERE"))


def test_first_found_looks_where_the_step_keeps_such_files():
    renderer = Renderer(lookup_paths=lambda folder: [LOOPS / folder])
    for folder, name in (("templates", "t.j2"), ("vars", "v.yml")):
        found = with_items("first_found", [name], Variables([{}], renderer), folder=folder)
        assert found == [str(LOOPS / folder / name)]


def test_loops_take_plain_mappings_and_name_their_place():
    assert with_items("items", [1, [2]], {}) == [1, 2]
    with pytest.raises(RenderError) as raised:
        with_items("fiel", SourceText("x", Origin("p.yml", 3, 5)), {})
    assert str(raised.value) == 'p.yml:3:5: there is no lookup "fiel", in x; did you mean "file"?'


def render(template, variables=None, **options):
    renderer = Renderer(**options)
    return renderer.render(SourceText(template, Origin("p.yml", 1, 1)), Variables([variables or {}], renderer))


def test_a_password_is_made_once_kept_privately_and_is_a_secret(tmp_path):
    secrets = Secrets()
    template = f"{{{{ lookup('password', '{tmp_path}/new/pw length=12 chars=ascii_letters') }}}}"
    first = render(template, secrets=secrets)
    assert first == render(template)
    assert (len(first), first.isalpha()) == (12, True)
    assert (tmp_path / "new/pw").read_text() == f"{first}\n"
    assert (tmp_path / "new/pw").stat().st_mode & 0o777 == 0o600
    assert secrets.redact_text(f"pw {first}") == "pw ********"


@pytest.mark.slow
def test_a_password_may_be_hashed_with_a_salt_that_is_kept(tmp_path):
    template = f"{{{{ lookup('password', '{tmp_path}/pw encrypt=sha512_crypt', seed='x') }}}}".replace("_crypt", "")
    first = render(template)
    assert first.startswith("$6$")
    assert first == render(template)
    assert " salt=" in (tmp_path / "pw").read_text()


def test_without_search_folders_files_are_those_of_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "x.txt").write_text("here\n")
    monkeypatch.chdir(tmp_path)
    assert render("{{ lookup('file', 'x.txt') }}") == "here"
    with pytest.raises(RenderError) as raised:
        render("{{ lookup('file', 'y.txt') }}")
    assert raised.value.fix == f"looked in {tmp_path}"


def test_a_vault_file_is_decrypted_and_its_content_is_a_secret(tmp_path):
    (tmp_path / "x").write_text("$ANSIBLE_VAULT;1.1;AES256\n6162\n")
    secrets = Secrets()
    template = f"{{{{ lookup('file', '{tmp_path}/x') }}}}"
    assert render(template, decrypt=lambda text: "the secret text\n", secrets=secrets) == "the secret text"
    assert secrets.redact_text("the secret text") == "********"
    with pytest.raises(RenderError, match="no vault password was given"):
        render(template)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "x").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RenderError, match="no text in UTF-8"):
        render(f"{{{{ lookup('file', '{tmp_path}/x') }}}}")


def test_what_a_lookup_reads_is_data(tmp_path):
    (tmp_path / "x").write_text("{{ 1 + 1 }}")
    assert render(f"{{{{ lookup('file', '{tmp_path}/x') }}}}") == "{{ 1 + 1 }}"
    assert render('{{ lookup(\'pipe\', \'echo "{" "{ 1 }" "}"\') }}') == "{ { 1 } }"


def test_a_forgiven_error_and_an_unknown_option_are_noted():
    notes = []
    note = lambda text, origin: notes.append((text, str(origin)))  # noqa: E731
    assert render("{{ lookup('file', '/nope', errors='warn') }}", note=note) is None
    assert render("{{ lookup('env', 'NOPE_NOPE', defualt=1) }}", note=note) == ""
    assert notes == [
        ('lookup file: no file "/nope"', "p.yml:1:1"),
        ('lookup "env" has no option "defualt"; did you mean "default"?', "p.yml:1:1"),
    ]


def test_templates_in_text_constants_work_in_lookups_and_are_noted():
    notes = []
    found = render(
        "{{ lookup('vars', 'a_{{ n }}') }}",
        {"n": 1, "a_1": "found"},
        note=lambda text, origin: notes.append(text),
    )
    assert found == "found"
    assert notes == ["a text constant should hold no template: write the name bare"]


class _Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        known = self.headers.get("Authorization") == "Basic YW5uOnB3"
        status = 404 if self.path == "/nope" else 401 if self.path == "/private" and not known else 200
        self.send_response(status)
        self.end_headers()
        self.wfile.write(f"one\ntwo {self.headers.get('X-Case', '-')}\n".encode())

    def log_message(self, *args):
        pass


@pytest.fixture
def address():
    with HTTPServer(("127.0.0.1", 0), _Pages) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_pages_are_read_as_lines_or_as_text(address):
    layer = {"at": address}
    assert render("{{ query('url', at ~ '/x') }}", layer) == ["one", "two -"]
    assert render("{{ lookup('url', at ~ '/x', split_lines=false) }}", layer) == "one\ntwo -\n"
    assert render("{{ lookup('url', at ~ '/x', headers={'X-Case': 'yes'}) }}", layer) == "one,two yes"
    assert render("{{ lookup('url', at ~ '/private', username='ann', password='pw') }}", layer) == "one,two -"


def test_pages_that_cannot_be_read_say_why(address):
    with pytest.raises(RenderError, match="answered 404"):
        render("{{ lookup('url', at ~ '/nope') }}", {"at": address})
    with pytest.raises(RenderError, match="answered 401"):
        render("{{ lookup('url', at ~ '/private') }}", {"at": address})
    with pytest.raises(RenderError, match="could not be read"):
        render("{{ lookup('url', 'http://127.0.0.1:1/') }}")
    with pytest.raises(RenderError, match="http or https"):
        render("{{ lookup('url', 'file:///etc/passwd') }}")


def test_a_sequence_ends_before_it_fills_the_memory():
    with pytest.raises(RenderError, match="more than 1000000 items"):
        render("{{ query('sequence', 'end=99999999999') }}")


def test_hosts_are_named_by_patterns_over_the_groups():
    layer = {"groups": {"all": ["a1", "a2", "b1"], "web": ["a1", "a2"], "db": ["b1"]}}
    for pattern, expected in (
        ("web", ["a1", "a2"]),
        ("all:!db", ["a1", "a2"]),
        ("web:&all:!a1", ["a2"]),
        ("a?", ["a1", "a2"]),
        ("b1,a2", ["b1", "a2"]),
        ("nope", []),
    ):
        assert expected == render("{{ query('inventory_hostnames', pattern) }}", {**layer, "pattern": pattern})


def test_lookups_in_variables_run_when_the_variable_is_used(tmp_path):
    layer = SourceMap({"made": SourceText(f"{{{{ lookup('pipe', 'echo x >> {tmp_path}/log; echo made') }}}}")})
    renderer = Renderer()
    variables = Variables([layer], renderer)
    assert not (tmp_path / "log").exists()
    assert renderer.render(SourceText("{{ made }} {{ made }}"), variables) == "made made"
    assert (tmp_path / "log").read_text() == "x\n"
