"""Folders that several make at once."""

from __future__ import annotations

import threading

from cleanslate.remote import files


def test_many_may_make_the_same_parents_at_once(tmp_path):
    """Each gets its folder, nobody fails because another was quicker, and each folder was made by one."""
    rounds, many = 30, 8
    errors, made = [], []
    for number in range(rounds):
        gate = threading.Barrier(many)

        def make(mine, number=number, gate=gate):
            gate.wait()
            try:
                made.extend(files.make_folders(str(tmp_path / str(number) / "deep" / "er" / mine), {}))
            except OSError as error:
                errors.append(error)

        threads = [threading.Thread(target=make, args=(str(index),)) for index in range(many)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [] == errors
    assert len(made) == len(set(made)) == rounds * (3 + many)
