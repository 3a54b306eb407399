"""What a file mode as people write it means in bits: `0644`, `u=rw,g+X`, with the umask where chmod uses it."""

import os
import re
import stat

from cleanslate.remote.registry import Failed

_CLAUSE = re.compile(r"([ugoa]*)((?:[-+=](?:[ugo]|[rwxXst]*))+)")
_OPERATION = re.compile(r"([-+=])([ugo]|[rwxXst]*)")


def umask():
    """The umask of this process, read without changing it: other calls may be creating files right now."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("Umask:"):
                    return int(line.split()[1], 8)
    except OSError:
        pass
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def mode_text(mode):
    """Permission bits as Ansible's results have them: `0644`, `02775`."""
    return f"0{stat.S_IMODE(mode):03o}"


def mode_number(text, current=0, directory=False, mask=None):
    """The permission bits that `0644` or `u=rw,g+r` mean for something whose bits are `current`."""
    text = str(text).strip()
    if re.fullmatch(r"(0o?)?[0-7]{1,4}", text):
        return int(text.replace("o", ""), 8)
    bits = stat.S_IMODE(current)
    for clause in text.split(","):
        match = _CLAUSE.fullmatch(clause.strip())
        if not match:
            raise Failed("wrong", f'"{text}" is not a file mode: write it like "0644" or "u=rw,g=r"')
        for operator, permissions in _OPERATION.findall(match.group(2)):
            bits = _operate(bits, match.group(1), operator, permissions, directory, umask() if mask is None else mask)
    return bits


def _operate(bits, who, operator, permissions, directory, mask):
    everyone = not who or "a" in who
    result = bits
    for shift, letter, special in ((6, "u", 0o4000), (3, "g", 0o2000), (0, "o", 0o1000)):
        if not everyone and letter not in who:
            continue
        value = _permission_bits(permissions, bits, directory) << shift
        if "s" in permissions and letter != "o":
            value |= special
        if not who:
            value &= ~mask
        clear = (0o7 << shift) | special
        if operator == "+":
            result |= value
        elif operator == "-":
            result &= ~value
        else:
            result = (result & ~clear) | value
    if "t" in permissions:
        result = result & ~0o1000 if operator == "-" else result | 0o1000
    return result


def _permission_bits(permissions, bits, directory):
    if permissions in ("u", "g", "o"):
        return (bits >> {"u": 6, "g": 3, "o": 0}[permissions]) & 0o7
    value = 0
    for letter in permissions:
        if letter == "X":
            value |= 0o1 if directory or bits & 0o111 else 0
        else:
            value |= {"r": 0o4, "w": 0o2, "x": 0o1}.get(letter, 0)
    return value
