#!/usr/bin/python
"""Puts a text into a file; a module as people write them."""

DOCUMENTATION = """
module: note
short_description: Put a text into a file
options:
  path:
    description: The file.
    type: path
    required: true
    aliases: [dest]
  text:
    description: What shall be in it.
    type: str
    default: ''
  style:
    description: How it is written.
    choices: [plain, loud]
    default: plain
  token:
    description: A secret that comes along.
    type: str
"""

import os

from ansible.module_utils.basic import AnsibleModule


def main():
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True, "aliases": ["dest"]},
            "text": {"type": "str", "default": ""},
            "style": {"choices": ["plain", "loud"], "default": "plain"},
            "token": {"type": "str", "no_log": True},
            "unspoken": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    path, text = module.params["path"], module.params["text"]
    text = text.upper() if module.params["style"] == "loud" else text
    before = open(path).read() if os.path.exists(path) else ""
    if text == "fail":
        module.fail_json(msg="it was asked to fail", token=module.params["token"])
    if before != text and not module.check_mode:
        with open(path, "w") as file:
            file.write(text)
    shown = [open(f"/proc/{pid}/cmdline").read() for pid in (os.getpid(), os.getppid())]
    module.warn("take care")
    module.exit_json(
        changed=before != text,
        shown=shown,
        said=f"the token is {module.params['token']}",
        tmpdir=module.tmpdir,
        greeting=os.environ.get("GREETING", ""),
        uid=os.getuid(),
        became="SUDO_USER" in os.environ,
        diff={"before": before, "after": text, "before_header": path, "after_header": path},
        ansible_facts={"noted": text},
        stdout="one\ntwo",
    )


if __name__ == "__main__":
    main()
