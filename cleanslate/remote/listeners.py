"""Who listens on a TCP port of this machine, from /proc/net, without binding anything.

Binding to find out gives false alarms: sockets in TIME_WAIT do not hinder a server that sets SO_REUSEADDR.
"""

import os

from cleanslate.remote import processes

_LISTEN = "0A"


def listening_on(port, table):
    """The pids that have a listening socket on this port, as far as this user may see descriptors."""
    wanted = {"socket:[%s]" % inode for inode in sockets(port)}
    if not wanted:
        return []
    return [pid for pid in table if wanted & _sockets_of(pid)]


def sockets(port):
    """The inodes of the listening sockets on this port in our network namespace, IPv4 and IPv6."""
    found = []
    for name in ("tcp", "tcp6"):
        text = processes.read_text("/proc/self/net/%s" % name) or ""
        for line in text.splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _LISTEN and int(fields[1].rsplit(":", 1)[1], 16) == port:
                found.append(fields[9])
    return found


def _sockets_of(pid):
    folder = "/proc/%d/fd" % pid
    found = set()
    try:
        for entry in os.listdir(folder):
            try:
                found.add(os.readlink(folder + "/" + entry))
            except OSError:
                continue
    except OSError:
        return set()
    return found
