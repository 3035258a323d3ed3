"""The copy kernels move the same bytes as the reference, and touch no others; with NumPy alone too."""

from __future__ import annotations

import os
import platform
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from run_cases import random_bytes, random_layout, random_spaces

from isoviz import FieldSpace, IndexSpace, Layout
from isoviz.backends.host import copying as kernel
from isoviz.backends.host import kernels
from isoviz.backends.host.kernels import choices, direct, dispatch, in_use, many, pattern, preparation, recipe, tiles, tuning
from isoviz.backends.host.kernels import choices as constants
from isoviz.backends.host.kernels.choices import OPTIONS, Choices, choose, chosen
from isoviz.backends.pages import page_aligned
from isoviz.errors import LayoutError
from isoviz.layouts import Box, StridedCopy, View, apply, strided_copies
from isoviz.this_computer import Cache

Report = Callable[[str, object], None]


@pytest.fixture(autouse=True)
def as_chosen() -> Iterator[None]:
    """The same choices on every processor; what is chosen in a test is in force in no other."""
    kernels.prepare(wait=True)
    before = chosen()
    choose(Choices())
    yield
    choose(before)


@pytest.fixture(params=["compiled", "numpy"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With compiled kernels, and without."""
    if request.param == "numpy":
        monkeypatch.setattr(in_use, "compiled", None)
    else:
        assert kernels.prepare(wait=True), kernels.state()
        monkeypatch.setattr(constants, "LEAST_COMPILED", 0)
    return str(request.param)


def compare_with_reference(space: IndexSpace, fields: FieldSpace, here: Layout, there: Layout, rng: random.Random) -> None:
    a, b = here.on(space, fields), there.on(space, fields)
    copies = strided_copies(View(a), View(b), Box.whole(space))
    source = random_bytes(rng, a.nbytes)
    expected, found = np.zeros(b.nbytes, "u1"), np.zeros(b.nbytes, "u1")
    apply(copies, source, expected)
    for copy in copies:
        kernel.copy_strided(copy, source, found)
    assert (expected == found).all(), (space, fields, here, there)


@pytest.mark.usefixtures("either")
def test_random_layouts(full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # Small enough that small cases take every road.
    for name, few in (("_WORTH_STAGING", 4), ("_STAGED", 64), ("_STRETCH", 8), ("_PART", 5), ("_SHORT", 3)):
        monkeypatch.setattr(kernel, name, few)
    monkeypatch.setattr(constants, "PAST_CACHES", 64)
    depend = (recipe.recipe_of, dispatch.way_of, tiles._anywhere, recipe._structs_apart, recipe._structs_together, pattern._frame)
    for known in (*depend, pattern.pattern_of):
        known.cache_clear()
    rng = random.Random(5)
    for _ in range(2000 if full else 200):
        space, fields = random_spaces(rng)
        compare_with_reference(space, fields, random_layout(rng, space), random_layout(rng, space), rng)
    for known in (*depend, pattern.pattern_of):
        known.cache_clear()


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("size", [256, 300, 17])
@pytest.mark.parametrize("dtype", ["u1", "f4", "c16", "V12", "V24"])
def test_transpositions(size: int, dtype: str) -> None:
    space, fields = IndexSpace(x=size, y=256), FieldSpace(v=dtype)
    compare_with_reference(space, fields, Layout("<F, x, y>"), Layout("<F, y, x>"), random.Random(1))


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("count", [2, 3, 4, 5, 20])
def test_structs_and_arrays(count: int) -> None:
    space, fields = IndexSpace(x=20_000), FieldSpace.of({f"f{i}": "f4" for i in range(count)})
    rng = random.Random(1)
    compare_with_reference(space, fields, Layout("<F, x>"), Layout("<x, F>"), rng)
    compare_with_reference(space, fields, Layout("<x, F>"), Layout("<F, x>"), rng)


def shuffles() -> bool:
    """Whether this processor shuffles the bytes of its widest vectors."""
    assert kernels.prepare(wait=True), kernels.state()
    from isoviz.backends.host.kernels.compiled.vectors import SHUFFLES

    return SHUFFLES


def has_whole_lines() -> bool:
    """Whether a vector of this processor holds a cache line."""
    assert in_use.compiled is not None
    return in_use.compiled.vector == recipe.LINE


CASES = Path(__file__).with_name("kernel_cases.py")


@pytest.mark.parametrize("batch", range(2))
@pytest.mark.few(1)
def test_random_geometries_between_guard_pages(report: Report, full: bool, batch: int) -> None:
    """Element sizes, loops, strides, gaps and offsets at random: equal to what the copy means, every other byte of the
    destination as it was, and nothing outside of source and destination read or written."""
    count = 26_000 if full else 300
    done = subprocess.run(
        [sys.executable, CASES, str(batch), str(count)], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-2000:]}"
    right, shuffled, tiled, squares, tall, together, staged, cut = map(int, done.stdout.split())
    report("copy kernels: random geometries between guard pages", right)
    report("of these by shuffling bytes", shuffled)
    report("of these element by element", tiled)
    report("of these by way of the buffer", staged)
    report("of these in runs that go on in the next tile", cut)
    report("of these in squares", squares)
    report("of these in several squares, one below the other", tall)
    report("of these many small ones in one call", together)
    assert min(tiled, together) > right / 100 and min(staged, cut) > right / 200
    assert squares > right / 100 or not has_whole_lines(), "no copy was made in squares"
    # How many are tall depends on what was tuned for the processor; of a few hundred copies none may be.
    assert tall > 0 or not full or not has_whole_lines(), "no copy was made in several squares"
    assert shuffled > right / 100 or not shuffles(), "no copy was made by shuffling bytes"


class Clock:
    """Conversions that take as long as `seconds` says of a choice that is not the default, else 1 s; and how many there were."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, seconds: dict[tuple[str, object], list[float]]) -> None:
        self.now, self.count, self.seconds = 0.0, 0, {key: iter(found) for key, found in seconds.items()}
        self.last = {key: found[-1] for key, found in seconds.items()}
        monkeypatch.setattr("isoviz.backends.host.kernels.kernel_cache.folder", lambda: folder)
        monkeypatch.setattr(tuning.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(tuning, "MOST", 1e9)
        monkeypatch.setattr(tuning, "_BYTES", 1)
        monkeypatch.setattr(tuning, "TRIALS", dict.fromkeys(tuning.TRIALS, (1, ())))
        monkeypatch.delenv(tuning.SWITCH, raising=False)

    def prepared(self, choices: Choices, run: int, loops: object) -> Callable[[int, int], None]:
        def carry_out(here: int, there: int) -> None:
            self.count += 1
            took = 1.0
            for key in choices._asdict().items():
                if key in self.seconds:
                    took = min(took, next(self.seconds[key], self.last[key]))
            self.now += took

        return carry_out


MEASURED = Choices(aligned="far", buffer=400 << 10)


@pytest.mark.parametrize(
    "kept", ["", "{", "[1]", '{"choices": {}, "attempts": 1, "settled": true}', '{"choices": 3}', "null", "\u00e9"]
)
def test_what_suits_a_processor_is_measured_once(kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And again where what was kept is damaged. Another choice has to be clearly faster than the default, and that twice."""
    seconds: dict[tuple[str, object], list[float]] = {("aligned", "far"): [0.8], ("buffer", 400 << 10): [0.5]}
    seconds["unaligned", "far"] = [0.97]  # not clearly
    seconds["crowded", "plain"] = [0.5, 0.5, 0.5, 1.0]  # not twice
    seconds["crowded", "tiles"] = [2.0]
    clock = Clock(monkeypatch, tmp_path, seconds)
    tuning.place().write_text(kept, encoding="utf-8")
    assert tuning.tuned(clock.prepared) == MEASURED
    count = clock.count
    assert tuning.tuned(clock.prepared) == MEASURED
    assert clock.count == count, "measured again"
    assert {path.name for path in tmp_path.iterdir()} == {tuning.place().name, tuning.place().with_suffix(".lock").name}
    monkeypatch.setenv(tuning.SWITCH, "off")
    assert tuning.tuned(clock.prepared) == Choices()
    assert clock.count == count
    monkeypatch.setenv(tuning.SWITCH, "again")
    assert tuning.tuned(clock.prepared) == MEASURED
    assert clock.count > count
    monkeypatch.delenv(tuning.SWITCH)
    monkeypatch.setattr("isoviz.backends.host.kernels.kernel_cache.folder", lambda: tmp_path / "missing")
    assert tuning.tuned(clock.prepared) == MEASURED, "where nothing can be kept"


def test_another_processor_is_measured_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its model or its caches: a cache directory may be shared."""
    clock = Clock(monkeypatch, tmp_path, {("aligned", "far"): [0.8]})
    assert tuning.tuned(clock.prepared) == Choices(aligned="far")
    first, clock.last = tuning.place(), {}
    for name, other in (("processor", lambda: "another"), ("caches", lambda: (Cache(1, 1 << 15, 1, 1),))):
        clock.count, clock.seconds = 0, {}
        monkeypatch.setattr(tuning, name, other)
        assert tuning.tuned(clock.prepared) == Choices()
        assert clock.count
    assert len({first.name, tuning.place().name}) == 2
    assert len(list(tmp_path.glob("*.json"))) == 3


def test_a_busy_computer_is_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By later processes, some of them: times that do not agree say little."""
    clock = Clock(monkeypatch, tmp_path, {})
    monkeypatch.setattr(tuning, "_agree", lambda times: False)
    counts = []
    for attempt in range(1, 5):
        clock.count = 0
        assert tuning.tuned(clock.prepared) == Choices()
        counts.append(clock.count)
        found = tuning.kept()
        assert found is not None and not found.settled and found.attempts == min(attempt, tuning.ATTEMPTS)
    assert min(counts[:3]) > 0 and counts[3] == 0


def test_a_busy_moment_does_not_undo_what_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither choice is clearly faster the second time: the one that was the first time stays."""
    clock = Clock(monkeypatch, tmp_path, {("aligned", "far"): [0.8]})
    monkeypatch.setattr(tuning, "_agree", lambda times: False)
    assert tuning.tuned(clock.prepared) == Choices(aligned="far")
    clock.seconds, clock.last = {("aligned", "far"): iter(())}, {("aligned", "far"): 0.99}
    assert tuning.tuned(clock.prepared) == Choices(aligned="far")
    clock.last = {("aligned", "far"): 1.0}
    clock.seconds["aligned", "near"], clock.last["aligned", "near"] = iter(()), 0.8
    assert tuning.tuned(clock.prepared) == Choices(), "clearly faster now"


def test_measuring_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has not been tried stays as it is by default, and is tried another time."""
    clock = Clock(monkeypatch, tmp_path, {("aligned", "far"): [0.8], ("runs_past", False): [0.1]})
    monkeypatch.setattr(tuning, "MOST", 3.0)
    assert tuning.tuned(clock.prepared) == Choices(aligned="far")
    found = tuning.kept()
    assert found is not None and not found.stands
    monkeypatch.setattr(tuning, "MOST", 1e9)
    assert tuning.tuned(clock.prepared) == Choices(aligned="far", runs_past=False)
    found = tuning.kept()
    assert found is not None and found.stands


def test_a_processor_that_cannot_be_measured_is_taken_as_it_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And measured another time: nothing is kept."""
    clock = Clock(monkeypatch, tmp_path, {})

    def prepared(*_: object) -> Callable[[int, int], None]:
        raise MemoryError

    assert tuning.tuned(prepared) == Choices()
    assert not list(tmp_path.glob("*.json")) and not clock.count


def test_measuring_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of what was being tried stays, and the next one measures again."""

    def stopped(prepared: tuning.Prepared) -> Choices:
        prepared(Choices(aligned="plain", buffer=100 << 10), 4, ((64, 256, 4), (64, 4, 256)))
        raise KeyboardInterrupt

    monkeypatch.setattr(in_use, "compiled", None)
    monkeypatch.setattr(tuning, "tuned", stopped)
    with pytest.raises(KeyboardInterrupt):
        kernels.prepare(wait=True)
    assert chosen() == Choices() and not kernels.is_ready()
    monkeypatch.undo()
    assert kernels.prepare(wait=True), kernels.state()


def test_two_processes_measure_one_after_the_other(tmp_path: Path) -> None:
    """The later one takes what the first one kept."""
    code = (
        "import sys, time; from pathlib import Path; from isoviz.backends.host.kernels import kernel_cache, tuning\n"
        "kernel_cache.folder = lambda: Path(sys.argv[1])\n"
        "tuning.TRIALS = {'aligned': (1, ())}; count = [0]\n"
        "def prepared(*_):\n"
        "    count[0] += 1\n"
        "    return lambda here, there: None\n"
        "sys.stdin.readline(); tuning.tuned(prepared); print(count[0] > 0)"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for each in running:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    said = [each.communicate(timeout=250)[0].strip() for each in running]
    assert sorted(said).count("True") >= 1 and all(each.returncode == 0 for each in running)
    assert len(list(tmp_path.glob("*.json"))) == 1


@pytest.mark.full
def test_tuning_is_measured_here_and_said(tmp_path: Path) -> None:
    """What `python -m isoviz.backends.host.kernels` says, and that a switch that means nothing is named."""
    for said, words in (("off", "the defaults (ISOVIZ_TUNING=off)"), ("of", "ISOVIZ_TUNING=of means nothing")):
        environment = {**os.environ, tuning.SWITCH: said}
        command = [sys.executable, "-m", "isoviz.backends.host.kernels"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        assert words in done.stdout
    command = [sys.executable, "-m", "isoviz.backends.host.kernels", "--mesure"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "--mesure: expected nothing, or --measure" in done.stderr


def test_only_short_patterns_of_whole_lines_are_shuffled_together() -> None:
    if not shuffles():
        pytest.skip("this processor does not shuffle bytes")
    images = pattern.pattern_of(((0, 0, 1, ((1 << 20, 3, 1), (3, 1, 1 << 20))),), 0)
    assert images is not None
    assert (len(images.lines), images.together) == (3, 16)
    cropped = (
        (2000, 300, 80),
        (80, 3, 1),
        (3, 1, 160_000),
    )  # so many pixels of each row: lines of two steps, many of them
    assert pattern.pattern_of(((0, 0, 1, cropped),), 0) is None
    with_gaps = pattern.pattern_of(((0, 0, 3, ((1 << 20, 3, 5),)),), 0)
    assert with_gaps is not None
    assert (len(with_gaps.lines), with_gaps.together) == (5, 1)


def test_many_places_are_read_in_turn_only_where_they_end_soon() -> None:
    blocks = ((8, 32, 1024), (32, 2048, 32), (32, 65536, 8192))
    assert direct.gather_of(32, (*blocks, (64, 1 << 21, 1 << 18)), large=True) is not None
    assert direct.gather_of(32, ((64, 1 << 20, 32), (32768, 32, 2048)), large=True) is None


EVERY_CHOICE = [(name, option) for name, options in OPTIONS.items() for option in options]


@pytest.mark.parametrize(("name", "option"), EVERY_CHOICE, ids=lambda each: str(each))
@pytest.mark.few(8)
def test_copies_are_right_whatever_is_chosen(name: str, option: object, full: bool) -> None:
    """Transpositions of all sizes of elements, runs in another order, planes and fields, large enough to go past the caches."""
    assert kernels.prepare(wait=True), kernels.state()
    choose(Choices()._replace(**{name: option}))
    rng, copies = random.Random(3), []
    sides = ((1025, 1023), (96, 2048), (4099, 300), (1024, 1024), (2048, 96), (4096, 300))
    small, whole = name.startswith("small"), name in choices.Choices._fields[:6]
    for size in (1, 2) if small else (4, 8, 16) if whole else ():
        for rows, columns in sides if full else sides[:3]:
            copies.append(StridedCopy(0, 0, size, ((rows, columns * size, size), (columns, size, rows * size))))
    if not whole:
        copies.append(StridedCopy(0, 0, 336, ((3, *[336 * 83 * 85] * 2), (83, 336, 336 * 85), (85, 336 * 83, 336))))
        copies.append(StridedCopy(0, 0, 4, ((60, 27880, 27880), (82, 4, 340), (85, 328, 4))))
        copies.append(StridedCopy(0, 0, 3, ((60, 20910, 20910), (82, 3, 255), (85, 246, 3))))
        copies.append(StridedCopy(0, 0, 4652, ((9, 4652 * 34, 4652), (34, 4652, 4652 * 9))))
    for copy in copies:
        source, found = random_bytes(rng, copy.nbytes), page_aligned(copy.nbytes)
        expected = np.zeros(copy.nbytes, np.uint8)
        apply((copy,), source, expected)
        kernel.copy_strided(copy, source, found)
        assert (found == expected).all(), copy


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize(
    "copies",
    [
        [StridedCopy(40, 40, 0), StridedCopy(200, 200, 0, ((3, 5, 5),)), StridedCopy(0, 0, 5)],
        [StridedCopy(0, 0, 9, (*((2, 9 << (19 - k), 9 << (19 - k)) for k in range(18)), (2, 9, 18), (2, 18, 9)))],
        [StridedCopy(k, 3000 * k, 1, (*((2, 4 << k, 3 << k) for k in range(9, -1, -1)), *((1, 1, 1),) * 9)) for k in (0, 1)],
        [StridedCopy(k, 9000 * k, 9, ((2, 90, 9), (8, 9, 90))) for k in range(0, 20, 10)],
    ],
    ids=["nothing in it", "twenty loops", "loops of one turn", "blocks among others"],
)
def test_unusual_copies(copies: list[StridedCopy]) -> None:
    rng = random.Random(9)
    reach = [max(copy[end] + copy.run + sum((n - 1) * loop[end] for n, *loop in copy.loops) for copy in copies) for end in (0, 1)]
    source, found = random_bytes(rng, reach[0]), random_bytes(rng, reach[1])
    expected = found.copy()
    apply(copies, source, expected)
    kernel.copy_all(copies, source, found, lambda: None)
    assert (found == expected).all()


def test_which_copies_are_small_ones() -> None:
    """Those that vectors turn over are not, nor those that touch many lines for few bytes; fields of structs share theirs."""
    turned = [StridedCopy(k << 12, k << 12, 1, ((64, 64, 1), (64, 1, 64))) for k in range(3)]
    sparse = [StridedCopy(8 * k, 48_000 * k, 4, ((12_000, 8192, 4),)) for k in range(3)]
    structs = [StridedCopy(4 * k, 64_000 * k, 4, ((16_000, 40, 4),)) for k in range(10)]
    assert many.many_of(turned) == (None, turned)
    assert many.many_of(sparse * 2) == (None, sparse * 2)
    found, others = many.many_of([*structs, *sparse])
    assert found is None or others == sparse
    found, others = many.many_of(structs)
    assert found is not None and not others and len(found.rows) == 10
    assert (found.source, found.destination) == ((0, 640_000), (0, 640_000))
    small = [StridedCopy(1000 * k, 1000 * k, 9, ((3, 10, 9),)) for k in range(100)]
    found, others = many.many_of([*structs, *small], large=True)
    assert found is not None and len(found.rows) == 100 + len(structs) - len(others)
    assert many.runs_of(9, ((1000, 1440, 1440), (16, 9, 90), (10, 144, 9))) is not None
    assert many.runs_of(9, ((2, 5000, 1440), (16, 9, 90), (10, 144, 9))) is None, "what lies beside a block comes much later"


@pytest.mark.usefixtures("either")
def test_many_small_copies() -> None:
    """Some hundred at a time, asking in between whether to go on; none of them where one reaches outside of its array."""
    rng, asked = random.Random(8), [0]
    copies = [StridedCopy(200 * k, 100 * k, 3, ((9, 11, 10), (3, 3, 3))[: 1 + k % 2]) for k in range(700)]
    source, found = random_bytes(rng, 200 * 700), random_bytes(rng, 100 * 700)
    expected = found.copy()
    apply(copies, source, expected)

    def check() -> None:
        asked[0] += 1
        if asked[0] > stop:
            raise KeyboardInterrupt

    written, stop = found.copy(), 1 << 20
    kernel.copy_all(copies[::-1], source, written, check)
    assert (written == expected).all() and asked[0] > 2
    written, asked[0], stop = found.copy(), 0, 2
    with pytest.raises(KeyboardInterrupt):
        kernel.copy_all(copies, source, written, check)
    assert (written != expected).any() and (written != found).any()
    for outside in (
        StridedCopy(0, 100 * 700 - 2, 3, ()),
        StridedCopy(200 * 700 - 11, 0, 3, ((2, 9, 3),)),
        StridedCopy(-1, 0, 3, ()),
    ):
        written, asked[0], stop = found.copy(), 0, 1 << 20
        with pytest.raises(LayoutError, match="reaches outside"):
            kernel.copy_all([outside, *copies], source, written, check)
        assert (written == found).all()
    with pytest.raises(LayoutError, match="overlaps its source"):
        kernel.copy_all([StridedCopy(0, 50, 30, ((3, 40, 40),)), StridedCopy(500, 600, 3, ((3, 5, 3),))], source, source, check)


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize(
    "copies",
    [
        [StridedCopy(32, 32, 32, ((8000, 64, 64),)), StridedCopy(0, 69 * 64, 32, ((8000, 64, 128),))],
        [StridedCopy(0, 128 * 64, 32, ((8000, 64, 64),)), StridedCopy(32, 32, 32, ((8000, 64, 128),))],
        [StridedCopy(0, 0, 12, ((3333, 64, 24), (4, 1, 24 * 3333), (2, 1, 12)))],
        [StridedCopy(0, 0, 12, ((4000, 64, 36), (3, 4, 12)))],
        [StridedCopy(0, 0, 12, ((4000, 60, 36), (3, 1, 12)))],
    ],
    ids=["other strides later", "other strides before", "sources overlap", "sources overlap by 8", "sources overlap by 11"],
)
def test_copies_that_no_layout_makes(copies: list[StridedCopy]) -> None:
    rng = random.Random(2)
    reach = [max(copy[end] + copy.run + sum((n - 1) * loop[end] for n, *loop in copy.loops) for copy in copies) for end in (0, 1)]
    source, found = random_bytes(rng, reach[0]), random_bytes(rng, reach[1])
    for order in (copies, copies[::-1]):
        expected = found.copy()
        apply(order, source, expected)
        written = found.copy()
        kernel.copy_all(order, source, written, lambda: None)
        assert (written == expected).all()


AVX2 = "+avx2,+avx,+sse4.2,+sse4.1,+ssse3,+sse3,+sse2,+sse,+bmi,+bmi2,+lzcnt,+popcnt,+fma,+movbe,+cmov,+cx16,+fxsr,+x87,+mmx"
NARROWER = {
    256: {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": AVX2},
    128: {"NUMBA_ENABLE_AVX": "0"},
}
"""Bits of vectors → what Numba is told."""


@pytest.mark.full
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of another processor's features")
@pytest.mark.parametrize("bits", NARROWER)
def test_narrower_vectors(report: Report, bits: int, tmp_path: Path) -> None:
    """Of processors that have no wider ones, which Numba then compiles for: told to do without what this one has, it would end
    the process over a kernel that takes it. The same random geometries, the same transpositions by squares."""
    environment = {**os.environ, **NARROWER[bits], "XDG_CACHE_HOME": str(tmp_path), "ISOVIZ_CACHE": str(tmp_path)}
    code = "from isoviz.backends.host import kernels; assert kernels.prepare(wait=True), kernels.state(); print(kernels.state())"
    for command in ([sys.executable, "-c", code], [sys.executable, CASES, str(bits), "3000"]):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        if command[1] == "-c":
            assert f"{bits} bits" in done.stdout
        else:
            right, shuffled, _, squares, tall, *_ = map(int, done.stdout.split())
            report(f"copy kernels of {bits} bits: random geometries between guard pages", right)
            assert squares > right / 100 and not shuffled and not tall


def test_tiles_in_the_buffer() -> None:
    """Structs are one run of the buffer, arrays one each; what has gaps goes straight to the destination."""
    sizes, count, rows = (3, 8, 5), 400, 500
    entry, starts = sum(sizes), (0, 3, 11)
    apart = [start * count * rows for start in starts]
    joined, parted, gaps = [], [], []
    for size, start, array in zip(sizes, starts, apart, strict=True):
        structs, arrays = (count * entry, entry), (size, rows * size)  # one is turned over
        joined.append((array, start, size, ((rows, arrays[0], structs[0]), (count, arrays[1], structs[1]))))
        parted.append((start, array, size, ((rows, structs[0], arrays[0]), (count, structs[1], arrays[1]))))
        gaps.append((array, start, size, ((rows, arrays[0], count * (entry + 1)), (count, arrays[1], entry + 1))))
    for shapes, outs in ((joined, 1), (parted, 3), (gaps, 0)):
        found = tiles.tiles_of(tuple(shapes), large=True)
        assert found is not None and len(found.outs) == outs
        assert (found.chain >= 0) == bool(outs)
    assert len(tiles.tiles_of(tuple(joined[:1]), large=True).outs) == 0  # type: ignore[union-attr]  # one field of structs
    small = tuple((*shape[:3], tuple((7, *loop[1:]) for loop in shape[3])) for shape in joined)
    assert len(tiles.tiles_of(small).outs) == 0  # type: ignore[union-attr]  # may be read again from a cache


def test_a_tile_of_one_turn_of_a_loop_that_does_not_go_on_where_it_ends() -> None:
    """What follows in the destination is another row: the rest of a line must not be kept for it."""
    assert kernels.prepare(wait=True), kernels.state()
    copy = StridedCopy(0, 0, 4, ((241, 4, 4642), (2, 964, 2321), (320, 12_050, 4)))
    recipe_ = tiles.tiles_of(((0, 0, copy.run, copy.loops),), large=True)
    assert recipe_ is not None and len(recipe_.outs) and recipe_.tiles.tolist() == [121, 1, 320]
    source = random_bytes(random.Random(3), 12_050 * 320)
    expected, found = np.zeros(4642 * 241, "u1"), np.zeros(4642 * 241, "u1")
    apply((copy,), source, expected)
    (call,) = dispatch._tiled(((0, 0, copy.run, copy.loops),), source.ctypes.data, found.ctypes.data, large=True)
    call()
    assert (found == expected).all()


def test_rows_of_tiles_are_not_short() -> None:
    """Two short runs in a row at both ends, then a long loop: columns are of the long one, and no table is larger than a tile."""
    found = tiles.tiles_of(((0, 0, 1, ((4_000_000, 4, 2), (2, 2, 1))),), large=True)
    assert found is not None
    assert (found.tiles[found.order[0]] > 1000) and found.columns == 1


def test_fields_that_share_no_lines_go_one_by_one() -> None:
    rows, columns = 500, 400
    turned = [(0, 0, size, ((rows, size * columns, size), (columns, size, size * rows))) for size in (4, 3, 5)]
    assert tiles.are_apart(turned)
    short = [(0, 0, size, ((rows, size * 24, size), (20, size, size * rows))) for size in (4, 3, 5)]
    assert not tiles.are_apart(short), "rows of 20 elements, with gaps"
    assert tiles.are_apart(short[:1]), "vectors turn over rows of 80 bytes"


def test_what_vectors_turn_over() -> None:
    plane = ((1000, 4, 4000), (1000, 4000, 4))
    assert recipe.is_plane(4, plane)
    assert not recipe.is_plane(3, tuple((n, here * 3 // 4, there * 3 // 4) for n, here, there in plane))
    assert not recipe.is_plane(4, ((3, 4, 40_000), (1000, 4000, 4))), "three columns with gaps"
    assert recipe.is_plane(4, ((3, 4, 40_000), (1000, 12, 4))), "three fields of entries"
    assert not recipe.is_plane(4, ((4877, 3696, 3440), (38, 4, 16), (4, 154, 4))), "tiles of 608 bytes"


def test_runs_that_are_long_go_one_by_one() -> None:
    """Taking fields apart to move structs as a whole would make many copies of a few."""
    rows = StridedCopy(0, 0, 6400, ((2, 70_000, 80_000), (5, 6400, 12_800)))
    ends = StridedCopy(32_000, 64_000, 1950, ((2, 70_000, 80_000),))
    last = StridedCopy(140_000, 160_000, 5, ())
    assert kernel._alike([rows, ends, last]) == [[ends], [rows], [last]]
    fields = [StridedCopy(8 * k, 4000 * k, 4, ((1000, 16, 4), (2, 4, 2000))) for k in range(2)]
    assert [len(group) for group in kernel._alike([*fields, StridedCopy(0, 9000, 1, ((1000, 16, 1),))])] == [5]


def test_many_copies_go_together_where_they_share_lines() -> None:
    """Rows of structs, each with its fields: structs of one row at a time, at the end where they are structs."""
    fields = [(0, 2), (2, 8), (10, 1)]
    rows = [
        StridedCopy(row * 5000 + 100 * offset, row * 1100 + offset, size, ((100, size, 11),))
        for row in range(9)
        for offset, size in fields
    ]
    groups = kernel._alike(rows)
    assert [len(group) for group in groups] == [3] * 9
    assert [len(group) for group in kernel._alike([copy.reversed() for copy in rows])] == [3] * 9
    assert [len(group) for group in kernel._alike(rows[:15])] == [15], "a few may go together wherever they are"


@pytest.mark.usefixtures("either")
def test_large_copies_are_right() -> None:
    """As large as what is written past the caches, in tiles with ragged ends."""
    for space, here, there in (
        (IndexSpace(x=1025, y=1030), "<F, x, y>", "<F, y, x>"),
        (IndexSpace(x=70, y=90, z=110), "<F, x, y, z>", "<F, z, y, x>"),
        (IndexSpace(x=300_001), "<F, x>", "<x_in=8, F, x_out>"),
    ):
        fields = FieldSpace.of({"a": "f4", "b": "f8", "c": "f4"} if len(space) == 1 else {"v": "f4"})
        compare_with_reference(space, fields, Layout(here), Layout(there), random.Random(2))


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("run", [1, 2, 4, 8, 16])
@pytest.mark.few(3)
def test_transpositions_of_rows_and_columns_that_begin_anywhere(run: int, full: bool) -> None:
    """Large enough to be written past the caches, at places in a line that are whole elements of 4 bytes, of the element, or of
    one byte; rows and columns of one loop or of two; as many as fill lines, and some more."""
    rng = random.Random(run)
    cases = ((3, 4, 0), (5, 1, 12), (63, 0, 4 * run), (0, 0, 0), (1, 0, 0), (0, run, 64), (2, 64, 1))
    for more, offset, gap in cases if full else cases[:3]:
        rows, columns = 512 + more, (1 << 21) // run // 512 + more
        for split in (1, 4):
            row, column = columns * run + gap, rows * split * run + gap
            loops = ((columns, run, column), (rows, row, run), (split, rows * row, rows * run))
            copy = StridedCopy(64, 64 + offset, run, tuple(loop for loop in loops if loop[0] > 1))
            reach = [run + sum((loop[0] - 1) * loop[end] for loop in copy.loops) for end in (1, 2)]
            source, found = random_bytes(rng, 64 + reach[0]), random_bytes(rng, 64 + offset + reach[1] + 70)
            expected = found.copy()
            apply((copy,), source, expected)
            kernel.copy_strided(copy, source, found)
            assert (found == expected).all(), (copy, split)


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("run", [16, 64, 100, 128, 300, 512, 5000])
@pytest.mark.few(4)
def test_runs_with_gaps_and_in_turns(run: int) -> None:
    """Boxes of larger arrays, blocks of rows, and runs dealt out to several arrays."""
    rng, count = random.Random(run), (1 << 21) // run // 64
    for loops in (
        ((count * 64, run + 40, run),),
        ((count * 64, run, run + 24),),
        ((count, (run + 8) * 64, (run + 64) * 64), (64, run + 8, run + 64)),
        ((64, count * run, run), (count, run, run * 64)),
        ((count, 64 * run, run), (64, run, run * count)),
    ):
        copy = StridedCopy(0, 0, run, loops)
        reach = [run + sum((loop[0] - 1) * loop[end] for loop in loops) for end in (1, 2)]
        source, found = random_bytes(rng, reach[0]), random_bytes(rng, reach[1])
        expected = found.copy()
        apply((copy,), source, expected)
        kernel.copy_strided(copy, source, found)
        assert (found == expected).all(), copy


def test_rows_and_columns_are_found_in_loops() -> None:
    """Loops that go on where the one before ends are rows of the source, or columns, together; the others turn around them."""
    dims = (("a", 28), ("b", 31), ("c", 28), ("d", 31), ("e", 28))
    here, there, strides = 4, 4, {}
    for name, size in dims:
        strides[name], here = [size, here], here * size
    for name, size in dims[::-1]:
        strides[name].append(there)
        there *= size
    found = direct.squares_of(4, tuple(map(tuple, strides.values())), 0, bytewise=True)
    assert found is not None and not found.aligned
    assert sorted((found.rows, found.columns)) == [28 * 31, 28 * 31]
    assert found.row_table[:2].tolist() == [0, strides["e"][1]]
    assert found.column_table[:2].tolist() == [0, strides["a"][2]]
    assert direct.squares_of(4, ((1 << 20, 12, 4), (3, 4, 4 << 20)), 0, bytewise=True) is None, "three columns fill no line"
    assert direct.squares_of(1, ((4097, 1, 4097), (4097, 4097, 1)), 0, bytewise=False) is None, "bytes cannot be shuffled"
    assert direct.squares_of(4, ((1000, 4, 400), (100, 4000, 4)), 0, bytewise=True) is None, "a cache holds it"
    batches = ((16, 16, 512), (32, 256, 16), (100_000, 8192, 8192))
    assert direct.squares_of(16, batches, 0, bytewise=True) is None, "small matrices go together, many of them in a tile"


@pytest.mark.parametrize("run", [1, 2, 4, 8])
@pytest.mark.parametrize("columns", [5, 6, 14])
@pytest.mark.few(3)
def test_planes_with_few_columns_go_together(run: int, columns: int) -> None:
    """Those that lie one behind the other in the rows of the source: in squares, with ragged tiles at both ends of every loop."""
    assert kernels.prepare(wait=True), kernels.state()
    rng, joined = random.Random(columns), 0
    for sizes in ((columns, 40, 7, 5, 61), (columns, 17, 3, 2, 333), (columns, 130, 1, 3, 70)):
        names = "abcde"
        space = IndexSpace(**dict(zip(names, sizes, strict=True)))
        for order in ("ebdca", "ebadc", "dbeca"):
            here, there = (Layout(f"<F, {', '.join(each)}>").on(space, FieldSpace(v=f"V{run}")) for each in (names, order))
            (copy,) = strided_copies(View(here), View(there), Box.whole(space))
            found = recipe.recipe_of(copy.run, copy.loops, large=True)
            joined += isinstance(found, recipe.Recipe) and found.joined
            source, written = random_bytes(rng, copy.nbytes), page_aligned(copy.nbytes)
            expected = np.zeros(copy.nbytes, np.uint8)
            apply((copy,), source, expected)
            kernel.copy_strided(copy, source, written, large=True)
            assert (written == expected).all(), (sizes, order)
    assert joined >= 2 or run * columns >= recipe.LINE


def test_boxes_and_long_runs() -> None:
    assert recipe.is_box(100, ((10_000, 300, 300),))
    assert recipe.is_box(4, ((10_000, 4, 16),))
    assert not recipe.is_box(4, ((10_000, 8, 4),)), "nearly dense at one end, dense at the other"
    assert recipe.is_box(1, ((10_000, 3, 1),))
    assert not recipe.is_box(1, ((10_000_000, 3, 1),)), "one channel of a picture goes by shuffling bytes"
    assert not recipe.is_box(4, ((1000, 4, 4000), (1000, 4000, 4))), "turned over"
    streamed = recipe.streams_of(256, ((64, 16_384, 256), (64, 256, 16_384)), 0, large=True)
    assert streamed is not None
    assert streamed.source_strides.tolist() == [16_384, 256], "as it lies in the source"
    assert recipe.streams_of(256, ((64, 300, 256),), 0) is not None
    assert recipe.streams_of(256, ((64, 300, 256),), 1) is None, "lines in parts"
    streamed = recipe.streams_of(8192, ((1 << 10, 16_384, 16_384),), 0)
    assert streamed is not None and streamed.past_caches and streamed.ahead, "it is not read again soon"
    for run in (100, 64):
        box = recipe.streams_of(run, ((10_000, 320, 320),), 0)
        assert box is not None and not box.past_caches, "runs of a line or more, one by one"
    assert recipe.streams_of(60, ((10_000, 300, 300),), 0) is None


def test_long_runs_that_move_again_and_again_stay_in_caches() -> None:
    assert kernels.prepare(wait=True), kernels.state()
    copy = StridedCopy(0, 0, 4096, ((64, 8192, 8192),))
    source, destination = random_bytes(random.Random(1), 1 << 19), np.zeros(1 << 19, np.uint8)
    assert not kernels.prepared_copy(copy, source, destination, again=True), "by memcpy"
    assert kernels.prepared_copy(copy, source, destination, again=True, large=True), "past the caches"
    assert kernels.prepared_copy(copy, source, destination)
    for move in kernel.prepared_copies([copy], source, destination):
        move()
    assert np.array_equal(destination.reshape(-1, 8192)[:, :4096], source.reshape(-1, 8192)[:, :4096])
    assert not destination.reshape(-1, 8192)[:, 4096:].any()


@pytest.mark.usefixtures("either")
def test_what_is_refused() -> None:
    array = np.zeros(1 << 16, np.uint8)
    inside = StridedCopy(0, 0, 4, ((80, 4, 320), (80, 320, 4)))
    with pytest.raises(LayoutError, match="overlaps"):
        kernel.copy_strided(inside, array, array)
    with pytest.raises(LayoutError, match="overlaps"):
        kernel.copy_strided(inside, array[100:], array[:-100])
    kernel.copy_strided(inside, array[: 1 << 15], array[1 << 15 :])
    for copy in (
        StridedCopy(0, 0, 4, ((200, 4, 400), (100, 800, 4))),
        StridedCopy(-1, 0, 4, ((2, 8, 8),)),
        StridedCopy(0, array.size - 3, 4),
    ):
        with pytest.raises(LayoutError, match="reaches outside"):
            kernel.copy_strided(copy, np.zeros(1 << 14, np.uint8), array[: 1 << 15])


def test_kernels_say_why_they_are_not_there() -> None:
    """Without Numba, or switched off, copies are made with NumPy, and that is said."""
    code = "from isoviz.backends.host import kernels; print(kernels.prepare(wait=True)); print(kernels.state())"
    hidden = "import sys; sys.modules['numba'] = sys.modules['llvmlite'] = None; " + code
    for program, environment, said in (
        (code, {kernels.SWITCH: "numpy"}, "ISOVIZ_KERNELS=numpy"),
        (hidden, {}, "Numba cannot be loaded"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ, **environment}
        )
        first, second = done.stdout.splitlines()
        assert first == "False"
        assert said in second


def test_nothing_is_compiled_that_cannot_be_kept(tmp_path: Path) -> None:
    """A cache directory that is a file: no process compiles in the background, run after run."""
    (tmp_path / "isoviz").write_text("in the way")
    code = "from isoviz.backends.host.kernels import preparation as p; print(p.prepare(), p._compiling); print(p.state())"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path / "isoviz")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    first, second = done.stdout.splitlines()
    assert first == "False None"
    assert "nothing can be kept" in second


@pytest.mark.full
def test_kernels_are_compiled_by_one_process_at_a_time(tmp_path: Path) -> None:
    """While one process compiles, those that start later leave it to that one."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path / "isoviz")}
    later = "from isoviz.backends.host.kernels import preparation as p; p._in_background = lambda: print(1); print(p.prepare())"
    code = f"""
import subprocess, sys
from isoviz.backends.host.kernels import kernel_cache as c, preparation as p
begun = []; p._in_background = lambda: begun.append(1)
with c.only_one(wait=False) as alone:
    done = subprocess.run([sys.executable, "-c", {later!r}], capture_output=True, text=True, check=True)
    print(alone, done.stdout.split())
print(p.prepare(), begun)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines() == ["True ['False']", "False [1]"]


def kept_kernels(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A copy of the compiled kernels, and the environment in which it is used."""
    from isoviz.backends.host.kernels import kernel_cache as cache

    assert kernels.prepare(wait=True), kernels.state()
    place = cache.folder()
    assert place is not None
    folder = tmp_path / "isoviz" / place.name
    shutil.copytree(place, folder)
    return folder, {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path / "isoviz")}


def asked(code: str, environment: dict[str, str]) -> str:
    program = f"from isoviz.backends.host import kernels; {code}; print(kernels.state())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    return done.stdout


@pytest.mark.parametrize(
    ("damage", "ending"),
    [
        pytest.param(damage, ending, marks=() if (damage, ending) in (("flipped", ".nbc"),) else pytest.mark.full)
        for damage in (b"", b"garbage" * 40, None, "flipped", "gone")
        for ending in (".nbi", ".nbc")
    ],
)
@pytest.mark.few(2)
@pytest.mark.few(1)
@pytest.mark.full
def test_damaged_kernels_are_compiled_again(damage: bytes | str | None, ending: str, tmp_path: Path) -> None:
    """Not loaded, for they are pickles; deleted, and there again for the next process. None: cut short."""
    folder, environment = kept_kernels(tmp_path)
    victim = min(folder.rglob(f"walk.stream_rows*{ending}"))
    whole = victim.read_bytes()
    if damage == "gone":
        victim.unlink()
    elif damage == "flipped":
        victim.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    else:
        victim.write_bytes(whole[: len(whole) // 2] if damage is None else damage)  # type: ignore[arg-type]
    others = {path: path.stat().st_mtime_ns for path in folder.rglob("*.nb?") if "stream_rows" not in path.name}
    code = "from isoviz.backends.host.kernels import preparation as p; p._in_background = lambda: None; print(p.prepare())"
    assert "compiled in the background" in asked(code, environment)
    assert not list(folder.rglob("walk.stream_rows*"))
    assert "compiled kernels" in asked("kernels.prepare(wait=True)", environment)
    assert "compiled kernels" in asked("kernels.prepare()", environment), "the next process has them at once"
    assert {path: path.stat().st_mtime_ns for path in others} == others, "nothing else was compiled again"


@pytest.mark.parametrize("content", ["", "{", "[1]", "{}", "5", '{"a.py": 1}'])
def test_a_list_of_kernels_that_is_damaged(content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from isoviz.backends.host.kernels import kernel_cache as cache

    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    assert not cache.is_complete()
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "f.py311.nbi").write_bytes(b"1")
    assert cache.mark_complete() and cache.is_complete()
    (tmp_path / "complete").write_text(content)
    assert not cache.is_complete()
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("error", [EOFError, ImportError, ValueError])
@pytest.mark.parametrize("wait", [True, False])
def test_damage_that_no_list_shows(error: type[Exception], wait: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where compiling was interrupted and the disk lost what was written: what is there is deleted, and compiled. An error that
    stays is not the cache's."""
    from isoviz.backends.host.kernels import kernel_cache as cache
    from isoviz.backends.host.kernels.compiled import compiled

    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(in_use, "compiled", None)
    for name, value in (("_reason", ""), ("_compiling", None), ("_in_background", lambda: None)):
        monkeypatch.setattr(preparation, name, value)
    calls = []

    def load() -> None:
        calls.append(sorted(path.name for path in tmp_path.iterdir()))
        if "f.py311.nbi" in calls[-1]:
            raise error("damaged")
        monkeypatch.setattr(in_use, "compiled", in_use.CompiledKernels(compiled, 64, bytewise=True))

    monkeypatch.setattr(preparation, "_load", load)
    (tmp_path / "f.py311.nbi").write_bytes(b"")
    if not wait:
        assert cache.mark_complete()
    assert kernels.prepare(wait=wait) is wait
    assert len(calls) == 1 + wait and not (tmp_path / "f.py311.nbi").exists()

    def always() -> None:
        raise error("not the cache's")

    monkeypatch.setattr(preparation, "_load", always)
    monkeypatch.setattr(in_use, "compiled", None)
    assert not kernels.prepare(wait=True)
    assert "not the cache's" in kernels.state()


def test_kernels_that_nobody_uses_any_more_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from isoviz.backends.host.kernels import kernel_cache as cache

    names = "kernels-this", "kernels-used", "kernels-old", "kernels-unfinished", "kernels-begun", "another"
    for name in names:
        (tmp_path / name).mkdir()
        if name not in ("kernels-unfinished", "kernels-begun"):
            (tmp_path / name / "complete").touch()
    for name in ("kernels-old/complete", "kernels-unfinished", "kernels-this/complete"):
        os.utime(tmp_path / name, (1e9, 1e9))
    monkeypatch.setattr(cache, "folder", lambda: tmp_path / "kernels-this")
    assert cache.mark_complete()
    assert {each.name for each in tmp_path.iterdir()} == set(names) - {"kernels-old", "kernels-unfinished"}


@pytest.mark.parametrize(("here", "there"), [("<x, F>", "<F, x>"), ("<F, x>", "<x, F>"), ("<x, F>", "<x_in=4, F, x_out>")])
@pytest.mark.parametrize("sizes", [(1, 8, 4), (16, 1, 16, 16, 4, 16, 11, 4), (2, 3)])
def test_chunks_of_fields_that_move_on_differently(here: str, there: str, sizes: tuple[int, ...]) -> None:
    """Fields of different sizes lie differently to each other in every chunk: what was found out for one holds for others."""
    assert kernels.prepare(wait=True), kernels.state()
    count, chunk = 96_000, 12_000
    space, fields = IndexSpace(x=count), FieldSpace.of({f"f{k}": f"V{size}" for k, size in enumerate(sizes)})
    a, b = Layout(here).on(space, fields), Layout(there).on(space, fields)
    rng = random.Random(7)
    source = random_bytes(rng, a.nbytes)
    expected, found = np.zeros(b.nbytes, "u1"), np.zeros(b.nbytes, "u1")
    made = []
    for known in (pattern._repeated, recipe._structs_apart, recipe._structs_together, tiles._anywhere):
        known.cache_clear()
    pattern.pattern_of.cache_clear()
    for first in range(0, count, chunk):
        copies = strided_copies(View(a), View(b), Box((first,), (first + chunk,)))
        apply(copies, source, expected)
        kernel.copy_all(copies, source, found, lambda: None, large=True)
        caches = (pattern._repeated, recipe._structs_apart, recipe._structs_together, tiles._anywhere)
        made.append(sum(known.cache_info().misses for known in caches))
    assert (expected == found).all()
    assert made[-1] <= made[3], f"made anew for every chunk: {made}"


def test_lines_that_fields_share_where_they_meet() -> None:
    """Arrays so small that the end of one and the beginning of the next are in one line."""
    assert kernels.prepare(wait=True), kernels.state()
    rng = random.Random(3)
    for count in (513, 640, 1000, 4097):
        space, fields = IndexSpace(x=count), FieldSpace(a="u1", b="u2", c="f4", d="u1", e="f8")
        compare_with_reference(space, fields, Layout("<F, x>"), Layout("<x, F>"), rng)
        a, b = Layout("<F, x>").on(space, fields), Layout("<x, F>").on(space, fields)
        copies = strided_copies(View(a), View(b), Box.whole(space))
        source = random_bytes(rng, a.nbytes)
        expected, found = np.zeros(b.nbytes, "u1"), np.zeros(b.nbytes, "u1")
        apply(copies, source, expected)
        kernel.copy_all(copies, source, found, lambda: None, large=True)
        assert (expected == found).all()


def test_host_arrays_are_nobody_elses() -> None:
    """Memory that other processes could share has no large pages, whatever one advises."""
    array = page_aligned(8 << 20)
    address = array.ctypes.data
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, rights = line.split()[:2]
        low, high = (int(each, 16) for each in place.split("-"))
        if low <= address < high:
            assert rights == "rw-p"
            return
    raise AssertionError("not mapped")
