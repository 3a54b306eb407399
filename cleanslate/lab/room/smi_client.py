"""`nvidia-smi` in the lab's machines: hands its arguments to the driver and prints what it answers.

Run as `python3 -I -S smi_client.py FOLDER [ARGUMENT...]`; it imports as little as it can, since the real one takes
22 ms. FOLDER holds the driver's socket; it is reached through a descriptor because a socket's address may have 107
bytes only, and the lab may lie deeper than that.
"""

import os
import sys

_LOST = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n\n"
)


def ask(folder: str, words: list[str]) -> tuple[int, bytes]:
    """Give the driver's answer to a request: exit code and text. Raises OSError when there is no driver."""
    import _socket

    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.connect(f"/proc/self/fd/{directory}/driver.sock")
        connection.sendall("\0".join(words).encode("utf-8", "surrogateescape"))
        connection.shutdown(_socket.SHUT_WR)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    finally:
        connection.close()
        os.close(directory)
    code, mark, text = b"".join(parts).partition(b"\n")
    if not mark:
        raise OSError("the driver hung up")
    return int(code), text


def main() -> int:
    """Behave as nvidia-smi."""
    try:
        code, text = ask(sys.argv[1], ["smi", *sys.argv[2:]])
    except OSError:
        code, text = 9, _LOST.encode()
    sys.stdout.buffer.write(text)
    sys.stdout.flush()
    return code


if __name__ == "__main__":
    sys.exit(main())
