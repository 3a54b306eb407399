"""Facts about network interfaces and addresses, from the kernel (netlink, /sys, /proc)."""

import os
import re
import socket
import struct

from cleanslate.remote.facts_files import line, text

_GET_ADDRESSES, _DUMP, _DONE, _ERROR = 22, 0x301, 3, 2
_ADDRESS, _LOCAL, _BROADCAST = 1, 2, 4
_SCOPES = {0: "global", 200: "site", 253: "link", 254: "host", 255: "nowhere"}
_TYPES = {"1": "ether", "32": "infiniband", "512": "ppp", "65534": "tunnel", "772": "loopback"}
_FLAG_UP, _FLAG_PROMISCUOUS = 0x1, 0x100


def network(options):
    """Interfaces with their addresses, and the default ones."""
    names = sorted(os.listdir("/sys/class/net"))
    addresses = _addresses()
    found = {"interfaces": names, "all_ipv4_addresses": [], "all_ipv6_addresses": []}
    by_name = {}
    for name in names:
        if not os.path.isdir(f"/sys/class/net/{name}"):
            continue
        facts = _interface(name, addresses.get(name, []))
        by_name[name] = facts
        found[re.sub(r"[-:.]", "_", name)] = facts
        for entry in addresses.get(name, []):
            key = "all_ipv4_addresses" if entry["family"] == socket.AF_INET else "all_ipv6_addresses"
            if not entry["address"].startswith("127.") and entry["address"] != "::1":
                found[key].append(entry["address"])
    found["default_ipv4"] = _default(socket.AF_INET, addresses, by_name)
    found["default_ipv6"] = _default(socket.AF_INET6, addresses, by_name)
    return found


def _interface(name, addresses):
    base = f"/sys/class/net/{name}"
    flags = int(line(f"{base}/flags") or "0", 16)
    kind = "bridge" if os.path.isdir(f"{base}/bridge") else _TYPES.get(line(f"{base}/type"), "unknown")
    if os.path.isdir(f"{base}/bonding"):
        kind = "bonding"
    facts = {
        "device": name,
        "mtu": int(line(f"{base}/mtu") or 0),
        "active": bool(flags & _FLAG_UP) and line(f"{base}/operstate") != "down",
        "promisc": bool(flags & _FLAG_PROMISCUOUS),
        "type": kind,
    }
    mac = line(f"{base}/address")
    if mac and mac != "00:00:00:00:00:00":
        facts["macaddress"] = mac
    speed = line(f"{base}/speed")
    if re.fullmatch(r"-?\d+", speed):
        facts["speed"] = int(speed)
    own = [_ipv4(entry) for entry in addresses if entry["family"] == socket.AF_INET]
    if own:
        facts["ipv4"] = own[0]
        if own[1:]:
            facts["ipv4_secondaries"] = own[1:]
    others = [entry for entry in addresses if entry["family"] == socket.AF_INET6]
    if others:
        facts["ipv6"] = [
            {"address": entry["address"], "prefix": str(entry["prefix"]), "scope": entry["scope"]} for entry in others
        ]
    return facts


def _ipv4(entry):
    bits = (0xFFFFFFFF << (32 - entry["prefix"])) & 0xFFFFFFFF
    address = struct.unpack("!I", socket.inet_aton(entry["address"]))[0]
    return {
        "address": entry["address"],
        "broadcast": entry["broadcast"],
        "netmask": socket.inet_ntoa(struct.pack("!I", bits)),
        "network": socket.inet_ntoa(struct.pack("!I", address & bits)),
        "prefix": str(entry["prefix"]),
    }


def _default(family, addresses, by_name):
    """The address that packets to far away come from, and where they go first."""
    gateway, name = _gateway4() if family == socket.AF_INET else _gateway6()
    if name is None:
        return {}
    source = _source(family)
    entries = [entry for entry in addresses.get(name, []) if entry["family"] == family]
    chosen = next((entry for entry in entries if entry["address"] == source), entries[0] if entries else None)
    interface = by_name.get(name, {})
    found = {"gateway": gateway, "interface": name}
    found.update({key: interface[key] for key in ("macaddress", "mtu", "type") if key in interface})
    if chosen is not None and family == socket.AF_INET:
        found.update(_ipv4(chosen), alias=name)
    elif chosen is not None:
        found.update(address=chosen["address"], prefix=str(chosen["prefix"]), scope=chosen["scope"])
    return found


def _source(family):
    target = "192.0.2.1" if family == socket.AF_INET else "2001:db8::1"
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 53))  # of a datagram socket: nothing is sent
            return probe.getsockname()[0]
    except OSError:
        return None


def _gateway4():
    best = None
    for entry in text("/proc/net/route").splitlines()[1:]:
        fields = entry.split()
        if len(fields) > 7 and fields[1] == "00000000" and fields[7] == "00000000" and int(fields[3], 16) & 1:
            metric = int(fields[6])
            if best is None or metric < best[0]:
                best = (metric, socket.inet_ntoa(struct.pack("=I", int(fields[2], 16))), fields[0])
    return best[1:] if best else (None, None)


def _gateway6():
    best = None
    for entry in text("/proc/net/ipv6_route").splitlines():
        fields = entry.split()
        if len(fields) < 10 or fields[0].strip("0") or fields[1] != "00" or fields[9] == "lo":
            continue
        metric = int(fields[5], 16)
        if best is None or metric < best[0]:
            best = (metric, socket.inet_ntop(socket.AF_INET6, bytes.fromhex(fields[4])), fields[9])
    return best[1:] if best else (None, None)


# --------------------------------------------------------------------------- netlink


def _addresses():
    """{interface: [{family, address, prefix, broadcast, scope}]}, in the kernel's order."""
    found = {}
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        link.settimeout(2.0)
        link.bind((0, 0))
        link.send(struct.pack("=IHHIIBxxxI", 24, _GET_ADDRESSES, _DUMP, 1, 0, socket.AF_UNSPEC, 0))
        while True:
            data = link.recv(1 << 16)
            while len(data) >= 16:
                length, kind = struct.unpack_from("=IH", data)
                if kind in (_DONE, _ERROR) or length < 16:
                    return found
                _take(data[16:length], found)
                data = data[(length + 3) & ~3 :]


def _take(message, found):
    family, prefix, _, scope, index = struct.unpack_from("=BBBBI", message)
    if family not in (socket.AF_INET, socket.AF_INET6):
        return
    parts, at = {}, 8
    while at + 4 <= len(message):
        size, kind = struct.unpack_from("=HH", message, at)
        if size < 4:
            break
        parts[kind] = message[at + 4 : at + size]
        at += (size + 3) & ~3
    raw = parts.get(_LOCAL) or parts.get(_ADDRESS)
    if not raw:
        return
    try:
        name = socket.if_indextoname(index)
    except OSError:
        return
    broadcast = parts.get(_BROADCAST)
    found.setdefault(name, []).append(
        {
            "family": family,
            "address": socket.inet_ntop(family, raw),
            "prefix": prefix,
            "broadcast": socket.inet_ntop(family, broadcast) if broadcast else "",
            "scope": _SCOPES.get(scope, "unknown"),
        }
    )
