#!/bin/sh
cat <<'J'
{"dyn": {"hosts": ["dyn1"], "vars": {"env": "dynamic"}}, "_meta": {"hostvars": {"dyn1": {"port": 1}}}}
J
