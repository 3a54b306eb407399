"""The connection's own reading: what came at once is taken at once, and given out as it is asked for."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleanslate.connect import ssh_transport
from cleanslate.connect.ssh_transport import ListeningPacketizer


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(0.05)
        yield ours, theirs


@given(pieces=st.lists(st.binary(min_size=1, max_size=40), min_size=1), sizes=st.lists(st.integers(1, 30), min_size=1))
def test_nothing_is_lost_or_added_however_it_comes_and_is_asked_for(pieces, sizes):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for piece in pieces:
            theirs.sendall(piece)
        theirs.shutdown(socket.SHUT_WR)
        ahead, taken = ssh_transport._ReadAhead(ours), []
        while data := ahead.recv(sizes[len(taken) % len(sizes)]):
            assert len(data) <= sizes[len(taken) % len(sizes)]
            taken.append(data)
    assert b"".join(pieces) == b"".join(taken)


def test_the_time_of_the_last_word_is_told(pair):
    ours, theirs = pair
    packetizer = ListeningPacketizer(ours)
    before = packetizer.heard
    theirs.sendall(b"0123456789abcdef")
    read = packetizer.read_all(8), packetizer.read_all(8)
    assert ((b"01234567", b"89abcdef"), True) == (read, packetizer.heard > before)


def test_a_handshake_needs_no_thread_of_its_own(pair):
    packetizer = ListeningPacketizer(pair[0])
    packetizer.start_handshake(0.0)
    assert not packetizer.handshake_timed_out()
