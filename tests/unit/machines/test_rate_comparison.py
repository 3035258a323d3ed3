"""The rates of a machine beside measured ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from isoviz.cli import main
from isoviz.machines import LatencyBandwidth, Machine, preset, rates_beside, save
from isoviz.machines.rate_comparison import RUNS


def measured() -> Machine:
    """The laptop, with a GPU link of half the bandwidth, a longer set-up of it, and without disk reads."""
    given = preset("laptop")
    channels = []
    for channel in given.channels:
        if channel.name == "node0.zcm->node0.fbm0":
            assert isinstance(channel.throughput, LatencyBandwidth)
            latency, bandwidth = channel.throughput.latency, channel.throughput.bandwidth
            function = LatencyBandwidth(latency * 2, bandwidth / 2)
            channels.append(replace(channel, throughput=function, setup=3 * channel.setup))
        elif channel.kind != "DiskRead":
            channels.append(channel)
    return replace(given, name="measured", channels=tuple(channels), provenance="measured 2026-01-01 on here")


def test_every_family_of_channels_has_its_ratio_at_every_run() -> None:
    found = rates_beside(preset("laptop"), measured())
    by_name = {each.here: each for each in found.channels}
    assert by_name["node0.zcm->node0.fbm0"].ratios == pytest.approx([0.5] * len(RUNS))
    assert by_name["node0.zcm->node0.fbm0"].setup[1] == pytest.approx(3 * by_name["node0.zcm->node0.fbm0"].setup[0])
    others = [each for name, each in by_name.items() if name != "node0.zcm->node0.fbm0"]
    assert others and all(each.ratios == pytest.approx([1.0] * len(RUNS)) for each in others)
    assert {family[0] for family in found.only_here} == {"DiskRead"} and found.only_there == ()
    assert json.loads(json.dumps(found.to_json()))["only_machine"] == ["DiskRead DSK → SYS", "DiskRead DSK → ZCM"]


def test_the_fastest_channel_of_a_family_is_compared() -> None:
    found = rates_beside(preset("dgx-h100-pair"), preset("laptop"))
    (copies,) = (each for each in found.channels if each.family == ("GPUCopy", "FBM", "FBM", True))
    assert copies.here == "node0.fbm0->node0.fbm0"
    assert any(family[0] == "RemoteMemcpy" for family in found.only_here)
    assert ("GPUCopy", "FBM", "FBM", False) in found.only_here, "peers are no copies within a GPU"


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(measured(), tmp_path / "local.json")
    assert main(["machine", "--preset", "laptop", "--beside", str(tmp_path / "local.json")]) == 0
    lines = capsys.readouterr().out.splitlines()
    lines = [line.removeprefix("  ") for line in lines]
    assert lines[:2] == ["Rates of laptop beside those of measured", lines[1]] and lines[1].split()[-3:] == [
        "laptop", "measured", "ratio",
    ]  # fmt: skip
    (at,) = (k for k, line in enumerate(lines) if line.startswith("GPUWrite ZCM → FBM"))
    assert lines[at].endswith("0.50×") and lines[at + 5].split() == ["set-up", "8", "µs", "24", "µs"]
    assert lines[-3:-1] == ["laptop: assumed", "measured: measured 2026-01-01 on here"]
    assert lines[-1] == "only in laptop: DiskRead DSK → SYS, DiskRead DSK → ZCM"
    assert main(["machine", str(tmp_path / "local.json"), "--beside", "laptop", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["beside"] == "laptop"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--preset", "laptop", "--beside", "nowhere.json"], "nowhere.json"),
        (["--preset", "laptop", "--beside", "laptop", "-o", "x.json"], "--beside prints a comparison"),
    ],
)
def test_what_cannot_be_compared(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["machine", *arguments]) == 2
    assert words in capsys.readouterr().err
