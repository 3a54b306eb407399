"""How a target is reached: ssh (fabric), local, pct through a hypervisor; become; the agent's client."""
