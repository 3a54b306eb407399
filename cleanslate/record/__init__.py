"""The run record: a folder for each run that says who did what, when, with which code, and what came of it.

    .runs/<run id>/run.json       written when the run starts, as more becomes known, and whole when it ends
    .runs/<run id>/events.jsonl   one event a line, written as it happens; the source of console, reports and comparison
    .runs/<run id>/outputs/       outputs too long for a line, each in a file of its own

A record is append-only while its run goes: whatever kills the controller loses at most the event being written,
and a run.json without an outcome is a run that did not end in order. docs/records.md has the whole form.

What a list needs is imported here. A run needs collecting.py and provenance.py too, which pay for the renderer.
"""

from cleanslate.record.reading import RunSummary, Wanted, find_run, list_runs, read_events, read_run, walk_runs
from cleanslate.record.robberies import note_robbery
from cleanslate.record.writing import RunRecord, new_run_id

__all__ = [
    "RunRecord",
    "RunSummary",
    "Wanted",
    "find_run",
    "list_runs",
    "new_run_id",
    "note_robbery",
    "read_events",
    "read_run",
    "walk_runs",
]
