"""What a probe is made of: sampling, hulls, shared resources, facts of a computer, measurements that travel with a machine."""

from __future__ import annotations

import json
import math
import os
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from isoviz._version import __version__
from isoviz.errors import MachineError
from isoviz.machines import (
    Channel,
    ChannelKind,
    Constant,
    Machine,
    Memory,
    MemoryKind,
    Resource,
    Sampled,
    load,
    machine_from_json,
    machine_to_json,
    preset,
    save,
)
from isoviz.machines.measurement import Check, Measurement, Pair, student_quantile
from isoviz.measure import kept_measurements as measurements
from isoviz.measure.sampling import Sample, never_falling, sample_adaptively, sampled
from isoviz.measure.sharing import beside_copies, device_resource, memory_resource, with_resources
from isoviz.schema import BY_NAME, plain, read
from isoviz.this_computer import Cache, ComputerFacts, NumaNode, caches, cpu_list, numa_nodes, this_computer, versions

# ---- sampling


def bent(run: float) -> float:
    """Rises with slope 1 up to 1 KiB, is flat from there on."""
    return min(run, 1024.0) * 1e6


def exactly(run: int) -> Sample:
    return Sample(run, ((bent(run),) * 3,))


def halfway(a: int, b: int) -> int | None:
    middle = 1 << round(math.log2(a * b) / 2)
    return middle if a < middle < b else None


def test_a_bend_is_found_and_straight_parts_are_left_alone() -> None:
    found = sample_adaptively(exactly, (1, 64, 4096, 2**18, 2**24), 30, halfway)
    runs = [sample.run for sample in found]
    assert 1024 in runs
    assert len(runs) < 14, "it stops by itself"
    function = sampled(found)
    for run in (1, 5, 300, 1024, 9999, 2**24):
        assert function(run) == pytest.approx(bent(run), rel=0.05)
    added = [run for run in runs if run not in (1, 64, 4096, 2**18, 2**24)]
    assert sum(64 < run < 2**18 for run in added) > len(added) / 2, runs


def test_noise_is_not_taken_for_a_bend() -> None:
    def noisy(run: int) -> Sample:
        wobble = 1 + 0.1 * math.sin(run)
        return Sample(run, ((1e9 * wobble, 1e9 * wobble * 0.8, 1e9 * wobble * 1.2),))

    assert len(sample_adaptively(noisy, (1, 64, 4096, 2**18, 2**24), 30, halfway)) < 9


def test_no_more_samples_than_asked_for_and_none_once_it_is_enough() -> None:
    assert len(sample_adaptively(exactly, (1, 2**24), 4, halfway)) == 4
    assert len(sample_adaptively(exactly, (1, 64, 2**24), 9, halfway, enough=lambda: True)) == 3


def test_middle_of_the_ways_of_moving() -> None:
    sample = Sample(4, ((1.0, 2.0, 3.0), (8.0, 8.0, 8.0)))
    assert sample.middle == pytest.approx(4.0)  # between 2 and 8, geometrically
    assert (sample.lowest, sample.highest) == (1.0, 8.0)


def middles(*rates: float, noise: float = 0.0) -> list[Sample]:
    return [Sample(2**k, ((rate * (1 - noise), rate, rate * (1 + noise)),)) for k, rate in enumerate(rates)]


def test_small_falls_are_evened_out_and_large_ones_taken_at_their_lower_end() -> None:
    assert never_falling(middles(1, 2, 4)) == pytest.approx((1, 2, 4))
    assert never_falling(middles(1, 2.2, 2.0, 4)) == pytest.approx((1, math.sqrt(4.4), math.sqrt(4.4), 4))
    assert never_falling(middles(10, 1, 4)) == pytest.approx((1, 1, 4))
    assert never_falling(middles(10, 1, 4), math.inf) == pytest.approx((math.sqrt(10), math.sqrt(10), 4))
    assert never_falling(middles(10, 4, noise=0.6)) == pytest.approx((math.sqrt(40),) * 2), "chance explains it"


@pytest.mark.parametrize("rates", [(5, 4, 3, 2, 1), (1, 9, 2, 8, 3), (3, 3, 3), (2, 1, 2, 1, 2, 1)])
def test_planning_rates_never_fall(rates: tuple[float, ...]) -> None:
    hull = never_falling(middles(*rates))
    assert list(hull) == sorted(hull)
    assert min(rates) <= min(hull) * 1.000001 and max(hull) <= max(rates) * 1.000001


def test_spread_and_what_was_measured_are_kept() -> None:
    function = sampled(middles(10e9, 1e9, 4e9, noise=0.1), "2026-01-01")
    assert function.samples == ((1.0, 1e9), (2.0, 1e9), (4.0, 4e9))
    assert function.measured == ((1.0, 10e9), (2.0, 1e9), (4.0, 4e9))
    assert function.ranges == ((9e9, 11e9), (0.9e9, 1.1e9), (3.6e9, 4.4e9))
    assert function.spread == pytest.approx((0.2, 0.2, 0.2))


@pytest.mark.parametrize(
    ("ranges", "problem"),
    [
        (5, "ranges: expected pairs"),
        ([[1, 2], 3], r"ranges\[1\]: expected a pair"),
        ([[2, 1], [1, 2]], r"ranges\[0\]: expected the lower rate first"),
        ([[1, 2]], r"ranges: expected one pair per sample \(2\), got 1"),
        ([[1, 2], [0, 2]], r"ranges\[1\]: expected a finite number"),
    ],
)
def test_ranges_are_checked(ranges: object, problem: str) -> None:
    with pytest.raises(MachineError, match=problem):
        Sampled(((1, 1), (2, 2)), ranges=ranges)  # type: ignore[arg-type]


# ---- shared resources


def test_a_disk_that_takes_turns() -> None:
    found = device_resource("d", Pair("r", "w", (1.5e9, 1e9), (0.6e9, 0.6e9)), "measured")
    assert found is not None
    assert found[0] == Resource("d", 1.0, "measured", held=True)
    assert found[1] == {"r": 1.0, "w": 1.0}


def test_a_disk_that_does_both_at_once_is_no_resource() -> None:
    assert device_resource("d", Pair("r", "w", (1.5e9, 1e9), (1e9, 1e9)), "") is None
    below = device_resource("d", Pair("r", "w", (1e9, 1e9), (0.4e9, 0.4e9)), "")
    assert below is not None and below[0].capacity == 1.0, "no channel alone may be too fast for it"


def test_a_memory_and_what_others_take_of_it() -> None:
    copies = Pair("m", "m", (8e9, 8e9), (5e9, 5e9))
    beside = [Pair("m", "r", (8e9, 2e9), (6e9, 2e9)), Pair("m", "w", (8e9, 1e9), (8e9, 0.95e9))]
    found = memory_resource("memory", copies, beside, {"m": 8e9, "r": 2e9, "w": 1e9}, "")
    assert found is not None
    resource, weights = found
    assert resource.capacity == pytest.approx(20e9)
    assert weights["m"] == 2.0
    # What the copy leaves, 20 − 2 × 6 GB/s, is what reading 2 GB/s takes: 4 bytes for each.
    assert weights["r"] == pytest.approx(4.0)
    assert "w" not in weights, "too little to tell"
    assert 2 * 6e9 + weights["r"] * 2e9 == pytest.approx(resource.capacity)


@pytest.mark.parametrize(("conversion", "disk", "held"), [(0.6, 0.7, True), (1.0, 0.98, False)])
def test_whether_conversions_take_as_much_of_a_memory_as_copies(conversion: float, disk: float, held: bool) -> None:
    """Beside a copy the disk keeps 0.7 of its speed; a conversion at a fifth of that speed takes as much, or next to nothing."""
    copies = Pair("m", "m", (8e9, 8e9), (4e9, 4e9))
    beside = [Pair("m", "r", (8e9, 2e9), (8e9 * 0.6, 2e9 * 0.7))]
    slow = [Pair("m", "r", (1.6e9, 2e9), (1.6e9 * conversion, 2e9 * disk))]
    found = memory_resource("memory", copies, beside, {"m": 8e9, "r": 2e9}, "", slow)
    assert found is not None
    resource, weights = found
    assert resource.held is held
    if held:
        assert resource.capacity == 1.0
        assert weights == {"m": 1.0, "r": pytest.approx(0.4 / 0.7, rel=1e-3)}
        assert weights["m"] * 0.6 + weights["r"] * 0.7 == pytest.approx(1, rel=1e-3), "together they use it up"
    else:
        assert weights["m"] == 2.0


def test_what_a_copy_takes_from_a_disk() -> None:
    """Both at once use it up: what the channel keeps, and what the copy holds in the time that it keeps."""
    found = beside_copies("d.writing", Pair("m", "w", (8e9, 2e9), (6e9, 1.4e9)), "measured")
    assert found is not None
    resource, weights = found
    assert (resource.name, resource.capacity, resource.held) == ("d.writing", 1.0, True)
    assert weights["w"] == 1.0 and weights["w"] * 0.7 + weights["m"] * 0.75 == pytest.approx(1.0)
    assert beside_copies("d.writing", Pair("m", "w", (8e9, 2e9), (7e9, 1.94e9)), "") is None
    swallowed = beside_copies("d.writing", Pair("m", "w", (8e9, 2e9), (4e9, 1e8)), "")
    assert swallowed is not None and swallowed[1]["m"] == 1.0


def test_a_memory_that_nobody_notices_is_no_resource() -> None:
    assert memory_resource("memory", Pair("m", "m", (8e9, 8e9), (8e9, 7.9e9)), [], {"m": 8e9}, "") is None


def test_channels_name_what_they_use() -> None:
    channels = local().channels
    found = with_resources(channels, [(Resource("a", 1), {channels[0].name: 1.0}), (Resource("b", 1), {channels[0].name: 2.0})])
    assert found[0].resources == (("a", 1.0), ("b", 2.0))
    assert all(channel.resources == () for channel in found[1:])


# ---- this computer


def test_facts_of_this_computer_round_trip() -> None:
    facts = this_computer()
    assert facts.host and facts.cpus >= 1
    assert read(json.loads(json.dumps(plain(facts, BY_NAME))), ComputerFacts, BY_NAME) == facts
    assert {"isoviz", "python", "numpy"} <= {name for name, _ in versions()}


def written(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def test_numa_nodes_and_caches_as_the_system_says(tmp_path: Path) -> None:
    system = written(
        tmp_path,
        {
            "node/node0/cpulist": "0-1\n",
            "node/node0/meminfo": "Node 0 MemTotal:  1024 kB\nNode 0 MemFree: 5 kB\n",
            "node/node1/cpulist": "2,3\n",
            "node/node1/meminfo": "Node 1 MemTotal:  2048 kB\n",
            "node/node2/cpulist": "\n",
            "node/node2/meminfo": "Node 2 MemTotal:  4096 kB\n",
            "node/node3/cpulist": "nonsense",
            **{
                f"cpu/cpu{k}/cache/index{i}/{name}": text
                for k in range(4)
                for i, cache in enumerate(
                    (
                        {"type": "Data", "level": "1", "size": "48K", "shared_cpu_list": str(k)},
                        {"type": "Instruction", "level": "1", "size": "32K", "shared_cpu_list": str(k)},
                        {"type": "Unified", "level": "3", "size": "32M", "shared_cpu_list": "0-3"},
                    )
                )
                for name, text in cache.items()
            },
        },
    )
    assert numa_nodes(system) == (NumaNode(0, 1 << 20, (0, 1)), NumaNode(1, 2 << 20, (2, 3)))
    assert caches(system) == (Cache(1, 48 << 10, 4, 1), Cache(3, 32 << 20, 1, 4))
    assert numa_nodes(tmp_path / "none") == caches(tmp_path / "none") == ()


def test_lists_of_processors() -> None:
    assert cpu_list("0-2,7\n") == (0, 1, 2, 7)
    assert cpu_list("") == ()
    with pytest.raises(ValueError, match="x"):
        cpu_list("x")


# ---- measurements


def local(host: str | None = None) -> Machine:
    facts = this_computer() if host is None else replace(this_computer(), host=host)
    found = Measurement(
        facts,
        "2026-01-01T00:00:00+00:00",
        12.5,
        (("isoviz", __version__), ("numpy", "2")),
        (("node0.dsk", "/data"),),
        (Pair("r", "w", (2e9, 1e9), (1e9, 0.5e9)),),
        (Check("a copy", 0.5, 0.6),),
        starts=(("same host", 1.5e-3),),
    )
    function = Sampled(((4096.0, 1e9),), (0.5,), "2026-01-01", None, ((0.8e9, 1.3e9),))
    return Machine(
        "local",
        (Memory("node0.sys", MemoryKind.SYS), Memory("node0.dsk", MemoryKind.DSK)),
        (
            Channel("", ChannelKind.MEMCPY, "node0.sys", "node0.sys", Constant(1e10)),
            Channel("", ChannelKind.DISK_READ, "node0.dsk", "node0.sys", function, resources=(("d", 1.0),), max_in_flight=2),
        ),
        (Resource("d", 1.2, held=True),),
        provenance=f"measured 2026-01-01 on {facts.host}",
        measurement=found,
    )


def test_a_measured_machine_round_trips(tmp_path: Path) -> None:
    machine = local()
    assert machine_from_json(json.loads(json.dumps(machine_to_json(machine)))) == machine
    save(machine, tmp_path / "local.json")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load(tmp_path / "local.json") == machine
    assert replace(machine, measurement=None).digest != machine.digest
    text = str(machine.measurement)
    for word in (
        "12.5 s",
        f"isoviz {__version__}, numpy 2",
        "node0.dsk: /data",
        "1.20×",
        "(same host) begins and ends in 1.5 ms",
    ):
        assert word in text


def test_loading_elsewhere_warns(tmp_path: Path) -> None:
    save(local("far-away"), tmp_path / "local.json")
    with pytest.warns(UserWarning, match=r"local\.json: measured on far-away, and this is .*isoviz\.probe\(\)"):
        load(tmp_path / "local.json")
    facts = this_computer()
    measurement = local().measurement
    assert measurement is not None
    found = replace(measurement, computer=replace(facts, cpus=facts.cpus + 1))
    assert f"which now has {facts.cpus} × " in found.elsewhere(facts)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"seconds": "x"}, "measurement.seconds: expected"),
        ({"versions": []}, "measurement.versions: expected an object"),
        ({"pairs": [{}]}, r"measurement.pairs\[0\]: the key 'first' is missing"),
        ({"pairs": [{"first": "a", "second": "b", "alone": [1], "together": [1, 1]}]}, r"pairs\[0\].alone: expected two rates"),
        ({"checks": [{"transfer": "a", "predicted": 0, "measured": 1}]}, r"checks\[0\].predicted: expected"),
        ({"computer": {"host": ""}}, "measurement.computer: the key 'processor' is missing"),
        ({"what": 1}, "measurement: unknown key 'what'"),
    ],
)
def test_damaged_measurements_are_refused_in_words(change: dict[str, object], problem: str) -> None:
    data = json.loads(json.dumps(machine_to_json(local())))
    data["measurement"].update(change)
    with pytest.raises(MachineError, match=problem):
        machine_from_json(data)
    with pytest.raises(MachineError, match="measurement"):
        replace(local(), measurement=5)  # type: ignore[arg-type]


def test_errors_of_checks_by_the_channel_that_bounds_them() -> None:
    measurement = local().measurement
    assert measurement is not None
    checks = tuple(Check("t", 1.0, seconds, channel) for seconds, channel in ((1.1, "r"), (1 / 1.1, "r"), (1.1, "r"), (2.0, "w")))
    found = replace(measurement, checks=checks)
    t = {1: 6.314, 2: 2.920, 3: 2.353, 4: 2.132, 10: 1.812, 40: 1.684}  # tables of Student's distribution
    assert [student_quantile(n) for n in (3, 4, 10, 40)] == pytest.approx([t[n] for n in (3, 4, 10, 40)], rel=0.02)
    assert student_quantile(1) < t[1] and student_quantile(2) < t[2], "few checks are never told as fewer"
    assert found.error("r") == pytest.approx(student_quantile(3) * math.log(1.1))
    assert found.error("elsewhere") == pytest.approx(
        student_quantile(4) * math.sqrt((3 * math.log(1.1) ** 2 + math.log(2) ** 2) / 4)
    ), "all count where none is alike"
    assert replace(found, checks=()).error("r") is None
    assert machine_from_json(json.loads(json.dumps(machine_to_json(replace(local(), measurement=found))))).measurement == found


# ---- the preset local


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "isoviz"


def test_the_preset_uses_a_probe_and_says_so(cache: Path, tmp_path: Path) -> None:
    assert measurements.kept_probe(tmp_path) is None
    assert measurements.keep_probe(local(), "node0.dsk", tmp_path)
    found = preset("local", directory=tmp_path)
    assert found.provenance == f"{local().provenance}, by a probe"
    assert found.channels == local().channels
    assert found.measurement == local().measurement
    assert preset("local", directory=tmp_path, measure="assumed").measurement is None
    measurements.forget_probe(tmp_path)
    assert measurements.kept_probe(tmp_path) is None


def test_a_probe_by_another_version_is_not_used(cache: Path, tmp_path: Path) -> None:
    found = local().measurement
    assert found is not None
    measurements.keep_probe(replace(local(), measurement=replace(found, versions=(("isoviz", "0.0.1"),))), "node0.dsk", tmp_path)
    assert measurements.kept_probe(tmp_path) is None


def test_of_several_disks_the_right_one_is_taken(cache: Path, tmp_path: Path) -> None:
    one = local()
    second = Channel("", ChannelKind.DISK_READ, "node0.dsk1", "node0.sys", Constant(7e9), resources=(("e", 1.0),))
    both = replace(
        one,
        memories=(*one.memories, Memory("node0.dsk1", MemoryKind.DSK)),
        channels=(*one.channels, second),
        resources=(*one.resources, Resource("e", 1.5, held=True)),
    )
    measurements.keep_probe(both, "node0.dsk1", tmp_path)
    found = preset("local", directory=tmp_path)
    assert [memory.name for memory in found.memories] == ["node0.sys", "node0.dsk"]
    assert found.channel("node0.dsk->node0.sys").peak == 7e9
    assert [resource.name for resource in found.resources] == ["e"]
    (tmp_path / "below").mkdir()
    for place in (tmp_path, tmp_path / "below"):  # on the same file system
        assert preset("local", directory=place).memory("node0.dsk").device == str(place)


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"format": "isoviz kept probe"}'])
def test_a_damaged_probe_is_no_probe(damage: str, cache: Path, tmp_path: Path) -> None:
    measurements.keep_probe(local(), "node0.dsk", tmp_path)
    (entry,) = cache.iterdir()
    entry.write_text(damage)
    assert measurements.kept_probe(tmp_path) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [('"node0.sys"', '"<script>"'), ("7000000000.0", "9000000000.0"), ('"assumed"', '"measured"'), ('"SYS"', '"ZCM"')],
)
def test_a_probe_that_somebody_changed_is_set_aside_with_a_word(
    old: str, new: str, cache: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The file is still the description of a machine, but not of the one that was measured."""
    machine = replace(local(), provenance="assumed", channels=(replace(local().channels[0], throughput=Constant(7e9)),))
    measurements.keep_probe(machine, "node0.dsk", tmp_path)
    kept = measurements.kept_probe(tmp_path)
    assert kept is not None and not caplog.records
    (entry,) = cache.iterdir()
    assert old in entry.read_text()
    entry.write_text(entry.read_text().replace(old, new))
    assert measurements.kept_probe(tmp_path) is None
    assert "a kept measurement is damaged and not used" in caplog.text and str(entry) in caplog.text


def test_of_another_computer_it_is_not_used(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measurements.keep_probe(local(), "node0.dsk", tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 77)
    assert measurements.kept_probe(tmp_path) is None
