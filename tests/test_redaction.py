"""Secrets never survive redaction, whatever carries them."""

import base64
import html
import json
import shlex
import sys
from threading import Thread
from urllib.parse import quote, quote_plus

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cleanslate import native
from cleanslate.model import SourceText
from cleanslate.redaction import MASK, Secrets, looks_secret
from tests.laws import examples

native.load()
NASTY = 'it\'s "my" pass$word\\ ünï\n&<x>'

# Secrets of a mask's own character would be found in the mask itself.
secrets_ = st.text(
    st.one_of(st.sampled_from("'\"\\ $`\n\t&<%+/=:#{}äß☃🔑aB1"), st.characters(max_codepoint=0x2FF)),
    min_size=3,
    max_size=40,
).filter(lambda text: len(text.strip()) >= 3 and "*" not in text)
around = st.text(st.sampled_from("ab 'x\"\n$\\=%"), max_size=8)

ENCODINGS = {
    "plain": str,
    "json": json.dumps,
    "json, not only ascii": lambda text: json.dumps(text, ensure_ascii=False),
    "json in a document": lambda text: json.dumps({"stdout": [text]}),
    "url path": quote,
    "url component": lambda text: quote(text, safe=""),
    "url query": quote_plus,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for urls": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64, unpadded": lambda text: base64.b64encode(text.encode()).decode().rstrip("="),
    "base64, wrapped": lambda text: base64.encodebytes(text.encode()).decode(),
    "shell": shlex.quote,
    "shell, inside a longer word": lambda text: shlex.quote(f"--key={text}"),
    "repr": repr,
    "repr of bytes": lambda text: repr(text.encode()),
    "ascii": ascii,
    "repr in a list": lambda text: repr([text, "it's"]),
    "html": html.escape,
}


@examples(60)
@given(secret=secrets_, before=around, after=around)
def test_no_secret_survives_in_any_encoding(secret, before, after):
    secrets = Secrets()
    secrets.add(secret)
    leaks = []
    for name, encode in ENCODINGS.items():
        carried = encode(secret)
        shown = secrets.redact_text(f"{before}{carried}{after}")
        if carried in shown or secret in shown or MASK not in shown:
            leaks.append((name, shown))
    assert leaks == []


@examples(40)
@given(secret=secrets_, others=st.lists(secrets_, max_size=4), text=around)
def test_one_secret_does_not_shield_another(secret, others, text):
    secrets = Secrets()
    for one in (secret, *others):
        secrets.add(one)
    shown = secrets.redact_text(text + "".join(others) + secret + text + secret)
    assert [one for one in (secret, *others) if one in shown] == []


@examples(40)
@given(
    secret=secrets_,
    value=st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), around, st.just("HERE")),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(around, inner, max_size=3)),
    ),
)
def test_no_secret_survives_in_a_value_however_deep(secret, value):
    secrets = Secrets()
    secrets.add(secret)

    def put(item):
        if isinstance(item, dict):
            return {key: put(inner) for key, inner in item.items()} | {secret: secret}
        return [*map(put, item), secret] if isinstance(item, list) else secret if item == "HERE" else item

    def words(item):
        """Every text and number of it; yes, no and nothing are what JSON calls them, also where a secret is `tru`."""
        if isinstance(item, dict):
            return [word for pair in item.items() for part in pair for word in words(part)]
        if isinstance(item, list):
            return [word for inner in item for word in words(inner)]
        return [] if item is None or isinstance(item, bool) else [str(item)]

    shown = words(secrets.redact(put(value)))
    assert [] == [word for word in shown if secret in word]
    assert [] == [word for word in shown if json.dumps(secret)[1:-1] in json.dumps(word, ensure_ascii=False)]


@examples(40)
@given(
    secret=st.text(st.characters(max_codepoint=0x2FF, exclude_characters="*"), min_size=12, max_size=40).filter(
        lambda text: len(text.strip()) >= 3
    ),
    before=st.text(st.characters(max_codepoint=0x2FF), max_size=5),
    after=around,
)
def test_a_secret_within_a_longer_base64_text_is_found(secret, before, after):
    secrets = Secrets()
    secrets.add(secret)
    carried = base64.b64encode((before + secret + after).encode("utf-8")).decode()
    assert MASK in secrets.redact_text(carried)


def test_a_basic_authorization_header_does_not_tell_the_password():
    secrets = Secrets()
    secrets.add("correct horse battery")
    header = "Authorization: Basic " + base64.b64encode(b"ann:correct horse battery").decode()
    shown = secrets.redact_text(header)
    assert base64.b64decode(shown.split()[-1].split("*")[0] + "==") in (b"ann:", b"ann")


@pytest.mark.parametrize(
    "carried",
    [
        NASTY,
        shlex.quote(NASTY),
        f"sh -c {shlex.quote('echo ' + NASTY)}",
        json.dumps({"msg": NASTY}),
        repr({"msg": NASTY}),
        quote_plus(NASTY),
        html.escape(NASTY),
        base64.b64encode(NASTY.encode()).decode(),
    ],
)
def test_a_secret_with_quotes_blanks_dollars_newlines_and_umlauts_is_masked_whole(carried):
    secrets = Secrets()
    secrets.add(NASTY)
    shown = secrets.redact_text(carried)
    assert MASK in shown
    assert [part for part in ("pass", "word", "cGFzc") if part in shown] == []


def test_a_long_secret_is_found_in_the_lines_that_base64_makes_of_it():
    secret = "".join(chr(33 + number % 90) for number in range(400)).replace("*", "x")
    secrets = Secrets()
    secrets.add(secret)
    shown = secrets.redact_text(base64.encodebytes(secret.encode()).decode())
    assert [line for line in shown.splitlines() if line != MASK and len(line) >= 8] == []


def test_each_line_of_a_secret_is_one_too():
    key = "-----BEGIN KEY-----\n  abcdef012345\nzz\nghijkl6789==\n-----END KEY-----\n"
    secrets = Secrets()
    secrets.add(key)
    assert f"read {MASK} and zz" == secrets.redact_text("read abcdef012345 and zz")
    assert MASK in secrets.redact_text(yaml.safe_dump({"key": key}))
    assert "ghijkl6789" not in secrets.redact_text(yaml.safe_dump({"key": key}))


def test_short_texts_are_not_taken_and_are_counted():
    secrets = Secrets()
    for text in ("", "  ", "a", "ab", " ab\n"):
        secrets.add(text)
    assert len(secrets) == 0
    assert secrets.too_short == 3
    assert secrets.redact_text("abab") == "abab"


def test_values_keep_their_types_and_are_not_changed_in_place():
    secrets = Secrets()
    secrets.add("s3cret")
    value = {"n": 1, "f": 1.5, "t": True, "none": None, "l": ("s3cret", [SourceText("x s3cret")]), "s3cret": 2}
    expected = {"n": 1, "f": 1.5, "t": True, "none": None, "l": [MASK, [f"x {MASK}"]], MASK: 2}
    assert expected == secrets.redact(value)
    assert value["l"][0] == "s3cret"


def test_a_number_that_is_a_secret_is_masked():
    secrets = Secrets()
    secrets.add("493817")
    assert {"pin": MASK, "port": 8000} == secrets.redact({"pin": 493817, "port": 8000})


def test_without_secrets_nothing_is_touched():
    value = {"a": [1, "x"]}
    assert Secrets().redact(value) is value
    assert Secrets().redact_text("x") == "x"


def test_a_secret_added_later_is_masked_from_then_on():
    secrets = Secrets()
    secrets.add("first one")
    assert secrets.redact_text("first one, second one") == f"{MASK}, second one"
    secrets.add("second one")
    assert secrets.redact_text("first one, second one") == f"{MASK}, {MASK}"


def test_threads_may_add_and_redact_at_once():
    secrets = Secrets()
    leaked = []

    def work(number):
        for turn in range(5):
            mine = f"secret-{number}-{turn}"
            secrets.add(mine)
            leaked.extend([mine] if mine in secrets.redact_text(f"x {mine} y") else [])

    threads = [Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert leaked == []
    assert len(secrets) == 20


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("password", True),
        ("ansible_become_password", True),
        ("ansible_become_pass", True),
        ("db_passwd", True),
        ("HF_TOKEN", True),
        ("hf_token", True),
        ("token", True),
        ("OPENAI_API_KEY", True),
        ("apiKey", True),
        ("AWS_SECRET_ACCESS_KEY", True),
        ("client-secret", True),
        ("private_key", True),
        ("ssh_passphrase", True),
        ("proxmox_credentials", True),
        ("max_tokens", False),
        ("speculative_num_draft_tokens", False),
        ("tokenizer", False),
        ("token_limit", False),
        ("ansible_ssh_private_key_file", False),
        ("secret_name", False),
        ("password_file", False),
        ("compass", False),
        ("key", False),
        ("name", False),
        ("", False),
    ],
)
def test_names_that_look_like_secrets_are_told_apart(name, expected):
    assert expected is looks_secret(name)
    assert expected is Secrets().looks_secret(name)


@pytest.mark.parametrize(
    ("found", "masked"),
    [
        ({"hf_token": "abc-123"}, True),
        ({"deep": [{"env": {"HF_TOKEN": "abc-123"}}]}, True),
        ({"hf_token": "{{ abc-123 }}"}, False),
        ({"name": "abc-123"}, False),
        (["abc-123"], False),
        (None, False),
    ],
)
def test_texts_under_the_names_of_secrets_are_learnt(found, masked):
    secrets = Secrets()
    secrets.learn(found)
    assert masked is (secrets.redact_text("x abc-123 y") == "x ******** y")


def test_a_switch_under_the_name_of_a_secret_is_none():
    secrets = Secrets()
    secrets.learn({"ask_password": "yes", "db_password": "", "vault_password": "prompt"})
    assert 0 == len(secrets)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("argument is 'Tr0ub4dor&3-and-mo...", f"argument is '{MASK}..."),
        ("the title is Tr0ub4dor&3-an", f"the title is {MASK}"),
        ("...and-more-of-it: is the end", f"...{MASK}: is the end"),
        ("and-more-of-it\nis the next line", f"{MASK}\nis the next line"),
        ("TR0UB4DOR&3-AND-MORE-OF-IT", MASK),
        ("Tr0ub is short", "Tr0ub is short"),
        ("Tr0ub4dor in the middle of a text", f"{MASK} in the middle of a text"),
    ],
)
def test_what_is_left_of_a_secret_that_was_cut_off_is_masked(text, shown):
    """Whoever shortened it did not know that it was one."""
    secrets = Secrets()
    secrets.add("Tr0ub4dor&3-and-more-of-it")
    assert shown == secrets.redact_text(text)


@pytest.mark.parametrize(
    ("value", "hidden"),
    [
        ({"api_key": "first-secret"}, True),
        ({"backup_secrets": ["one-of-some", "first-secret"]}, True),
        ({"credentials": [{"user": "me", "password": "first-secret"}]}, True),
        ({"database": "postgres://me:f1rst-secret@host", "db_password": "a postgres://me:first-secret@host/x"}, False),
        ({"api_key": "{{ first-secret }}"}, False),
    ],
)
def test_what_is_learnt_as_a_secret(value, hidden):
    secrets = Secrets()
    secrets.learn(value)
    assert (MASK if hidden else "first-secret") == secrets.redact_text("first-secret")


def test_what_was_remembered_before_a_secret_came_is_masked_after_it():
    """Texts that were looked at are remembered, until there is one secret more."""
    secrets = Secrets()
    secrets.add("first-secret")
    before = secrets.redact({"name": "second-secret", "n": 1})
    secrets.add("second-secret")
    assert ({"name": "second-secret", "n": 1}, {"name": MASK, "n": 1}) == (
        before,
        secrets.redact({"name": "second-secret", "n": 1}),
    )


def test_more_texts_than_are_remembered_are_redacted_all_the_same():
    """Also those that come again after the memory was emptied."""
    secrets = Secrets()
    secrets.add("hidden-7")
    for _ in range(2):
        assert MASK == secrets.redact(["hidden-7", *(f"text {number}" for number in range(6000))])[0]


@examples(100)
@given(secret=secrets_, before=around, after=around, cut=st.integers(0, 40))
def test_where_a_secret_is_masked_its_json_was_seen_to_hold_it(secret, before, after, cut):
    """Events are searched as JSON first; those that cannot hold a secret are not looked at value by value."""
    secrets = Secrets()
    secrets.add(secret)
    missed = []
    for name, encode in ENCODINGS.items():
        carried = encode(secret)
        for text in (f"{before}{carried}{after}", f"{before}{carried[:cut]}", f"{carried[cut:]}{after}"):
            for value in ({"stdout": text}, {text: 1}, [f"...{carried[cut:]}", f"{carried[:cut]}... and so on"]):
                written = native.json_of(value)
                if secrets.redact(value) != value and written and not secrets.may_hold(written.decode()):
                    missed.append((name, value))
    assert [] == missed


@pytest.mark.parametrize("number", [123456, 1234.56, 1e22, 1.2345e-7])
def test_a_number_that_is_a_secret_is_seen_in_json(number):
    secrets = Secrets()
    secrets.add(str(number))
    assert secrets.may_hold(native.json_of({"n": [number]}).decode())


def test_json_without_a_secret_is_seen_to_hold_none():
    secrets = Secrets()
    secrets.add("Tr0ub4dor&3")
    assert not secrets.may_hold(native.json_of({"stdout": "all is well", "n": 1.5}).decode())


@pytest.mark.parametrize("text", ["a Tr0ub4dor&3 b", "a Tr0ub4...", "nothing"])
def test_masks_are_the_same_without_the_core(text, monkeypatch):
    quick, slow = Secrets(), Secrets()
    quick.add("Tr0ub4dor&3")
    slow.add("Tr0ub4dor&3")
    shown = quick.redact_text(text)
    monkeypatch.delitem(sys.modules, "pydantic_core._pydantic_core")
    assert shown == slow.redact_text(text)


GAP = "... 1234 bytes cut ..."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"all is Tr\n{GAP}\nof-it and well", f"all is {MASK}\n{GAP}\n{MASK} and well"),
        (f"all is T\n{GAP}\nt and well", f"all is {MASK}\n{GAP}\n{MASK} and well"),
        (f"all is Tr0ub4dor&3-and-\ufffd\n{GAP}\n\ufffd-of-it", f"all is {MASK}\n{GAP}\n{MASK}"),
        (f"all is VHI\n{GAP}\n~", f"all is {MASK}\n{GAP}\n~"),
        (f"all is\n{GAP}\nwell", f"all is\n{GAP}\nwell"),
        (f"\n{GAP}\n", f"\n{GAP}\n"),
        (f"of-it.\n{GAP}\nand Tr\n{GAP}\nof-it", f"of-it.\n{GAP}\nand {MASK}\n{GAP}\n{MASK}"),
        ("a T, bytes cut ...", "a T, bytes cut ..."),
    ],
)
def test_beside_a_gap_nothing_of_a_secret_is_left(text, shown):
    """There it is known to be cut, so a single character is enough; base64 of it as well."""
    secrets = Secrets()
    secrets.add("Tr0ub4dor&3-and-more-of-it")
    assert shown == secrets.redact_text(text)
    assert shown.split("\n") == secrets.redact(text.split("\n"))
    assert secrets.may_hold(native.json_of({"stdout_lines": text.split("\n")}).decode())


@examples(60)
@given(secret=secrets_, before=around, after=around, keep=st.integers(0, 40))
def test_wherever_an_output_was_cut_nothing_of_a_secret_is_left(secret, before, after, keep):
    """As far as it is not what the secret's surroundings say anyway."""
    secrets = Secrets()
    secrets.add(secret)
    head, tail = secret[: min(keep, len(secret) - 1)], secret[-1:]
    shown = secrets.redact_text(f"{before}{head}\n{GAP}\n{tail}{after}")
    ending, beginning = shown.split(f"\n{GAP}\n")
    assert not head or ending.endswith(MASK)
    assert beginning.startswith(MASK)
