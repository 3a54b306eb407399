"""Host patterns: what names nothing is told, and the operators behave as those of sets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleanslate.errors import InputError, Origin, Problems
from cleanslate.inventory import match_hosts
from cleanslate.inventory.assembly import Assembly
from cleanslate.model import SourceText
from tests.laws import examples

HOSTS = "solo\n[web]\nweb[1:3]\n[db]\ndb1\nweb2\n[empty]\n[gpu-nodes]\ngpu[1:2]\n"


NOTHING = 'error: the pattern "{}" matches no host and no group of the inventory; {}'
GROUPS = "the groups are: web, db, empty, gpu-nodes"
EMPTY = 'error: the host pattern is empty; name hosts or groups, or "all"'
NEGATIVE = 'error: "{}": a range of hosts counts from the first, 0; only a single index may be negative, as [-1]'
BEYOND = 'error: "{}": "web" has 3 hosts, counted from 0; the last one is "web[-1]"'


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("webb", NOTHING.format("webb", 'did you mean "web" or "web3" or "web2"?')),
        ("gpu_nodes", NOTHING.format("gpu_nodes", 'did you mean "gpu-nodes"?')),
        ("storage", NOTHING.format("storage", GROUPS)),
        ("xx:yy:!web", NOTHING.format("xx,yy,!web", GROUPS)),
        ("zz*", NOTHING.format("zz*", GROUPS)),
        ("web:&bd", NOTHING.format("bd", 'did you mean "db"?')),
        ("web1:22", NOTHING.format("web1:22", 'patterns name hosts without their ports: "web1"')),
        ("", EMPTY),
        (" , ", EMPTY),
        ("web:!", 'error: "!" in the host pattern has no name after it'),
        ("web[3]", BEYOND.format("web[3]")),
        ("web[-4]", BEYOND.format("web[-4]")),
        ("web[-2:]", NEGATIVE.format("web[-2:]")),
        ("web[0:-1]", NEGATIVE.format("web[0:-1]")),
        (
            "~(web",
            'error: "~(web" is not a regular expression: missing ), unterminated subpattern at position 0; '
            '":" and "," part a pattern, also within an expression',
        ),
        ("web:db,solo", 'error: the pattern mixes "," and ":" at "web:db"; part the names with "," throughout'),
    ],
)
def test_a_pattern_that_means_nothing_is_refused(written, pattern, told):
    """The message names what is near, or what there is."""
    inventory = written.load(files={"hosts.ini": HOSTS})
    with pytest.raises(InputError) as error:
        match_hosts(pattern, inventory)
    assert told == str(error.value)


def test_the_place_of_the_pattern_is_told(written):
    """A playbook's `hosts:` knows its line."""
    inventory = written.load(files={"hosts.ini": HOSTS})
    with pytest.raises(InputError) as error:
        match_hosts(SourceText("webb", Origin("site.yml", 2, 10)), inventory)
    assert Origin("site.yml", 2, 10) == error.value.origin


def test_a_part_that_names_nothing_is_a_warning_while_others_name_something(written):
    """As in Ansible, `all:!maintenance` works in an inventory without such a group; but a typo is told."""
    inventory = written.load(files={"hosts.ini": HOSTS})
    problems = Problems()
    assert ["web1", "web2", "web3"] == match_hosts("web:dv:!maintenance", inventory, problems=problems)
    assert [str(problem) for problem in problems.found] == [
        'warning: "dv" in the pattern matches no host and no group of the inventory; did you mean "db"?',
        'warning: "maintenance" in the pattern matches no host and no group of the inventory; '
        "the groups are: web, db, empty, gpu-nodes",
    ]


def test_an_unknown_group_with_a_range_is_one_name(written):
    """The colon within its brackets parts nothing."""
    assert ["solo"] == match_hosts("solo,nope[0:1]", written.load(files={"hosts.ini": HOSTS}))


def test_ranges_without_beginning_begin_at_the_first(written):
    """`web[:1]` is documented, and means web[0:1] here (ansible-core takes it for a wildcard)."""
    assert ["web1", "web2"] == match_hosts("web[:1]", written.load(files={"hosts.ini": HOSTS}))


def test_the_fix_for_an_inventory_without_groups_names_its_hosts(written):
    """And for one without hosts says so."""
    for sources, fix in ((["a,b,"], "the hosts are: a, b"), ([","], "the inventory has no hosts")):
        with pytest.raises(InputError) as error:
            match_hosts("nothing_like_it", written.load(*sources))
        assert fix == error.value.fix


def test_a_limit_names_hosts_groups_and_files(written, tmp_path):
    """`@file` holds a host or pattern a line; the order stays the pattern's."""
    inventory = written.load(files={"hosts.ini": HOSTS})
    (tmp_path / "failed").write_text("web3\n\n web1 \n")
    assert ["web1", "web3"] == match_hosts("web", inventory, limit="@failed")
    assert ["web3", "web1"] == match_hosts("web3,web", inventory, limit="@failed")
    assert [] == match_hosts("web", inventory, limit="solo")


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ("wbe", "--limit: " + NOTHING.format("wbe", 'did you mean "web" or "web3" or "web2"?')),
        (
            "@none",
            '--limit: error: the file of hosts "none" cannot be read: No such file or directory; '
            "it holds one host or pattern a line",
        ),
    ],
)
def test_a_limit_that_means_nothing_is_refused(written, limit, told):
    """A typo in --limit must not run a play on nothing."""
    with pytest.raises(InputError) as error:
        match_hosts("web", written.load(files={"hosts.ini": HOSTS}), limit=limit)
    assert told == str(error.value)


# --------------------------------------------------------------------------- laws

NAMES = [f"g{number}" for number in range(5)]


few = examples(30)


def assemble(parents, places):
    """Groups g0 to g4, each below earlier ones; hosts in the groups of their places."""
    made = Assembly()
    for name in NAMES:
        made.group(name, None)
    for one, other in parents:
        if one != other:
            made.child(NAMES[min(one, other)], NAMES[max(one, other)], None)
    for host, group in places:
        made.host(f"h{host}", ["ungrouped", *NAMES][group], None, None)
    return made.finish()


digits = st.integers(0, 4)
inventories = st.builds(
    assemble,
    st.lists(st.tuples(digits, digits), max_size=6),
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 5)), max_size=14),
)
groups = st.sampled_from([*NAMES, "all", "ungrouped", "g*", "~g[0-2]"])


@few
@given(inventories, groups, groups, groups)
def test_operators_are_those_of_sets_in_the_order_of_the_pattern(inventory, first, second, third):
    """Union appends what is new; intersection and exclusion only take away."""

    def of(pattern):
        return match_hosts(pattern, inventory)

    a, b, c = of(first), of(second), of(third)
    assert list(dict.fromkeys([*a, *b])) == of(f"{first}:{second}")
    assert [host for host in a if host in b] == of(f"{first}:&{second}")
    assert [host for host in a if host not in b] == of(f"{first}:!{second}")
    assert [host for host in of(f"{first}:{second}") if host not in c] == of(f"!{third}:{first}:{second}")
    assert [host for host in a if host in b and host not in c] == of(f"!{third}:&{second}:{first}")
    assert of(f"{first}:{second}") == of(f"{first},{second}") == of([first, second])
    assert of(f"all:!{first}") == of(f"!{first}")


@few
@given(inventories, groups, groups)
def test_a_limit_only_takes_away(inventory, pattern, limit):
    """What is left are the pattern's hosts that the limit means too, in the pattern's order."""
    allowed = match_hosts(limit, inventory)
    assert [host for host in match_hosts(pattern, inventory) if host in allowed] == match_hosts(
        pattern, inventory, limit=limit
    )


@few
@given(inventories, st.sampled_from(NAMES), st.integers(0, 8), st.integers(0, 8))
def test_subscripts_are_those_of_lists_with_the_end_included(inventory, group, first, last):
    """[i] is the i-th host, [i:j] those up to and with j, [i:] the rest."""
    hosts = match_hosts(group, inventory)
    assert hosts[first : last + 1] == match_hosts(f"{group}[{first}:{last}]", inventory)
    assert hosts[first:] == match_hosts(f"{group}[{first}:]", inventory)
    if first < len(hosts):
        assert [hosts[first]] == match_hosts(f"{group}[{first}]", inventory)
        assert [hosts[-1 - first]] == match_hosts(f"{group}[{-1 - first}]", inventory)


@few
@given(inventories)
def test_all_is_every_host_once(inventory):
    """And a group holds its children's hosts."""
    everyone = match_hosts("all", inventory)
    assert sorted(inventory.hosts) == sorted(everyone)
    for group in inventory.groups.values():
        held = match_hosts(group.name, inventory)
        assert len(held) == len(set(held))
        for child in group.children:
            assert set(match_hosts(child, inventory)) <= set(held)
