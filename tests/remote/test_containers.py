"""Which container a cgroup path means, in the forms that container managers really use."""

import pytest

from cleanslate.remote import containers

HEX = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/lxc/101/ns/system.slice/vllm.service", [("lxc", "101")]),
        ("/lxc/101", [("lxc", "101")]),
        ("/lxc.payload.101/user.slice", [("lxc", "101")]),
        ("/lxc.payload/101/ns", [("lxc", "101")]),
        ("/lxc.payload.my-box/system.slice", [("lxc", "my-box")]),
        ("/lxc.monitor/101", []),
        ("/lxc.monitor.101", []),
        (f"/docker/{HEX}", [("docker", HEX)]),
        (f"/system.slice/docker-{HEX}.scope", [("docker", HEX)]),
        (f"/lxc/101/ns/system.slice/docker-{HEX}.scope", [("lxc", "101"), ("docker", HEX)]),
        (f"/machine.slice/libpod-{HEX}.scope/container", [("podman", HEX)]),
        (f"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{HEX}.scope", [("podman", HEX)]),
        (f"/kubepods.slice/kubepods-pod1.slice/cri-containerd-{HEX}.scope", [("containerd", HEX)]),
        (f"/kubepods/besteffort/pod1234/{HEX}", [("containerd", HEX)]),
        ("/machine.slice/machine-web\\x2d1.scope/payload", [("nspawn", "web-1")]),
        ("/machine.slice/systemd-nspawn@web.service", [("nspawn", "web")]),
        ("/qemu.slice/205.scope", [("vm", "205")]),
        ("/system.slice/nvidia-persistenced.service", []),
        ("/user.slice/user-0.slice/session-3.scope", []),
        ("/", []),
    ],
)
def test_cgroup_paths_name_their_containers_from_the_outside_in(path, expected):
    assert expected == [(each["kind"], each["id"]) for each in containers.named_in([path])]


def test_a_container_is_told_once_though_every_controller_has_a_path():
    assert [{"kind": "lxc", "id": "101"}] == containers.named_in(["/lxc/101", "/lxc/101/ns", "/"])


@pytest.mark.parametrize(
    ("named", "words"),
    [([], "this machine"), ([("lxc", "101"), ("docker", HEX)], "lxc 101 / docker 0123456789ab")],
)
def test_containers_read_as_people_say_them(named, words):
    assert words == containers.label([{"kind": kind, "id": name} for kind, name in named])


def test_another_containers_process_is_not_taken_for_ours_by_a_shared_prefix(monkeypatch):
    """10 is not 101, and eleven digits of a docker id are not enough."""
    monkeypatch.setattr(containers, "lxc_init", lambda name: None)
    monkeypatch.setattr(containers, "_cgroups", lambda pid: [f"/lxc/101/docker/{HEX}"])
    process = type("P", (), {"pid": 1, "nspids": [1]})()
    asked = ["101", "10", HEX[:12], HEX[:11], HEX]
    assert [True, False, True, False, True] == [containers.Membership(name).holds(process) for name in asked]
