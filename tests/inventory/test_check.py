"""Every variable file of an inventory's hosts is looked at before a host is touched."""

from cleanslate.errors import Problems
from cleanslate.inventory import check_variable_files


def test_broken_files_and_files_of_nobody_are_told_together(written, tmp_path):
    """Errors with their place; a name that is nearly a group's is a warning, any other a note."""
    inventory = written.load(
        "hosts.ini",
        files={
            "hosts.ini": "[web]\nh1\n[db]\nh2\n",
            "group_vars/web.yml": "- x\n",
            "group_vars/webb.yml": "x: 1\n",
            "group_vars/storage/a.yml": "x: 1\n",
            "group_vars/README.md": "# not variables\n",
            "host_vars/h2.yml": "x: {\n",
            "host_vars/localhost.yml": "y: 1\n",
            "play/group_vars/dbs.yml": "x: [\n",
            "play/host_vars/h1": "a: b: c\n",
        },
    )
    problems = Problems()
    check_variable_files(inventory, playbook_dir=tmp_path / "play", problems=problems)
    assert {
        ("group_vars/web.yml:1:1", "error", None),
        ("host_vars/h2.yml:2:1", "error", None),
        ("play/host_vars/h1:1:5", "error", None),
        ("group_vars/webb.yml", "warning", 'did you mean "web"?'),
        ("play/group_vars/dbs.yml", "warning", 'did you mean "db"?'),
        ("group_vars/storage", "note", None),
    } == {
        (str(problem.origin), problem.severity, None if problem.severity == "error" else problem.fix)
        for problem in problems.found
    }


def test_a_mistake_in_a_file_of_many_hosts_is_told_once(written):
    """Not once for each host."""
    inventory = written.load("hosts.ini", files={"hosts.ini": "[g]\nh[1:50]\n", "group_vars/g.yml": "- x\n"})
    problems = Problems()
    check_variable_files(inventory, playbook_dir=None, problems=problems)
    assert 1 == len(problems.found)
