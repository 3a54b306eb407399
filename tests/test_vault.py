"""Vault envelopes are ansible-vault's, byte for byte; keys are tried in order and named when they fail."""

import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleanslate.errors import InputError
from cleanslate.vault import (
    VaultKeys,
    decrypt_files,
    edit_file,
    encrypt_files,
    encrypt_string,
    is_envelope,
    rekey_files,
    view_file,
)
from cleanslate.vault.envelope import parse_envelope, seal, unseal
from cleanslate.vault.keys import Key
from tests.laws import examples

# Written by ansible-vault of ansible-core 2.19: (password, id, content, envelope).
WRITTEN_BY_ANSIBLE = {
    "version 1.1": (
        "sesame",
        None,
        b"hello: world\n",
        """$ANSIBLE_VAULT;1.1;AES256
31653732393466646432663732373534376431303562336134313663313432623437306430663935
6530386636323134313162353863303435383461623963620a383335383936313933616136336238
61316564353530333837323236393361333664646536623166666238333533643061613538343637
3064346639333834350a616662376437326634323532666666666265303962373266323639333530
3435
""",
    ),
    "version 1.2, not ASCII": (
        "other pass",
        "prod",
        'größer: "→"\n'.encode(),
        """$ANSIBLE_VAULT;1.2;AES256;prod
38623230316532616237393337363833353562386164653935336236656561393864336637353236
6535666334393465316639613734393865313334643836350a663335623061363532306461333566
63623231346437633135383637303361363731353039636435303239316230616564656335326565
3835666431316361390a643837646139323962333561656463386261346638613765383062333832
30386638326233663330633539326331633730313835373763323861636632373935
""",
    ),
    "binary": (
        "sesame",
        None,
        b"\x00\xff\x01bin",
        """$ANSIBLE_VAULT;1.1;AES256
30306431633064346135333239663631633362616165383231336431393335643537666362313834
3633616631393734343331353165333730386662633139610a613637333932353962653238356665
33623864326530663931623431643431663237333761386366666334356433346531646662306638
3635663837353762330a336566303930303265343030313830643839313166366265363632376236
3533
""",
    ),
    "empty": (
        "sesame",
        None,
        b"",
        """$ANSIBLE_VAULT;1.1;AES256
65376430373962626463393963313337333936303935633462373764646330353235316536393133
6137343335656265383731613735396562393035623933610a366633646463666631653263373966
64633635656662653733616530386636613462623039623765326662653563626561653466366137
3561393662306634630a383461343730303732663936363931303464333037383565303033383130
3864
""",
    ),
}
ENVELOPE = WRITTEN_BY_ANSIBLE["version 1.1"][3]
PROD = WRITTEN_BY_ANSIBLE["version 1.2, not ASCII"][3]


def keys_of(**passwords):
    return VaultKeys(
        [Key(name, f"the file {name}.pw", lambda text=text: text.encode()) for name, text in passwords.items()]
    )


@pytest.mark.parametrize("name", WRITTEN_BY_ANSIBLE)
def test_what_ansible_encrypted_is_decrypted(name):
    """The content of an envelope is what ansible-vault put into it."""
    password, _, content, envelope = WRITTEN_BY_ANSIBLE[name]
    assert content == unseal(parse_envelope(envelope), password.encode())


@pytest.mark.parametrize("name", WRITTEN_BY_ANSIBLE)
def test_encrypting_writes_what_ansible_writes(name, monkeypatch):
    """With the same salt, the envelope is ansible-vault's, byte for byte."""
    password, vault_id, content, envelope = WRITTEN_BY_ANSIBLE[name]
    salt = parse_envelope(envelope).salt
    monkeypatch.setattr(os, "urandom", lambda length: salt[:length])
    assert envelope == seal(content, password.encode(), vault_id)


@examples(10)
@given(st.binary(max_size=200), st.text(min_size=1, max_size=20), st.sampled_from([None, "default", "dev"]))
def test_every_content_comes_back(content, password, vault_id):
    """Decrypting undoes encrypting, for any content and password."""
    secret = password.encode("utf-8", "surrogatepass")
    assert content == unseal(parse_envelope(seal(content, secret, vault_id)), secret)


def test_the_id_is_written_only_when_it_is_not_the_default_one():
    """Version 1.2 names an id, 1.1 does not."""
    headers = [seal(b"x", b"y", vault_id).split("\n")[0] for vault_id in (None, "default", "prod")]
    assert ["$ANSIBLE_VAULT;1.1;AES256"] * 2 + ["$ANSIBLE_VAULT;1.2;AES256;prod"] == headers


def test_blanks_and_carriage_returns_do_not_damage_an_envelope():
    """An envelope survives the editors that people use."""
    spoiled = "\n" + ENVELOPE.replace("\n", "  \r\n")
    assert keys_of(default="sesame").decrypt(spoiled) == "hello: world\n"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("hello", "this is not encrypted: it does not begin with $ANSIBLE_VAULT"),
        ("", "this is not encrypted: it does not begin with $ANSIBLE_VAULT"),
        ("$ANSIBLE_VAULT;1.0;AES\n00", 'the vault header "$ANSIBLE_VAULT;1.0;AES" is not of version 1.1 or 1.2'),
        ("$ANSIBLE_VAULT;1.1;AES\n00", 'the vault cipher "AES" is unknown'),
        ("$ANSIBLE_VAULT;1.1;AES256\nxyz", "the vault envelope is damaged: its lines are not what encrypting writes"),
        ("$ANSIBLE_VAULT;1.1;AES256\n", "the vault envelope is damaged: its lines are not what encrypting writes"),
        (ENVELOPE[:-40], "the vault envelope is damaged: its lines are not what encrypting writes"),
    ],
)
def test_what_is_no_envelope_is_told_apart(text, what):
    """Each kind of damage has its message."""
    with pytest.raises(InputError) as told:
        keys_of(default="sesame").decrypt(text)
    assert what == told.value.what


def test_a_changed_envelope_is_not_decrypted():
    """A single changed digit of the content is found."""
    changed = ENVELOPE.removesuffix("35\n") + "36\n"
    with pytest.raises(InputError, match="no vault password opens"):
        keys_of(default="sesame").decrypt(changed)


def test_the_key_of_the_same_id_is_tried_first_and_the_others_after():
    """Ids are labels: a password under another id opens the envelope too."""
    asked = []

    def fetch(name, password):
        return lambda: asked.append(name) or password.encode()

    keys = VaultKeys([Key("dev", "a", fetch("dev", "no")), Key("prod", "b", fetch("prod", "other pass"))])
    assert keys.decrypt(PROD) == 'größer: "→"\n'
    assert asked == ["prod"]
    assert keys_of(dev="no", test="other pass").decrypt(PROD) == 'größer: "→"\n'


@pytest.mark.parametrize(
    ("keys", "envelope", "what", "fix"),
    [
        (
            keys_of(dev="a", test="b"),
            PROD,
            'no vault password opens this envelope, which names id "prod"; '
            'tried "dev" from the file dev.pw, "test" from the file test.pw',
            "give its password with --vault-id prod@FILE",
        ),
        (
            keys_of(default="a"),
            ENVELOPE,
            'no vault password opens this envelope, which names no id; tried "default" from the file default.pw',
            "give the right one with --vault-password-file FILE",
        ),
        (
            VaultKeys(),
            PROD,
            'this is encrypted with a vault password (id "prod"), and none was given',
            "give its password with --vault-id prod@FILE",
        ),
    ],
)
def test_a_failure_says_which_ids_were_tried(keys, envelope, what, fix):
    """The message names the envelope's id, the tried ids and their sources."""
    with pytest.raises(InputError) as told:
        keys.decrypt(envelope)
    assert (what, fix) == (told.value.what, told.value.fix)


def test_encrypting_takes_the_only_key_or_the_named_one():
    """Several ids need a choice; an unknown one is refused with a suggestion."""
    keys = keys_of(dev="a", prod="b")
    assert parse_envelope(keys.encrypt("x", "prod")).id == "prod"
    assert keys_of(prod="b").decrypt(keys.encrypt("x", "prod")) == "x"
    for wrong, fix in ((None, "say which one to encrypt with"), ("prd", 'did you mean "prod"?')):
        with pytest.raises(InputError) as told:
            keys.encrypt("x", wrong)
        assert fix == told.value.fix
    with pytest.raises(InputError, match="no vault password to encrypt with"):
        VaultKeys().encrypt("x")


def program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_passwords_come_from_files_programs_and_people(tmp_path):
    """A file's blanks are cut off; a program named *-client is told the id; a person is asked by id."""
    (tmp_path / "pw").write_text("  sesame \n\n")
    program(tmp_path / "print", 'echo "sesame $1"')
    program(tmp_path / "keyring-client.sh", 'echo "$1 $2"')
    sources = [f"{tmp_path}/pw", f"a@{tmp_path}/print", f"b@{tmp_path}/keyring-client.sh", "c@prompt", "@prompt"]
    keys = VaultKeys.from_sources(sources, prompt=lambda name: f"said for {name}")
    assert [
        ("default", b"sesame"),
        ("a", b"sesame "),
        ("b", b"--vault-id b"),
        ("c", b"said for c"),
        ("default", b"said for default"),
    ] == [(key.id, key.password) for key in keys.keys]


def test_a_password_is_fetched_once_and_only_when_needed(tmp_path):
    """A program that asks a person must not ask for each file."""
    program(tmp_path / "count", f"echo x >> {tmp_path}/calls; echo sesame")
    keys = VaultKeys.from_sources([f"{tmp_path}/count"])
    assert not (tmp_path / "calls").exists()
    for envelope in (ENVELOPE, WRITTEN_BY_ANSIBLE["empty"][3], ENVELOPE):
        keys.decrypt(envelope)
    assert (tmp_path / "calls").read_text() == "x\n"


def test_an_executable_text_file_is_read_not_run(tmp_path):
    """On some mounts every file is executable."""
    (tmp_path / "pw").write_text("sesame\n")
    (tmp_path / "pw").chmod(0o755)
    assert VaultKeys.from_sources([f"{tmp_path}/pw"]).decrypt(ENVELOPE) == "hello: world\n"


def test_every_wrong_source_is_told_at_once(tmp_path):
    """Missing files and prompts that nobody can answer come together."""
    with pytest.raises(InputError) as told:
        VaultKeys.from_sources([f"{tmp_path}/none", "a@prompt", f"b@{tmp_path}/no"])
    assert [problem.what for problem in told.value.problems] == [
        f'the vault password file "{tmp_path}/none" does not exist',
        'nobody can be asked for the vault password of id "a"',
        f'the vault password file "{tmp_path}/no" does not exist',
    ]


@pytest.mark.parametrize(
    ("text", "what"),
    [("exit 3", "ended with exit code 3"), ("true", "is empty"), ("echo", "is empty")],
)
def test_a_program_that_gives_no_password_is_refused(tmp_path, text, what):
    """Its exit code or its silence is told."""
    program(tmp_path / "pw", text)
    with pytest.raises(InputError, match=what):
        VaultKeys.from_sources([f"{tmp_path}/pw"]).decrypt(ENVELOPE)


def test_an_empty_password_file_is_refused(tmp_path):
    """An empty password would encrypt for everybody."""
    (tmp_path / "pw").write_text("\n")
    with pytest.raises(InputError, match="is empty"):
        VaultKeys.from_sources([f"{tmp_path}/pw"]).encrypt("x")


def test_files_are_encrypted_rekeyed_and_decrypted_in_place(tmp_path):
    """Content, mode and links stay what they were; nothing else is left in the folder."""
    (tmp_path / "real").write_bytes(b"a: 1\r\n\xff")
    (tmp_path / "real").chmod(0o640)
    path = tmp_path / "link"
    path.symlink_to("real")
    encrypt_files([path], keys_of(prod="one"))
    assert parse_envelope((tmp_path / "real").read_text()).id == "prod"
    rekey_files([path], keys_of(default="one"), keys_of(default="two"))
    assert parse_envelope((tmp_path / "real").read_text()).id is None
    decrypt_files([path], keys_of(default="two"))
    assert (tmp_path / "real").read_bytes() == b"a: 1\r\n\xff"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o640
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link", "real"]
    assert path.is_symlink()


def test_an_output_file_is_private_and_the_input_stays(tmp_path):
    """What was secret is not shown to others on its way out."""
    (tmp_path / "in").write_text(ENVELOPE)
    decrypt_files([tmp_path / "in"], keys_of(default="sesame"), output=tmp_path / "out")
    assert (tmp_path / "in").read_text() == ENVELOPE
    assert (tmp_path / "out").read_text() == "hello: world\n"
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o600


def test_when_one_file_cannot_be_done_none_is_touched(tmp_path):
    """All mistakes are told, each with its file."""
    good, plain, other = (tmp_path / name for name in ("good", "plain", "other"))
    good.write_text(ENVELOPE)
    plain.write_text("a: 1\n")
    other.write_text(PROD)
    with pytest.raises(InputError) as told:
        rekey_files([good, plain, other, tmp_path / "none"], keys_of(default="sesame"), keys_of(default="new"))
    assert [(problem.origin.file, problem.what[:24]) for problem in told.value.problems] == [
        (str(plain), "the file is not encrypte"),
        (str(other), "no vault password opens "),
        (str(tmp_path / "none"), "the file cannot be read:"),
    ]
    assert good.read_text() == ENVELOPE


def test_encrypting_twice_is_refused(tmp_path):
    """An envelope within an envelope is nobody's wish."""
    (tmp_path / "f").write_text(ENVELOPE)
    with pytest.raises(InputError, match="encrypted already"):
        encrypt_files([tmp_path / "f"], keys_of(default="sesame"))


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    """No half-written file, no temporary one."""
    path = tmp_path / "f"
    path.write_text("a: 1\n")

    def refuse(descriptor):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="no space left"):
        encrypt_files([path], keys_of(default="x"))
    assert path.read_text() == "a: 1\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]


def test_editing_keeps_the_key_and_writes_only_changes(tmp_path):
    """The plain text is in a private file while it is edited, and gone afterwards."""
    path = tmp_path / "secrets.yml"
    path.write_text(PROD)
    seen = []

    def add_line(private):
        seen.append((private, private.name, stat.S_IMODE(private.stat().st_mode)))
        private.write_text(private.read_text() + "b: 2\n")

    keys = keys_of(dev="x", prod="other pass")
    assert edit_file(path, keys, add_line) is True
    assert view_file(path, keys) == 'größer: "→"\nb: 2\n'
    assert parse_envelope(path.read_text()).id == "prod"
    assert [("secrets.yml", 0o600)] == [what[1:] for what in seen]
    assert not seen[0][0].exists()
    before = path.read_text()
    assert edit_file(path, keys, lambda private: None) is False
    assert path.read_text() == before


def test_an_editor_that_fails_changes_nothing(tmp_path):
    """The private file goes away then too."""
    path = tmp_path / "s.yml"
    path.write_text(ENVELOPE)
    seen = []

    def fail(private):
        seen.append(private)
        raise RuntimeError("the editor crashed")

    with pytest.raises(RuntimeError):
        edit_file(path, keys_of(default="sesame"), fail)
    assert path.read_text() == ENVELOPE
    assert not seen[0].parent.exists()


def test_an_encrypted_value_is_ready_to_be_pasted():
    """A YAML file with the value reads back; the form is ansible-vault's."""
    from cleanslate.yamlfile import load_yaml_text

    keys = keys_of(prod="other pass")
    text = encrypt_string("se: {{ cret }}\n", keys, name="db_password")
    lines = text.splitlines()
    assert lines[:2] == ["db_password: !vault |", "          $ANSIBLE_VAULT;1.2;AES256;prod"]
    assert load_yaml_text(text + "next: 1\n", "x.yml", vault=keys.decrypt) == {
        "db_password": "se: {{ cret }}\n",
        "next": 1,
    }


def test_only_a_text_that_begins_with_the_header_is_an_envelope():
    """A file that merely speaks of vaults is not one."""
    assert [True, False, False] == [is_envelope(text) for text in (PROD, " " + PROD, "$ANSIBLE_VAULTED")]
