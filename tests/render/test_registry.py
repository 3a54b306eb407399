"""Every filter, test and lookup of ansible-core is here or refused with a reason, and imports wait until needed."""

import importlib
import subprocess
import sys

import pytest

from cleanslate.errors import RenderError
from cleanslate.model import SourceText
from cleanslate.render import Renderer, filters, jinja_tests, lookups
from cleanslate.render.environment import environment

ANSIBLE_FILTERS = """
    b64decode b64encode basename bool checksum combinations combine comment commonpath dict2items difference
    dirname expanduser expandvars extract fileglob flatten from_json from_yaml from_yaml_all hash
    human_readable human_to_bytes intersect items2dict log mandatory md5 normpath password_hash path_join
    permutations pow product quote random realpath regex_escape regex_findall regex_replace regex_search
    rekey_on_member relpath root sha1 shuffle split splitext strftime subelements symmetric_difference ternary
    to_datetime to_json to_nice_json to_nice_yaml to_uuid to_yaml type_debug union unique unvault urldecode
    urlsplit vault win_basename win_dirname win_splitdrive zip zip_longest
"""
JINJA_FILTERS = """
    abs attr batch capitalize center count d default dictsort e escape filesizeformat first float forceescape
    format groupby indent int items join last length list lower map max min pprint reject rejectattr replace
    reverse round safe select selectattr slice sort string striptags sum title tojson trim truncate upper
    urlencode urlize wordcount wordwrap xmlattr
"""
ANSIBLE_TESTS = """
    abs all any change changed contains directory exists failed failure falsy file finished is_abs is_dir
    is_file is_link is_mount is_same_file isnan issubset issuperset link link_exists match mount nan reachable
    regex same_file search skip skipped started subset succeeded success successful superset timedout truthy
    unreachable uri url urn vault_encrypted vaulted_file version version_compare
"""
JINJA_TESTS = """
    boolean callable defined divisibleby eq equalto escaped even false filter float ge greaterthan gt in
    integer iterable le lessthan lower lt mapping ne none number odd sameas sequence string test true
    undefined upper
"""
ANSIBLE_LOOKUPS = """
    config csvfile dict env file fileglob first_found indexed_items ini inventory_hostnames items lines list
    nested password pipe random_choice sequence subelements template together unvault url varnames vars
"""


@pytest.mark.parametrize("prefix", ["", "ansible.builtin.", "ansible.legacy."])
def test_every_filter_of_ansible_and_jinja_is_known(prefix):
    known = environment().filters
    assert [name for name in (ANSIBLE_FILTERS + JINJA_FILTERS).split() if prefix + name not in known] == []


@pytest.mark.parametrize("prefix", ["", "ansible.builtin.", "ansible.legacy."])
def test_every_test_of_ansible_and_jinja_is_known(prefix):
    known = environment().tests
    assert [name for name in (ANSIBLE_TESTS + JINJA_TESTS).split() if prefix + name not in known] == []


def test_every_lookup_of_ansible_is_known():
    assert set(ANSIBLE_LOOKUPS.split()) == {*lookups.NAMES, *lookups.REFUSED}


@pytest.mark.parametrize("package", [filters, jinja_tests, lookups], ids=lambda package: package.__name__)
def test_each_family_holds_what_the_list_says(package):
    for family, names in package.FAMILIES.items():
        module = importlib.import_module(f"{package.__name__}.{family}")
        assert sorted(names) == sorted(module.FUNCTIONS)
        undocumented = [name for name, function in module.FUNCTIONS.items() if not function.__doc__]
        assert undocumented == [] or family in ("paths", "hashes")


@pytest.mark.parametrize("name", sorted(filters.REFUSED))
def test_what_is_refused_says_why(name):
    with pytest.raises(RenderError, match="is not supported: "):
        Renderer().render(SourceText(f"{{{{ 'x' | {name} }}}}"), {})


def _imported_after(code):
    script = f"import sys\n{code}\nprint(*[name for name in ('jinja2', 'yaml', 'pydantic') if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()


PLAIN = """
from cleanslate.errors import Problems
from cleanslate.model import SourceMap, SourceText
from cleanslate.render import Renderer, Variables, check_template, free_names, is_template, with_items
from cleanslate.redaction import Secrets
play = SourceMap({"name": SourceText("plain"), "path": SourceText("/tmp/x"), "n": 1})
problems = Problems()
check_template(play, problems)
assert not is_template(play) and free_names(play) == set() and not problems.found
renderer = Renderer()
renderer.render(play, Variables([{}], renderer))
"""


def test_a_play_without_templates_never_imports_jinja():
    assert _imported_after(PLAIN) == []


def test_a_bare_variable_needs_no_jinja_either():
    code = PLAIN + "assert renderer.render(SourceText('{{ x }}'), {'x': 1}) == 1"
    assert _imported_after(code) == []


def test_a_template_imports_jinja_and_only_the_families_it_uses():
    code = PLAIN + "assert renderer.render(SourceText('{{ x | upper }}'), {'x': 'a'}) == 'A'"
    assert _imported_after(code) == ["jinja2"]


@pytest.mark.parametrize(
    ("hashtype", "salt", "rounds", "expected"),
    [
        # What `openssl passwd -5` and `-6` give.
        ("sha256", "saltstring", 5000, "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"),
        (
            "sha256",
            "saltstringsaltst",
            10000,
            "$5$rounds=10000$saltstringsaltst$3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA",
        ),
        (
            "sha512",
            "saltstring",
            5000,
            "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
        ),
    ],
)
def test_password_hashes_are_those_of_openssl(hashtype, salt, rounds, expected):
    template = SourceText(f"{{{{ 'Hello world!' | password_hash('{hashtype}', '{salt}', rounds={rounds}) }}}}")
    assert expected == Renderer().render(template, {})


def test_a_password_hash_without_a_salt_has_a_new_one_each_time():
    made = [Renderer().render(SourceText("{{ 'pw' | password_hash('sha512', rounds=1000) }}"), {}) for _ in range(2)]
    assert made[0] != made[1]
    assert made[0].startswith("$6$rounds=1000$")


@pytest.mark.parametrize("salt", ["", "with blank", "x" * 17, "ü", "a$b"])
def test_a_salt_that_crypt_would_read_otherwise_is_refused(salt):
    with pytest.raises(RenderError, match="a salt is"):
        Renderer().render(SourceText("{{ 'pw' | password_hash('sha512', salt) }}"), {"salt": salt})
