"""Facts about GPUs: from the system without CUDA, and in machine files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from isoviz.machines.measurement import Measurement, Pair
from isoviz.measure.gpus.gpu_parts import capability
from isoviz.measure.sharing import Resource, link_resource, part_beside_copies, weight_of_part
from isoviz.schema import BY_NAME, MismatchError, plain, read
from isoviz.this_computer import GpuFacts, nvidia_driver, nvidia_gpus, pci_link, this_computer

GPU = GpuFacts(1, "Maker M1", "9.0", 80 << 30, "PCIe 32.0 GT/s ×16")


def written(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def test_gpus_as_their_kernel_driver_lists_them(tmp_path: Path) -> None:
    place = "driver/nvidia/gpus/0000:{}/information"
    proc = written(
        tmp_path,
        {
            place.format("2a:00.0"): "Model: \t\t Maker M2\nIRQ: 5\n",
            place.format("17:00.0"): "Model: \t\t Maker M1\nIRQ: 4\n",
            "driver/nvidia/version": "NVRM version: 1\n",
        },
    )
    assert nvidia_gpus(proc) == ("Maker M1", "Maker M2")
    assert nvidia_gpus(tmp_path / "none") == ()


def test_versions_and_links_as_the_system_says(tmp_path: Path) -> None:
    device = "bus/pci/devices/0000:17:00.0/"
    system = written(
        tmp_path,
        {
            "module/nvidia/version": "580.65.06\n",
            f"{device}max_link_speed": "32.0 GT/s PCIe\n",
            f"{device}max_link_width": "16\n",
            "bus/pci/devices/0000:18:00.0/max_link_speed": "Unknown\n",
            "bus/pci/devices/0000:18:00.0/max_link_width": "255\n",
        },
    )
    assert nvidia_driver(system) == "580.65.06" and nvidia_driver(tmp_path / "none") == ""
    assert pci_link("0000:17:00.0", system) == "PCIe 32.0 GT/s ×16"
    assert [pci_link(address, system) for address in ("0000:18:00.0", "0000:19:00.0", "")] == ["", "", ""]


def test_capabilities() -> None:
    assert [capability(name) for name in ("sm_90", "sm_75", "sm_120", "fake")] == ["9.0", "7.5", "12.0", ""]


def test_facts_round_trip_and_are_shown() -> None:
    for gpu in (GPU, replace(GPU, link="", capability="")):
        assert read(json.loads(json.dumps(plain(gpu, BY_NAME))), GpuFacts, BY_NAME) == gpu
    assert str(GPU) == "GPU 1: Maker M1, 80 GiB, compute capability 9.0, PCIe 32.0 GT/s ×16"
    assert str(replace(GPU, link="", capability="")) == "GPU 1: Maker M1, 80 GiB"
    found = Measurement(this_computer(), "2026-01-01", 1.0, (("cupy", "14"), ("CUDA driver", "13.0")), gpus=(GPU,))
    assert read(json.loads(json.dumps(plain(found, BY_NAME))), Measurement, BY_NAME) == found
    assert "cupy 14, CUDA driver 13.0" in str(found) and f"  {GPU}" in str(found)
    assert "gpus" not in plain(replace(found, gpus=()), BY_NAME)


@pytest.mark.parametrize("change", [{"number": -1}, {"name": ""}, {"memory": 0}, {"capability": 9}, {"what": 1}])
def test_damaged_facts_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(MismatchError):
        read(plain(GPU, BY_NAME) | change, GpuFacts, BY_NAME)


def test_a_link_carries_what_its_channels_got_together() -> None:
    shared, apart = Pair("a", "b", (24e9, 25e9), (15e9, 16e9)), Pair("a", "c", (24e9, 25e9), (24e9, 24e9))
    found = link_resource("link", [shared, apart], "measured")
    assert found == (Resource("link", 31e9, "measured"), {"a": 1.0, "b": 1.0})
    assert link_resource("link", [apart], "") is None
    slower = link_resource("link", [Pair("a", "b", (24e9, 25e9), (10e9, 10e9))], "")
    assert slower is not None and slower[0].capacity == 25e9, "no channel alone may be too fast for it"


def test_the_part_of_a_memory_beside_copies() -> None:
    copies = Pair("m", "m", (8e9, 8e9), (5e9, 5e9))
    part = part_beside_copies(copies, Pair("m", "g", (8e9, 20e9), (6e9, 15e9)))
    assert part == pytest.approx((1 - 0.8 * 0.75) / 0.75)
    assert part_beside_copies(copies, Pair("m", "g", (8e9, 20e9), (8e9, 19e9))) == 0.0
    assert weight_of_part(Resource("memory", 20e9), 0.5, 10e9) == 1.0
    assert weight_of_part(Resource("memory", 1.0, held=True), 0.5, 10e9) == 0.5
