#!/usr/bin/python
"""Always changes something, and knows no check mode."""

from ansible.module_utils.basic import AnsibleModule


def main():
    module = AnsibleModule(argument_spec={"path": {"type": "path"}})
    with open(module.params["path"], "a") as file:
        file.write("x")
    module.exit_json(changed=True)


if __name__ == "__main__":
    main()
