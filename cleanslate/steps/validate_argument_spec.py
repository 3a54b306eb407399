"""validate_argument_spec: check values against a spec; roles with meta/argument_specs.yml start with it."""

from __future__ import annotations

from typing import Any

from cleanslate.errors import StepFailed
from cleanslate.steps import _argument_spec
from cleanslate.steps.contract import Behaviour, Outcome, StepArguments, StepContext, StepType


class Arguments(StepArguments):
    """The spec, and the values."""

    argument_spec: dict[str, Any]
    """Argument name -> type, required, choices, elements, options ... as in `options` of a role's argument_specs."""
    provided_arguments: dict[str, Any] = {}
    """Values, beside the host's variables of the same names as the spec's arguments."""
    validate_args_context: dict[str, Any] = {}
    """What the spec is of, for whoever reads the result."""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Collect the values and say everything that is wrong with them."""
    yield from ()
    spec = {str(name): dict(about or {}) for name, about in args.argument_spec.items()}
    values = {name: context.variables[name] for name in spec if name in context.variables}
    values |= args.provided_arguments
    wrong = list(_argument_spec.errors(spec, values))
    data = {"changed": False, "validate_args_context": args.validate_args_context}
    if wrong:
        said = "Validation of arguments failed:\n" + "\n".join(wrong)
        raise StepFailed(said, data={**data, "argument_errors": wrong, "argument_spec_data": args.argument_spec})
    return Outcome({**data, "msg": "The arguments are as they should be"}, changed=False)


STEP = StepType(
    name="validate_argument_spec",
    arguments=Arguments,
    behave=behave,
    summary="Check values against an argument spec, as roles do by themselves with meta/argument_specs.yml.",
    example="""\
- name: What this playbook is given
  validate_argument_spec:
    argument_spec:
      workdir: {type: path, required: true}
      count: {type: int, choices: [1, 2, 4, 8]}
    provided_arguments: {count: 8}
""",
    returns={
        "argument_errors": "everything that is wrong, as sentences",
        "argument_spec_data": "the spec, when something is wrong",
        "validate_args_context": "what was given of that name",
    },
    on_target=False,
)
