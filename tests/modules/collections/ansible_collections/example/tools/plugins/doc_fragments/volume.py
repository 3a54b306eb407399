"""What is documented once for several modules."""


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  volume:
    description: How often.
    type: int
    default: 1
"""
