"""What the pretended nvidia-smi prints: NVIDIA's CSV forms, to the letter."""

import pytest

from cleanslate.lab import smi

IDLE = smi.Reading(0, "GPU-00000000-0000-0000-0000-000000000000", 0)
HELD = smi.Reading(1, "GPU-11111111-1111-1111-1111-111111111111", 77824, ((12, "sglang::scheduler_TP1", 77824),))


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (
            ["--query-gpu=index,memory.used,memory.total", "--format=csv"],
            0,
            "index, memory.used [MiB], memory.total [MiB]\n0, 0 MiB, 143771 MiB\n1, 77824 MiB, 143771 MiB\n",
        ),
        (["--query-gpu=index, memory.used", "--format=csv,noheader,nounits"], 0, "0, 0\n1, 77824\n"),
        (["--query-gpu=memory.used", "--format=csv,nounits", "-i", "1"], 0, "memory.used [MiB]\n77824\n"),
        (["--id=0", "--query-gpu=fan.speed,pci.bus_id", "--format=csv,noheader"], 0, "[N/A], 00000000:1B:00.0\n"),
        (
            ["--query-compute-apps=pid,process_name,used_gpu_memory", "--format=csv"],
            0,
            "pid, process_name, used_gpu_memory [MiB]\n12, sglang::scheduler_TP1, 77824 MiB\n",
        ),
        (
            ["--query-compute-apps=gpu_uuid,pid,used_memory", "--format=csv,noheader,nounits"],
            0,
            "GPU-11111111-1111-1111-1111-111111111111, 12, 77824\n",
        ),
        (["--query-compute-apps=pid", "--format=csv,noheader", "-i", "0"], 0, ""),
        (["-L"], 0, f"GPU 0: NVIDIA H200 (UUID: {IDLE.uuid})\nGPU 1: NVIDIA H200 (UUID: {HELD.uuid})\n"),
        (["--query-gpu=memory.usd", "--format=csv"], 2, 'Field "memory.usd" is not a valid field to query.\n\n'),
        (["--query-gpu=index", "-i", "9", "--format=csv"], 6, "No devices were found\n"),
    ],
)
def test_a_query_is_answered_in_nvidias_form(words, code, text):
    """Header, units and exit code included."""
    assert (code, text) == smi.answer(words, [IDLE, HELD])


def test_a_query_needs_a_format():
    """Without one the real program refuses as well."""
    assert 2 == smi.answer(["--query-gpu=index"], [IDLE])[0]


def test_the_table_is_as_wide_as_nvidias_and_names_the_holders():
    """91 columns in each line after the date."""
    _, text = smi.answer([], [IDLE, HELD])
    lines = text.splitlines()
    assert {91} == {len(line) for line in lines[1:] if line}
    assert 1 == sum("sglang::scheduler_TP1" in line for line in lines)
    assert 1 == sum("77824MiB / 143771MiB" in line for line in lines)


def test_the_table_says_so_when_nothing_runs():
    """As in a container, where the driver names nobody."""
    assert "No running processes found" in smi.answer([], [IDLE])[1]
