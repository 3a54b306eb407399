r"""Follows a log by inode and byte offset, and cuts it at carriage returns as well as at line ends.

Progress bars write `\r` in front of each state and no line end until they are done, eight ranks interleave, and a
log may be replaced under us. So nothing here waits for a whole line: what stands behind the last cut is given too.
"""

import os
import re

_CUT = re.compile(r"[\r\n]+")
_PIECE = 1 << 20
_MOST_A_LOOK = 8 << 20
_LONGEST = 1 << 16


class Log:
    """One log. With `at_end`, what it holds already is not read."""

    def __init__(self, path, at_end=False):
        self.path = path
        self.inode = None
        self.offset = 0
        self.bytes_seen = 0
        self._rest = b""
        if at_end:
            try:
                info = os.stat(path)
                self.inode, self.offset = info.st_ino, info.st_size
            except OSError:
                pass

    def read(self):
        """What was written since the last look, as texts; the last one may be the beginning of a longer one.

        That last one is given again, longer, with the next look.
        """
        data = self._bytes()
        if not data:
            return []
        self.bytes_seen += len(data)
        whole = self._rest + data
        texts = _CUT.split(whole.decode("utf-8", "replace"))
        at = max(whole.rfind(b"\r"), whole.rfind(b"\n")) + 1
        self._rest = whole[at:][-_LONGEST:]
        return [text for text in texts if text.strip()]

    def _bytes(self):
        try:
            with open(self.path, "rb") as file:
                info = os.fstat(file.fileno())
                if info.st_ino != self.inode or info.st_size < self.offset:
                    self.inode, self.offset, self._rest = info.st_ino, 0, b""
                file.seek(self.offset)
                pieces = []
                while len(pieces) * _PIECE < _MOST_A_LOOK:
                    piece = file.read(_PIECE)
                    if not piece:
                        break
                    pieces.append(piece)
                self.offset = file.tell()
        except OSError:
            return b""
        return b"".join(pieces)
