"""Sources together: all their mistakes at once, files that are missing or encrypted, what is read as what."""

import pytest

from cleanslate.errors import InputError
from cleanslate.vault import VaultKeys
from cleanslate.vault.keys import Key

KEYS = VaultKeys([Key("default", "the file pw", lambda: b"sesame")])


def test_the_mistakes_of_all_sources_come_together(written):
    """One look shows all that is to be done."""
    mistakes = written.mistakes(
        "a.ini",
        "inv",
        "b:c,",
        "none.ini",
        files={"a.ini": "h x\n", "inv/1.ini": "[g:vrs]\n", "inv/2.yml": "g: {host: }\n", "inv/3.yml": "g: ["},
    )
    assert [line.split(": error")[0] for line in mistakes] == [
        "--inventory", "a.ini:1:3", "b:c,", "inv/1.ini:1:4", "inv/2.yml:1:5", "inv/3.yml:2:1",
    ]  # fmt: skip


def test_a_missing_source_suggests_a_file_beside_it(written, tmp_path):
    """A typo in -i is told with the file that was meant."""
    fix = f'did you mean "{tmp_path}/hosts.yml"?'
    assert [f'--inventory: error: the inventory "hosts.yaml" does not exist; {fix}'] == written.mistakes(
        "hosts.yaml", files={"hosts.yml": "g:\n"}
    )
    fix = "an inventory is a file, a folder, or names with commas"
    assert [f'--inventory: error: the inventory "no/such" does not exist; {fix}'] == written.mistakes("no/such")


def test_a_group_may_be_declared_by_a_later_source(written):
    """Children and variables of it find it at the end."""
    inventory = written.load("1.ini", "2.ini", files={"1.ini": "[p:children]\nk\n[k:vars]\nx=1\n", "2.ini": "[k]\nh\n"})
    assert (["k"], ["p", "k"]) == (inventory.groups["p"].children, [*inventory.groups][2:])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hosts", "[g]\nh\n"),
        ("hosts", "g:\n  hosts:\n    h:\n"),
        ("hosts.conf", "[g]\nh\n"),
        ("hosts.yml", "g: {hosts: {h: }}\n"),
    ],
)
def test_an_encrypted_inventory_is_read(written, tmp_path, name, text):
    """As a whole, whatever its form."""
    (tmp_path / name).write_text(KEYS.encrypt(text))
    assert ["h"] == written.load(name, vault=KEYS.decrypt).groups["g"].hosts


def test_an_encrypted_value_is_read(written):
    """`!vault` within a YAML inventory, and `__ansible_vault` in a script's answer."""
    envelope = KEYS.encrypt("s3cret")
    yaml = "g:\n  vars:\n    x: !vault |\n" + "".join(f"      {line}\n" for line in envelope.splitlines())
    assert "s3cret" == written.load("h.yml", vault=KEYS.decrypt, files={"h.yml": yaml}).groups["g"].vars["x"]
    answer = envelope.replace("\n", "\\\\n")
    variables = f'{{"x": {{"__ansible_vault": "{answer}"}}}}'
    script = f'#!/bin/sh\nprintf \'{{"g": {{"vars": {variables}}}, "_meta": {{"hostvars": {{}}}}}}\'\n'
    assert "s3cret" == written.load("inv.sh", vault=KEYS.decrypt, files={"inv.sh": script}).groups["g"].vars["x"]


def test_a_wrong_password_is_told_with_the_file(written, tmp_path):
    """The file, the ids that were tried, and what to do."""
    (tmp_path / "hosts").write_text(KEYS.encrypt("[g]\nh\n"))
    wrong = VaultKeys([Key("default", "the file pw", lambda: b"wrong")])
    with pytest.raises(InputError) as told:
        written.load("hosts", vault=wrong.decrypt)
    assert str(told.value) == (
        "hosts: error: no vault password opens this envelope, which names no id; "
        'tried "default" from the file pw; give the right one with --vault-password-file FILE'
    )


def test_a_folder_that_cannot_be_read_into_is_refused(written, tmp_path):
    """Broken links, and files that are no text."""
    (tmp_path / "inv").mkdir()
    (tmp_path / "inv" / "broken").symlink_to("nowhere")
    (tmp_path / "inv" / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    broken, photo = written.mistakes("inv")
    assert broken.startswith('--inventory: error: the inventory "inv/broken" does not exist')
    assert photo.startswith("inv/photo.jpg:1:1: error: the file is not UTF-8")


@pytest.mark.parametrize("first", ["---", "{}", "g:", "g: {}", "# c\n\ng:\n  hosts:", "%YAML 1.1"])
def test_yaml_is_known_by_its_first_line(first):
    """A file without suffix is YAML when it begins as YAML does."""
    from cleanslate.inventory.sources import looks_like_yaml

    assert looks_like_yaml(first)


@pytest.mark.parametrize("first", ["[g]", "h", "h:22", "h a=b", "", "; c\n[g:vars]", "::1", "h x='a: b'"])
def test_ini_is_what_does_not_begin_as_yaml(first):
    """Host lines with ports and addresses are no keys."""
    from cleanslate.inventory.sources import looks_like_yaml

    assert not looks_like_yaml(first)
