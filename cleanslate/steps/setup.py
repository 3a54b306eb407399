"""The step type setup: facts about the target."""

from __future__ import annotations

from cleanslate.steps.contract import (
    Behaviour,
    Field,
    Outcome,
    PathText,
    Seconds,
    StepArguments,
    StepContext,
    StepType,
    Words,
)


class Arguments(StepArguments):
    """Which facts."""

    gather_subset: Words = Field(default_factory=lambda: ["all"])
    """Which kinds of facts: `all`, `min`, `hardware`, `network`, `virtual`, or a single kind (`mounts`).
    With `!` in front: not those. The minimum is always gathered unless `!min` is said."""
    filter: Words = Field(default_factory=list)
    """Keep only facts whose name fits one of these patterns, with or without `ansible_`."""
    fact_path: PathText = "/etc/ansible/facts.d"
    """The folder with the target's own facts, as `*.fact` files; they become `ansible_local`."""
    gather_timeout: Seconds = 10.0
    """How long a kind of facts that may hang can take (mounted file systems, programs in fact_path)."""


_FACTS = """
    hostname fqdn domain nodename system kernel kernel_version architecture machine machine_id userspace_architecture
    distribution distribution_version distribution_major_version distribution_release os_family lsb
    processor processor_count processor_cores processor_threads_per_core processor_vcpus processor_nproc
    memtotal_mb memfree_mb swaptotal_mb swapfree_mb memory_mb uptime_seconds loadavg mounts
    interfaces default_ipv4 default_ipv6 all_ipv4_addresses all_ipv6_addresses dns
    user_id user_uid user_gid user_gecos user_dir user_shell real_user_id effective_user_id env
    date_time python python_version pkg_mgr service_mgr cmdline proc_cmdline
    selinux apparmor fips is_chroot ssh_host_key_ed25519_public ssh_host_key_ecdsa_public ssh_host_key_rsa_public
    virtualization_type virtualization_role virtualization_tech_guest virtualization_tech_host local
"""


def behave(args: Arguments, context: StepContext) -> Behaviour:
    """Ask once."""
    yield from ()
    found = context.read(
        "facts.gather",
        subset=args.gather_subset,
        filters=args.filter,
        fact_path=args.fact_path,
        timeout=args.gather_timeout,
        environment=dict(context.environment),
    )
    for name, why in found["missed"].items():
        context.warn(f"no {name} facts could be gathered: {why}")
    facts = {f"ansible_{name}": value for name, value in found["facts"].items()}
    facts["gather_subset"] = args.gather_subset
    facts["module_setup"] = True
    return Outcome({}, changed=False, facts=facts)


STEP = StepType(
    name="setup",
    arguments=Arguments,
    behave=behave,
    summary="Gather facts about the target: its system, hardware, network, user, clock, and what it runs in.",
    example="""\
- name: What is it?
  setup:
    gather_subset: [min]
""",
    returns={"ansible_facts": "the facts, each also a variable of the host from here on"},
    notes=f"""\
They are read from files and system calls in one round trip; no program is started unless fact_path holds one.
Facts: {", ".join(f"`ansible_{name}`" for name in _FACTS.split())}; one for each interface (`ansible_eth0`), and those
of the firmware (`ansible_product_name`, `ansible_system_vendor`, `ansible_bios_version`, ...). Facts about block
devices and LVM, and those of the tools facter and ohai, are not gathered.""",
    only_reads=True,
)
