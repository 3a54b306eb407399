"""How a function becomes a call: its name is `module.function`, and it says whether it only reads.

    @reads
    def stat(call, path, follow=False):
        return {"exists": ...}

A call gets the `Call` first, then its named arguments (JSON types). It returns a dict of JSON types, or
`(dict, bytes)`, or for what may be large `(dict, binary file)`: that is sent piece by piece, then closed.
It raises `Failed(kind, message, **details)` for what the step must know (`missing`, `denied`, `exists`,
`wrong`, `unsupported`); any other exception reaches the controller as kind `bug` with its traceback.
A call that waits must look at `call.left()` (seconds to its deadline) and `call.cancelled` often, and tell
what it sees through `call.progress`. Whatever it starts and does not detach on purpose must be ended when the
call ends (see `call.own`).
"""

from cleanslate.remote.locks import Event


class Failed(Exception):
    """A call's own verdict; kind is one word, details are JSON types."""

    def __init__(self, kind, message, **details):
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.details = details


class Call:
    """One call under way. Subclassed by the agent; the defaults serve tests and direct use."""

    def __init__(self, left=3600.0, blob=None):
        self.cancelled = Event()
        self.blob = blob  # a binary file object with what was sent along, or None
        self._left = left

    def left(self):
        """Seconds until the deadline; 0 or less when it has passed."""
        return self._left

    def progress(self, **facts):
        """Report what is seen now (JSON types); costs nothing when nobody listens."""

    def part(self, name):
        """What the controller has sent before under a digest, as bytes, for as long as the agent lives."""
        raise Failed("bug", "nothing was sent under " + name)

    def own(self, process):
        """Name a subprocess.Popen (in its own process group) that must not outlive this call."""


def reads(function):
    """Mark a call that changes nothing on the target; it may run in check mode."""
    function.read_only = True
    function.is_call = True
    return function


def changes(function):
    """Mark a call that changes something on the target."""
    function.read_only = False
    function.is_call = True
    return function
