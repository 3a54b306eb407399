"""Which steps `--tags` and `--skip-tags` let run."""

from __future__ import annotations

from collections.abc import Sequence

_UNTAGGED = frozenset({"untagged"})


def selected(tags: Sequence[str], only: Sequence[str], skip: Sequence[str]) -> bool:
    """Whether a step with these tags runs; empty `only` means all. `always`, `never`, `tagged`, `untagged`, `all`
    mean what they mean in Ansible.
    """
    own = frozenset(tags) or _UNTAGGED
    return _wanted(own, frozenset(only or ("all",))) and not _skipped(own, frozenset(skip))


def _wanted(own: frozenset[str], only: frozenset[str]) -> bool:
    if "always" in own or own & only:
        return True
    if "never" in own:
        return False
    return "all" in only or ("tagged" in only and own != _UNTAGGED)


def _skipped(own: frozenset[str], skip: frozenset[str]) -> bool:
    if "all" in skip:
        return "always" not in own or "always" in skip
    return bool(own & skip) or ("tagged" in skip and own != _UNTAGGED)
