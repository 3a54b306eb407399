"""The run record: a folder for each run that says who did what, when, with which code, and what came of it.

    .runs/<run id>/run.json       written when the run starts, and once more, whole, when it ends
    .runs/<run id>/events.jsonl   one event a line, written as it happens; the source of console, reports and comparison

A record is append-only while its run goes: whatever kills the controller loses at most the event being written,
and a run.json without an outcome is a run that did not end in order.
"""

from cleanslate.record.reading import RunSummary, find_run, list_runs, read_events, read_run
from cleanslate.record.writing import RunRecord, new_run_id

__all__ = ["RunRecord", "RunSummary", "find_run", "list_runs", "new_run_id", "read_events", "read_run"]
