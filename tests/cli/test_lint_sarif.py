"""inv lint as SARIF 2.1.0: what the format's specification demands of a log, and that each mistake is in it."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote

import pytest

from cleanslate.cli.sarif import sarif
from cleanslate.errors import Origin, Problem
from tests.cli.test_inv import inv

PLAY = """\
- hosts: all
  gather_facts: false
  tasks:
    - name: It's "odd"
      coppy: {dest: /x}
    - command: ls
      register: nobody_reads
"""


def check(log):
    """Hold a log to the shape of SARIF 2.1.0: required properties, their types, and references that lead somewhere."""
    assert {"$schema", "version", "runs"} == set(log)
    assert "2.1.0" == log["version"]
    for run in log["runs"]:
        assert {"tool", "results", "columnKind", "originalUriBaseIds"} == set(run)
        assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
        driver = run["tool"]["driver"]
        assert isinstance(driver["name"], str)
        rules = [rule["id"] for rule in driver["rules"]]
        assert len(rules) == len(set(rules))
        assert all(rule["shortDescription"]["text"] for rule in driver["rules"])
        for base in run["originalUriBaseIds"].values():
            assert base["uri"].startswith("file:///") and base["uri"].endswith("/")
        for result in run["results"]:
            assert {"ruleId", "ruleIndex", "level", "message"} <= set(result) <= {
                "ruleId", "ruleIndex", "level", "message", "locations",
            }  # fmt: skip
            assert result["ruleId"] == rules[result["ruleIndex"]]
            assert result["level"] in ("none", "note", "warning", "error")
            assert result["message"]["text"]
            for location in result.get("locations", ()):
                place = location["physicalLocation"]
                artifact = place["artifactLocation"]
                assert artifact.get("uriBaseId", "ROOT") in run["originalUriBaseIds"]
                assert " " not in artifact["uri"]
                assert place["region"]["startLine"] >= 1 and place["region"]["startColumn"] >= 1


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "a project"
    (folder / "playbooks").mkdir(parents=True)
    (folder / "playbooks/odd one.yml").write_text(PLAY)
    (folder / "hosts").write_text("alpha\n")
    (folder / "invoke.yaml").write_text("cleanslate:\n  inventory: hosts\n")
    return folder


def test_lint_as_sarif(project):
    """Errors and warnings with their places; the exit code is what it is without."""
    done = inv("lint", "--output", "sarif", cwd=project)
    log = json.loads(done.stdout)
    check(log)
    (run,) = log["runs"]
    told = [(one["ruleId"], one["level"], one["locations"][0]["physicalLocation"]) for one in run["results"]]
    assert 64 == done.returncode
    assert [("unknown-step", "error", 5, 7), ("unused-register", "warning", 6, 7)] == [
        (rule, level, place["region"]["startLine"], place["region"]["startColumn"]) for rule, level, place in told
    ]
    base = Path(unquote(run["originalUriBaseIds"]["ROOT"]["uri"].removeprefix("file://")))
    assert (base / unquote(told[0][2]["artifactLocation"]["uri"])).samefile(project / "playbooks/odd one.yml")


def test_warnings_alone(project):
    """A result that nobody reads is a warning of lint's, and no error."""
    path = project / "playbooks/odd one.yml"
    path.write_text(PLAY.replace("coppy: {dest: /x}", "debug:"))
    done = inv("lint", "--output=sarif", cwd=project)
    log = json.loads(done.stdout)
    check(log)
    assert (0, [("unused-register", "warning")]) == (
        done.returncode,
        [(one["ruleId"], one["level"]) for one in log["runs"][0]["results"]],
    )


def test_problems_of_every_kind(tmp_path):
    """Without a place, without a code, in files elsewhere, and none at all."""
    found = [
        Problem("no place"),
        Problem("elsewhere", Origin("/etc/some where.yml", 3, 4), fix="move it", severity="note", code="cycle"),
        Problem("at no line", Origin(str(tmp_path / "x.yml"), 0, 0), severity="warning"),
    ]
    log = sarif(found, tmp_path)
    check(log)
    check(sarif([], tmp_path))
    assert ["no place", "elsewhere; move it", "at no line"] == [
        one["message"]["text"] for one in log["runs"][0]["results"]
    ]


def test_an_output_that_there_is_not(project):
    """Says which there are."""
    done = inv("lint", "--output", "xml", cwd=project)
    assert (64, True) == (done.returncode, 'no output "xml"; one of text, json, sarif' in done.stderr)
