"""Ranges, ports and addresses in host names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleanslate.inventory.names import NameMistake, expand_hosts
from tests.laws import examples


@pytest.mark.parametrize(
    ("text", "hosts", "port"),
    [
        ("h", ["h"], None),
        ("h:22", ["h"], 22),
        ("n[1:3]", ["n1", "n2", "n3"], None),
        ("n[08:10]", ["n08", "n09", "n10"], None),
        ("n[1:010]", ["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10"], None),
        ("n[0:10:5]x:22", ["n0x", "n5x", "n10x"], 22),
        ("[a:c][1:2]", ["a1", "a2", "b1", "b2", "c1", "c2"], None),
        ("n[a:e:2]", ["na", "nc", "ne"], None),
        ("[2001:db8::[1:2]]:22", ["2001:db8::1", "2001:db8::2"], 22),
        ("[::1]", ["::1"], None),
        ("1:2:3:4:5:6:7:8", ["1:2:3:4:5:6:7:8"], None),
        ("[1:2:3:4:5:6:7:8]:99", ["1:2:3:4:5:6:7:8"], 99),
        ("[1:3]:22", ["1", "2", "3"], 22),
        ("fe80::1%eth0", ["fe80::1%eth0"], None),
    ],
)
def test_a_name_stands_for_hosts_and_a_port(text, hosts, port):
    """Ranges are expanded, the last one fastest; ports come off."""
    assert (hosts, port) == expand_hosts(text)


@pytest.mark.parametrize(
    ("text", "offset", "what"),
    [
        ("n[3:1]", 1, 'the range "[3:1]" counts down'),
        ("n[c:a]", 1, 'the range "[c:a]" counts down'),
        ("n[01:3]", 1, 'the ends of the range "[01:3]" differ in length'),
        ("n[1:x]", 1, 'the range "[1:x]" goes from "1" to "x"'),
        ("n[1:²]", 1, 'the range "[1:²]" goes from "1" to "²"'),
        ("ab[1:3:0]", 2, 'the step of the range "[1:3:0]" is "0"'),
        ("n[1:2:3:4]", 1, '"[1:2:3:4]" is not a range'),
        ("n1]", 2, '"n1]" has a "]" without its partner'),
        ("n[1:2][", 6, '"n[1:2][" has a "[" without its partner'),
        ("n[1:99999999]", 1, '"[1:99999999]" stands for more than 65536 hosts'),
        ("n[1:9999][1:9999]", 9, '"n[1:9999][1:9999]" stands for more than 65536 hosts'),
        ("h:", 2, '"h:" ends in ":", which announces a port'),
        ("h:0", 2, "0 is not a port"),
        ("h:65536", 2, "65536 is not a port"),
        ("h:ssh", 2, '"ssh" is not a port number'),
    ],
)
def test_a_wrong_name_is_refused_with_its_place(text, offset, what):
    """The message says what is wrong, and where in the name."""
    with pytest.raises(NameMistake) as told:
        expand_hosts(text)
    assert (what, offset) == (told.value.what, told.value.offset)


@examples(40)
@given(st.integers(0, 300), st.integers(0, 60), st.integers(1, 9), st.integers(1, 5))
def test_a_padded_range_counts_with_equal_width(start, length, step, width):
    """As Python's range does, each number as wide as the first."""
    first, last = str(start).zfill(width), str(start + length).zfill(width)
    if first.startswith("0") and len(first) > 1 and len(first) != len(last):
        return
    padded = first.startswith("0") and len(first) > 1
    expected = [
        f"n{str(number).zfill(len(first) if padded else 0)}" for number in range(start, start + length + 1, step)
    ]
    assert expected == expand_hosts(f"n[{first}:{last}:{step}]")[0]
