#!/usr/bin/python
"""Says more than its result, or no result at all."""

import sys

from ansible.module_utils.basic import AnsibleModule


def main():
    module = AnsibleModule(argument_spec={"how": {"type": "str"}, "size": {"type": "int", "default": 0}})
    how = module.params["how"]
    if how == "noise":
        sys.stdout.write("loading...\n")
        module.exit_json(changed=False, text="y" * module.params["size"])
    if how == "rc":
        sys.stdout.write('{"rc": 3, "stdout": "no", "changed": false}\n')
        sys.exit(0)
    if how == "trace":
        raise ValueError("it fell over")
    sys.stdout.write("this is no JSON\n")
    sys.stderr.write("and this is why\n")
    sys.exit(4)


if __name__ == "__main__":
    main()
