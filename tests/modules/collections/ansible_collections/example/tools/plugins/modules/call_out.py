#!/usr/bin/python
"""Gives a text back, loud."""

DOCUMENTATION = """
module: call_out
short_description: Give a text back
options:
  text: {description: The text., type: str, required: true}
extends_documentation_fragment: [example.tools.volume]
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.example.tools.plugins.module_utils.shout import loud


def main():
    module = AnsibleModule(
        argument_spec={"text": {"type": "str", "required": True}, "volume": {"type": "int", "default": 1}},
        supports_check_mode=True,
    )
    module.exit_json(changed=False, text=loud(module.params["text"]) * module.params["volume"])


if __name__ == "__main__":
    main()
