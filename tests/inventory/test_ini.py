"""INI inventories: every mistake with its place, values that know theirs, words as shlex splits them."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleanslate.errors import Origin
from cleanslate.inventory.literals import literal
from cleanslate.inventory.words import QuoteMistake, split_words
from cleanslate.model import SourceText
from tests.laws import examples


def test_every_mistake_of_a_file_is_told_at_once_with_its_place(written):
    """Line, column, and what to do."""
    text = (
        "[web]\nweb[1:]  x=1\nweb1 noequals\nw2 y='open\ndb:port\n[web:var]\na=1\n[dbs:children]\nwebb\nweb x\n"
        "[nope:vars]\nx=1\n[web:vars]\nx: 5\njust words\nansible_group_priority=high\n"
        "[a:children]\nb\n[b:children]\na\n[ c ]\nzz\n"
    )
    assert written.mistakes(files={"hosts.ini": text}) == [
        'hosts.ini:2:4: error: the range "[1:]" has no end; a range reads [first:last]',
        'hosts.ini:3:6: error: "noequals" sets no variable; variables read name=value; quote a value that holds blanks',
        "hosts.ini:4:6: error: the quote ' is not closed; close it, or escape it with a backslash",
        'hosts.ini:5:4: error: "port" is not a port number; a name may hold no colon',
        'hosts.ini:6:6: error: "var" is no kind of section; did you mean "vars"?',
        'hosts.ini:9:1: error: group "dbs" has the child "webb", which no source declares; did you mean "web"?',
        'hosts.ini:10:1: error: "web x" is not one group name; below [dbs:children] stands one group a line',
        'hosts.ini:11:2: error: variables are set for group "nope", which no source declares; declare it with [nope]',
        'hosts.ini:14:1: error: "x: 5" sets no variable; write "=" instead of ":"',
        'hosts.ini:15:1: error: "just words" sets no variable; a line reads name=value',
        'hosts.ini:16:24: error: ansible_group_priority of group "web" is "high"; it must be a whole number',
        "hosts.ini:20:1: error: the groups hold one another in a circle: a > b > a; take one of them out",
        'hosts.ini:21:2: error: "[ c ]" names no group; a header reads [group] or [group:vars], without blanks',
    ]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("[g] ; c", '1:5: error: ";" begins no comment after a header; write "#"'),
        ("[g:hosts:x]", '1:4: error: "hosts:x" is no kind of section; did you mean "hosts"?'),
        ("[::1]", '1:2: error: "[::1]" names no group; a header reads [group] or [group:vars], without blanks'),
        ("[g", '1:1: error: "[g" has a "[" without its partner; a range reads [first:last]'),
        ("all:", '1:1: error: "all:" looks like YAML; a YAML inventory\'s file is named *.yml or *.yaml'),
        ("---", '1:1: error: "---" looks like YAML; a YAML inventory\'s file is named *.yml or *.yaml'),
        ('"" x=1', "1:1: error: the host has no name; a host line begins with the host's name"),
        ("h =1", '1:3: error: "=1" sets no variable; variables read name=value; quote a value that holds blanks'),
        ("h a = 1", '1:3: error: "a" sets no variable; variables read name=value; quote a value that holds blanks'),
        ("h x\\", "1:4: error: the line ends in a backslash; close it, or escape it with a backslash"),
        ("  h:", '1:3: error: "h:" looks like YAML; a YAML inventory\'s file is named *.yml or *.yaml'),
        ("[g:children]\ng", '2:1: error: group "g" is its own child; take it out of its children'),
        ("[g:children]\nall", '2:1: error: group "g" has "all" as a child; "all" holds every group already'),
        ("[g]\n[g:vars]\n=5", "3:1: error: the variable has no name; a line reads name=value"),
    ],
)
def test_a_wrong_line_is_explained(written, line, told):
    """What people get wrong, and how to put it right."""
    assert f"hosts.ini:{told}" in written.mistakes(files={"hosts.ini": line + "\n"})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("h a=b#c", 'hosts.ini:1:6: warning: "#" begins a comment here; quote the value if it belongs to it'),
        (
            "[g]\nh\n[g:vars]\na-b=1",
            'hosts.ini:4:1: warning: "a-b" is no name that a template can use; '
            "names hold letters, digits and underscores",
        ),
        (
            "[h]\nh",
            'hosts.ini:2:1: warning: "h" is the name of a host and of a group; '
            'the pattern "h" means the host; give one of them another name',
        ),
        (
            "h\nh:2222",
            'hosts.ini:2:1: warning: the port of "h:2222" is not used, because the host was named before; '
            "set ansible_port=2222",
        ),
    ],
)
def test_what_ansible_passes_over_is_a_warning(written, text, told):
    """The inventory loads, and says what is odd about it."""
    assert [told] == [str(warning) for warning in written.load(files={"hosts.ini": text}).warnings]


def test_values_know_where_they_stand(written):
    """Line and column of a value on a host line and in [g:vars]; names too."""
    inventory = written.load(
        files={"hosts.ini": '[g]\n  h  a=text  b="two words" c=5\n[g:vars]\nd =  "x y"\ne = {\'k\': "{{ a }}"}\n'}
    )
    host, group = inventory.hosts["h"].vars, inventory.groups["g"].vars
    assert [Origin("hosts.ini", 2, 8), Origin("hosts.ini", 2, 17)] == [host["a"].origin, host["b"].origin]
    assert [Origin("hosts.ini", 2, 30), Origin("hosts.ini", 2, 28)] == [host.value_origin("c"), host.key_origin("c")]
    assert [Origin("hosts.ini", 4, 7), Origin("hosts.ini", 4, 1)] == [group["d"].origin, group.key_origin("d")]
    assert Origin("hosts.ini", 5, 5) == group["e"]["k"].origin


def test_text_is_trusted_as_a_template(written):
    """Inventory text is the repository's, so all of it is SourceText, within lists and maps too."""
    values = written.load(files={"hosts.ini": 'h a={{x}} b="[\'{{y}}\']" c=\'{"k": "z"}\'\n'}).hosts["h"].vars
    assert [SourceText] * 3 == [type(text) for text in (values["a"], values["b"][0], values["c"]["k"])]


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path, written):
    """Files from other systems load."""
    (tmp_path / "h").write_bytes(b"\xef\xbb\xbf[g]\r\nh\r\n")
    assert ["h"] == written.load("h").groups["g"].hosts


@examples(40)
@given(st.text(alphabet="ab= \t'\"\\#", max_size=12))
def test_words_are_those_of_shlex(line):
    """Ansible splits host lines with shlex; ours gives the same words, and refuses the same lines."""
    try:
        expected = shlex.split(line, comments=True)
    except ValueError:
        with pytest.raises(QuoteMistake):
            split_words(line)
    else:
        assert expected == [word.text for word in split_words(line)[0]]


@examples(40)
@given(st.text(alphabet="ab= '\"\\#", max_size=12))
def test_each_character_of_a_word_knows_its_column(line):
    """The columns point at the characters themselves."""
    try:
        words, _ = split_words(line)
    except QuoteMistake:
        return
    for word in words:
        assert word.text == "".join(line[column - 1] for column in word.columns[:-1])


@examples(40)
@given(
    st.one_of(
        st.integers(),
        st.booleans(),
        st.none(),
        st.lists(st.integers(), max_size=3),
        st.floats(allow_nan=False, allow_infinity=False),
    )
)
def test_python_literals_keep_their_value(value):
    """What Python writes down, the inventory reads back."""
    assert value == literal(repr(value), Origin("x", 1, 1))


@pytest.mark.parametrize(
    "text", ["true", "no", "0644", "1.2.3.4", "/dev/x", "a b", "", "5x", "--tp 2", "[1,", "5 + x", "f()", "-"]
)
def test_all_else_is_text(text):
    """No YAML booleans, no octals, no expressions."""
    assert (SourceText, text) == (type(literal(text, Origin("x", 1, 1))), literal(text, Origin("x", 1, 1)))
