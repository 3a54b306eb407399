"""The step type template: render a template of the controller with the host's variables, and put it on the target."""

from __future__ import annotations

from typing import Any

from cleanslate.errors import StepFailed
from cleanslate.steps import _put, _sources
from cleanslate.steps._attributes import FILE_RETURNS, FileAttributes
from cleanslate.steps.contract import Behaviour, Field, Flag, PathText, StepContext, StepType, Text

_NEWLINES = {"\\n": "\n", "\\r": "\r", "\\r\\n": "\r\n", "\n": "\n", "\r": "\r", "\r\n": "\r\n"}
_OPTIONS = (
    "block_start_string",
    "block_end_string",
    "variable_start_string",
    "variable_end_string",
    "comment_start_string",
    "comment_end_string",
    "trim_blocks",
    "lstrip_blocks",
)


class Arguments(FileAttributes):
    """The template, how it is read, and where the text goes."""

    src: PathText
    """The template, on the controller."""
    dest: PathText
    """Where the text goes on the target. When it is a folder, or ends with a slash, the file is put in it."""
    backup: Flag = False
    """Keep what was there, beside it, under a name with the time."""
    force: Flag = True
    """Replace what is there and differs; otherwise only put what is not there at all."""
    follow: Flag = False
    """Where dest is a link, write what it leads to instead of putting a file in its place."""
    validate_: Text | None = Field(None, validation_alias="validate")
    """A command that says whether the new file is right, with %s for its path, before it is put in place."""
    block_start_string: Text | None = None
    """What begins a statement, instead of `{%`."""
    block_end_string: Text | None = None
    """What ends a statement, instead of `%}`."""
    variable_start_string: Text | None = None
    """What begins an expression, instead of `{{`."""
    variable_end_string: Text | None = None
    """What ends an expression, instead of `}}`."""
    comment_start_string: Text | None = None
    """What begins a comment, instead of `{#`."""
    comment_end_string: Text | None = None
    """What ends a comment, instead of `#}`."""
    trim_blocks: Flag = True
    """Drop the line end behind a statement."""
    lstrip_blocks: Flag = False
    """Drop blanks and tabs before a statement that begins a line."""
    newline_sequence: Text = "\\n"
    """The line end of the text: `\\n`, `\\r` or `\\r\\n`."""
    output_encoding: Text = "utf-8"
    """How the text is encoded."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Render here, then put the text as copy does."""
    source = context.find_file(args.src, "templates")
    if source.is_dir():
        raise StepFailed(f"{source} is a folder, not a template", data={"changed": False})
    content = _put.Content(_encoded(_rendered(args, context, source), args.output_encoding), source.name)
    wanted = args.wanted(mode=_sources.mode(source)) if args.mode == "preserve" else args.wanted()
    place = _put.Place(
        args.dest,
        wanted,
        follow=args.follow,
        force=args.force,
        backup=args.backup,
        validate=args.validate_,
        unsafe=args.unsafe_writes,
    )
    return (yield from _put.put(context, content, place, src=str(source)))


def _rendered(args: Arguments, context: StepContext, source: Any) -> str:
    from cleanslate.render import template_variables

    if args.newline_sequence not in _NEWLINES:
        raise StepFailed(f"newline_sequence is {args.newline_sequence!r}: write \\n, \\r or \\r\\n")
    options = {name: getattr(args, name) for name in _OPTIONS if getattr(args, name) is not None}
    options["newline_sequence"] = _NEWLINES[args.newline_sequence]
    return context.render_template(source, options, template_variables(source, args.dest))


def _encoded(text: str, encoding: str) -> bytes:
    try:
        return text.encode(encoding)
    except LookupError:
        raise StepFailed(f'there is no encoding "{encoding}"', data={"changed": False}) from None
    except UnicodeEncodeError as error:
        what = f"{error.object[error.start]!r} cannot be written in {encoding}"
        raise StepFailed(what, fix="use output_encoding: utf-8", data={"changed": False}) from None


STEP = StepType(
    name="template",
    arguments=Arguments,
    behave=behave,
    summary="Render a template of the controller with the host's variables, and put the text on the target.",
    example="""\
- name: The server's environment
  template:
    src: server.env.j2
    dest: "{{ workdir }}/server.env"
    mode: "0640"
""",
    returns={
        "dest": "where it was put",
        "src": "the template",
        "checksum": "SHA-1 of the text",
        "md5sum": "MD5 of the text, when it was written",
        "backup_file": "the copy of what was there before",
        **FILE_RETURNS,
    },
    notes=(
        "A relative src is looked for in the `templates` folders of the role and the playbook, then beside them. The "
        "template's first line may set options, as in `#jinja2: trim_blocks:False`. Besides the host's variables it "
        "knows `ansible_managed`, `template_host`, `template_uid`, `template_path`, `template_fullpath`, "
        "`template_destpath` and `template_run_date`."
    ),
)
