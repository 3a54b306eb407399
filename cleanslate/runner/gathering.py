"""The step that `gather_facts` stands for, and whether a play has it."""

from __future__ import annotations

from cleanslate.model import Keywords, Play, SourceMap, SourceText, Step
from cleanslate.steps.spellings import as_flag


def wants_facts(play: Play) -> bool:
    """Whether the play gathers facts: always unless it says no, as in Ansible; a host that has them keeps them."""
    value = play.gather_facts
    if isinstance(value, str):
        value = as_flag(value)
    return value is None or bool(value)


def gather_step(play: Play) -> Step:
    """The step that `gather_facts` stands for."""
    args = SourceMap()
    if play.gather_subset is not None:
        args["gather_subset"] = play.gather_subset
    words = Keywords(
        tags=("always",),
        become=play.keywords.become,
        become_user=play.keywords.become_user,
        become_method=play.keywords.become_method,
        connection=play.keywords.connection,
        remote_user=play.keywords.remote_user,
        port=play.keywords.port,
        environment=play.keywords.environment,
    )
    return Step("setup", args, words, play.origin, name=SourceText("Gathering Facts", play.origin))
