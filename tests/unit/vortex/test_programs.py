"""Programs on simulated VICs: what arrives, in whatever order, what it costs, and what goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pytest

from isoviz.errors import InputError, RankError, RunError
from isoviz.vortex import FIFO, Aggregated, Costs, ProgramRun, Switch, Transposition, Vic, gups, header, simulated, transposed

ORDERS = ("switch", "random")


def run(program: Callable[..., Any], *arguments: Any, nodes: int = 4, seed: int = 1, **options: Any) -> ProgramRun:
    with simulated(nodes, seed, **options) as system:
        return system.run(program, *arguments)


def scatter(vic: Vic, draws: int) -> np.ndarray[Any, Any]:
    """Words to drawn places, each of which has one writer, counted."""
    draw = np.random.default_rng(draws)
    to, places = draw.integers(0, vic.nodes, (vic.nodes, 50)), draw.permutation(1000)[: 50 * vic.nodes].reshape(-1, 50)
    vic.set_counter(3, int((to == vic.rank).sum()))
    vic.barrier()
    vic.send(to[vic.rank], places[vic.rank], 1000.0 * vic.rank + places[vic.rank], counter=3)
    vic.wait(3, timeout=1.0)
    return np.asarray(vic.memory[:1000]).view("f8")


def scattered(nodes: int, draws: int) -> np.ndarray[Any, Any]:
    draw = np.random.default_rng(draws)
    to, places = draw.integers(0, nodes, (nodes, 50)), draw.permutation(1000)[: 50 * nodes].reshape(-1, 50)
    memories = np.zeros((nodes, 1000))
    for rank in range(nodes):
        memories[to[rank], places[rank]] = 1000.0 * rank + places[rank]
    return memories


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", [0, 7])
def test_scattered_words_are_where_numpy_puts_them(order: str, seed: int) -> None:
    found = run(scatter, seed, nodes=8, seed=seed, order=order)
    assert np.array_equal(found.results, scattered(8, seed))
    assert not found.races and found.packets == 8 * 50 + 16


def fourier(vic: Vic, signal: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A Fourier transform of n² points for n² / nodes on each: transpose, transform, twist, transpose, transform, transpose."""
    n = int(len(signal) ** 0.5)
    part = n // vic.nodes
    own = signal.reshape(n, n)[vic.rank * part : (vic.rank + 1) * part]
    columns = np.fft.fft(transposed(vic, own, counter=1), axis=1)
    which = np.arange(vic.rank * part, (vic.rank + 1) * part)[:, None]
    columns *= np.exp(-2j * np.pi * which * np.arange(n) / n**2)
    rows = np.fft.fft(transposed(vic, columns, counter=2), axis=1)
    return transposed(vic, rows, counter=1)


@pytest.mark.few(6)
@pytest.mark.parametrize("seed", range(1000))
def test_every_seed_gives_the_same_result_bit_for_bit(seed: int) -> None:
    signal = np.random.default_rng(5).random(64) + 1j
    order = ORDERS[seed % 2]
    with simulated(4, seed, order=order) as system:
        spectrum = np.concatenate(system.run(fourier, signal).results).reshape(-1)
        table = gups(system, updates=1500, table=256, seed=5).table
    with simulated(4) as system:
        assert np.array_equal(spectrum, np.concatenate(system.run(fourier, signal).results).reshape(-1))
        assert np.array_equal(table, gups(system, updates=1500, table=256, seed=5).table)
    assert np.allclose(spectrum, np.fft.fft(signal))


@pytest.mark.parametrize("order", ORDERS)
def test_the_same_seed_gives_the_same_run_and_another_one_another(order: str) -> None:
    runs = [run(scatter, 3, nodes=8, seed=seed, order=order) for seed in (4, 4, 5)]
    assert runs[0].by_node == runs[1].by_node != runs[2].by_node


def test_gups_on_32_nodes_loses_no_update() -> None:
    with simulated(32, seed=2) as system:
        found = gups(system, updates=3000, table=1 << 10)  # it is verified against NumPy
    assert found.updates == 96_000 and 0 < found.seconds < 1e-3
    assert found.rate == 96_000 / found.seconds


def late_counter(vic: Vic, preset: bool) -> int:
    """Node 1 sends to node 0, whose counter it sets itself, or which node 0 presets."""
    if vic.rank == 0 and preset:
        vic.set_counter(3, 20)
    if preset:
        vic.barrier()
    if vic.rank == 1:
        if not preset:
            vic.set_counter(3, 20, of=0)
        vic.send(0, np.arange(20), np.arange(20), counter=3)
    if vic.rank == 0:
        vic.compute(20e-6)
        vic.wait(3, timeout=1e-3)
    return vic.rank


def test_a_counter_that_is_set_by_its_sender_may_lose_packets_and_a_preset_one_does_not() -> None:
    lost = 0
    for seed in range(8):
        with simulated(2, seed, order="random") as system, suppress(RankError):
            system.run(late_counter, False)
        for race in system.races:
            lost += 1
            assert (race.what, race.vic, race.place) == ("counter", 0, 3) and 0 < race.packets < 20
            missing = f"node 0: waits for counter 3 of VIC 0: expected 20 packets, {race.packets} missing"
            early = f"{race.packets} came before the counter was set, and so it cannot reach zero; timed out"
            with pytest.raises(RankError, match=f"{missing}; {early}"):
                run(late_counter, False, nodes=2, seed=seed, order="random")
        assert run(late_counter, True, nodes=2, seed=seed, order="random").races == ()
    assert lost > 4


def late_counter_among_others(vic: Vic, preset: bool) -> None:
    """The same by direct writes, through a switch that is full of the packets of others."""
    if vic.rank == 0 and preset:
        vic.set_counter(3, 200)
    if preset:
        vic.barrier()
    if vic.rank > 1:
        vic.send(np.random.default_rng(vic.rank).integers(0, 2, 2000), FIFO, np.arange(2000))
    if vic.rank == 1:
        vic.compute(3e-6)
        if not preset:
            vic.set_counter(3, 200, of=0)
        vic.send(0, np.arange(200), 1, counter=3, by="direct")
    if vic.rank == 0:
        vic.compute(200e-6)
        vic.wait(3, timeout=1e-3)


def test_the_switch_lets_packets_overtake_the_setting_of_their_counter() -> None:
    for seed in range(20):
        with simulated(32, seed, fifo=1 << 17) as system, suppress(RankError):
            system.run(late_counter_among_others, False)
        if system.races:
            break
    with pytest.raises(RankError, match="came before the counter was set"):
        run(late_counter_among_others, False, nodes=32, seed=seed, fifo=1 << 17)
    assert run(late_counter_among_others, True, nodes=32, seed=seed, fifo=1 << 17).races == ()


def two_writers(vic: Vic, apart: bool) -> Any:
    for writer in (1, 2):
        vic.set_counter(writer, 1)
    vic.barrier()
    for writer in (1, 2):
        if vic.rank == writer:
            vic.send(0, 7, 100 + writer, counter=writer)
        if apart and vic.rank == 0:
            vic.wait(writer)
        if apart:
            vic.barrier()
    if vic.rank == 0:
        vic.wait(1)
        vic.wait(2)
        return vic.memory[7]
    return None


def test_two_writers_to_a_slot_are_reported() -> None:
    race = run(two_writers, False).races[0]
    assert (race.what, race.vic, race.place, race.senders) == ("slot", 0, 7, (1, 2))
    found = run(two_writers, True)
    assert found.races == () and found.results[0] == 102


def ask(vic: Vic) -> Any:
    """Node 0 asks node 1, whose VIC answers to node 2; node 3 sends to node 1, whose VIC sends on to the FIFO of node 2."""
    if vic.rank == 1:
        vic.memory[10:20] = np.arange(10) * 1.5
        vic.memory[30] = header(2, FIFO)
    if vic.rank == 2:
        vic.set_counter(4, 10)
    vic.barrier()
    if vic.rank == 0:
        vic.query(1, np.arange(10, 20), reply_to=(2, np.arange(100, 110)), counter=4)
    if vic.rank == 3:
        vic.send_on(1, np.full(5, 30), np.arange(5))
    if vic.rank == 2:
        vic.wait(4, timeout=1.0)
        return np.asarray(vic.memory[100:110]).view("f8"), np.sort(vic.fifo.take(5))
    return None


def test_vics_answer_to_a_third_one_and_send_on_without_their_hosts() -> None:
    answers, sent_on = run(ask).results[2]
    assert np.array_equal(answers, np.arange(10) * 1.5) and np.array_equal(sent_on, np.arange(5))


def round_trip(vic: Vic, ring: bool) -> Any:
    """A word of node 0 goes from VIC to VIC by the headers in their memories, and comes back; with `ring`, it never does."""
    following = (vic.rank + 1) % vic.nodes
    ends = following == 0 and not ring
    vic.memory[30] = header(0, 99, counter=4) if ends else header(following, 30, onward=True)
    vic.set_counter(4, 1)
    vic.barrier()
    if vic.rank == 0:
        vic.send_on(0, 30, 1234)
        vic.wait(4)
        return vic.memory[99], vic.seconds
    return None


def test_words_send_on_in_chains() -> None:
    found = run(round_trip, False, nodes=8)
    assert found.results[0][0] == 1234 and found.packets == 8 * 2 + 1 + 8
    alone = run(round_trip, False, nodes=1).results[0][1]
    assert found.results[0][1] - alone > 7 * Costs().turn
    with pytest.raises(RunError, match=r"address 30: a packet has been sent on 1,000 times; do the words form a ring\?"):
        run(round_trip, True)


def onward(vic: Vic) -> Any:
    """What came from the node before goes to the next one, without the host."""
    before, after = (vic.rank - 1) % vic.nodes, (vic.rank + 1) % vic.nodes
    for counter in (1, 2):
        vic.set_counter(counter, 100)
    vic.barrier()
    vic.load(0, np.arange(100) + 1000 * vic.rank, wait=False)
    vic.send_own(after, np.arange(100, 200), np.arange(100), counter=1)
    vic.wait(1)
    vic.send_own(after, np.arange(299, 199, -1), np.arange(100, 200), counter=2)
    vic.wait(2)
    two_before = (before - 1) % vic.nodes
    return np.array_equal(vic.memory[200:300], np.arange(99, -1, -1) + 1000 * two_before)


@pytest.mark.parametrize("order", ORDERS)
def test_words_of_the_own_memory_are_sent(order: str) -> None:
    assert all(run(onward, nodes=6, order=order).results)


def test_entries_of_the_dma_table_cost() -> None:
    """A run of words has one, and each further huge page of 4 MB."""

    def seconds(vic: Vic, addresses: Any, words: int) -> float:
        began = vic.seconds
        vic.load(addresses, np.zeros(words))
        return vic.seconds - began

    def spent(addresses: Any, words: int) -> float:
        return float(run(seconds, addresses, words, nodes=1).results[0])

    costs = Costs()
    assert spent(np.arange(0, 2000, 2), 1000) - spent(0, 1000) == pytest.approx(999 * costs.entry, rel=0.01)
    pages = spent(0, 4 << 19) - spent(0, 1 << 19)
    assert pages - (3 << 22) / costs.dma == pytest.approx(3 * costs.entry, rel=0.1)


def flood(vic: Vic, words: int) -> Any:
    """All send to node 0, which begins to take late. What comes back is sent again."""
    vic.barrier()
    if vic.rank:
        vic.send(0, FIFO, np.arange(words) + words * vic.rank)
        back = 0
        while True:
            vic.compute(20e-6)
            vics, values = vic.returned()
            if not len(vics):
                break
            assert set(vics.tolist()) == {0}
            back += len(values)
            vic.send(vics, FIFO, values)
        return back
    found = np.empty(0, np.int64)
    while len(found) < words * (vic.nodes - 1):
        vic.compute(5e-6)
        found = np.concatenate([found, vic.fifo.take(1)])
    return np.sort(found)


@pytest.mark.parametrize("order", ORDERS)
def test_a_full_fifo_sends_back_and_nothing_is_lost(order: str) -> None:
    found = run(flood, 300, order=order, fifo=16, ring=200)
    assert np.array_equal(found.results[0], np.arange(300, 1200))
    assert sum(found.results[1:]) > 0

    def carelessly(vic: Vic) -> None:
        if vic.rank:
            vic.send(0, FIFO, np.arange(300))

    with pytest.raises(RankError, match=r"node 1: .* came back from VIC 0, whose FIFO was full"):
        run(carelessly, order=order, fifo=16, ring=200)


def moved(vic: Vic, wait: bool) -> Any:
    words, found = np.random.default_rng(vic.rank).random(100_000), np.empty(100_000)
    began = vic.seconds
    vic.load(0, words, wait=wait)
    vic.store(200_000, found, wait=wait)
    vic.finish()
    spent = vic.seconds - began
    vic.store(np.arange(99_999, -1, -2000), scattered := np.empty(50))
    assert np.array_equal(scattered, words[::-2000])
    return spent


def test_loads_and_stores_overlap() -> None:
    costs = Costs()
    alone = 800_000 / costs.dma
    together, after = run(moved, False, nodes=1).seconds, run(moved, True, nodes=1).seconds
    assert alone < run(moved, False, nodes=1).results[0] < 1.1 * alone
    assert after - together == pytest.approx(alone, rel=0.05)


def test_aggregation_sends_the_same_and_costs_less() -> None:
    def each(vic: Vic, together: bool) -> Any:
        vic.set_counter(0, 200)
        vic.barrier()
        with Aggregated(vic, 1 if not together else 64) as out:
            for word in range(200):
                out.send((vic.rank + 1) % vic.nodes, word, word * word, counter=0)
        vic.wait(0)
        return vic.memory[:200]

    alone, together = run(each, False), run(each, True)
    assert all(np.array_equal(found, np.arange(200) ** 2) for found in (*alone.results, *together.results))
    assert together.seconds < alone.seconds / 5


@pytest.mark.parametrize("dtype", ["i8", "f8", "c16"])
@pytest.mark.parametrize("order", ["word by word", "node by node", "from node 0", "random"])
def test_a_matrix_turns_while_it_is_delivered(dtype: str, order: str) -> None:
    matrix = (np.random.default_rng(1).random((12, 8)) * 1000).astype(dtype)

    def program(vic: Vic) -> Any:
        rows = matrix[3 * vic.rank : 3 * vic.rank + 3]
        assert np.array_equal(transposed(vic, rows, counter=9, at=50, order=order), matrix.T[2 * vic.rank : 2 * vic.rank + 2])
        return vic.seconds

    run(program)


def test_a_word_to_each_node_in_turn_turns_fastest() -> None:
    def program(vic: Vic, order: str) -> None:
        transposed(vic, np.zeros((8, 256)), counter=9, order=order)

    assert Transposition(1).order == "word by word"
    fast, slow, slowest = (run(program, order, nodes=32).seconds for order in ("word by word", "node by node", "from node 0"))
    assert fast < slow < slowest


def test_barriers_of_some() -> None:
    def program(vic: Vic) -> float:
        if vic.rank == 3:
            vic.compute(1e-3)
            vic.barrier([3])
        else:
            vic.barrier([0, 1, 2])
        return vic.seconds

    found = run(program)
    assert max(found.results[:3]) < 1e-4 < 1e-3 < found.results[3]


def raises(vic: Vic, what: str) -> None:
    if vic.rank == 2:
        if what == "error":
            raise KeyError(17)
        if what == "left out":
            return
        vic.send(
            *{"VIC": (4, 0, 1), "address": (0, 1 << 22, 1), "lengths": ([0, 1], [0, 1, 2], 1), "bytes": (0, 0, np.int32(1))}[what]
        )
    vic.barrier()


@pytest.mark.parametrize(
    ("what", "error", "text"),
    [
        ("error", RankError, "node 2: KeyError: 17"),
        ("left out", RankError, "node 0: waits for a barrier of 4 nodes, to which 2 did not come; nothing is under way"),
        ("VIC", InputError, "node 2: send, vics: number 0 is 4; there are 4 VICs"),
        ("address", InputError, "node 2: send, addresses: number 0 is 4194304; there are 4194304 words"),
        ("lengths", InputError, "node 2: send: expected arrays of one length, got 2, 3, 1"),
        ("bytes", InputError, "node 2: send, values: expected an array of one dimension of numbers of 8 bytes, got"),
    ],
)
def test_what_goes_wrong_on_one_node_ends_all_with_its_name(what: str, error: type[Exception], text: str) -> None:
    with simulated(4) as system:
        with pytest.raises(error, match=text):
            system.run(raises, what)
        with pytest.raises(InputError, match="had an error"):
            system.run(raises, what)


def test_waits_that_cannot_end() -> None:
    def program(vic: Vic, timeout: float | None) -> None:
        vic.set_counter(5, 3)
        vic.barrier()
        vic.send((vic.rank + 1) % vic.nodes, [0, 1], 5, counter=5)
        vic.wait(5, timeout=timeout)

    for timeout, limit in ((1.0, "timed out after 1 s"), (None, "nothing is under way that could end it")):
        with pytest.raises(RankError, match=rf"counter 5 of VIC .: expected 3 packets, 1 missing; {limit}"):
            run(program, timeout)


def on_node_0(call: Callable[[Vic], Any], kept: list[Vic], vic: Vic) -> None:
    if vic.rank == 0:
        call(vic)
    kept.append(vic)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="33 nodes; the switch has 32 ports"):
        simulated(33, switch=Switch(32, 4, [0]))
    with pytest.raises(InputError, match="order: expected one of 'switch', 'random'"):
        simulated(4, order="none")
    with pytest.raises(InputError, match="powers of two"):
        gups(simulated(3))
    kept: list[Vic] = []
    calls: dict[str, Callable[[Vic], Any]] = {
        "63 is the scratch counter": lambda vic: vic.wait(63),
        "62 is reserved for barriers": lambda vic: vic.set_counter(62, 1),
        "counter: expected a whole number from 0 to 63": lambda vic: vic.send(0, 0, 0, counter=64),
        "and not 0, which calls it": lambda vic: vic.barrier([1]),
        "8,193 runs of words": lambda vic: vic.load(np.arange(0, 2 * 8193, 2), np.zeros(8193)),
        "beyond the 4194304 words": lambda vic: vic.memory[: (1 << 22) + 1],
        "end beyond": lambda vic: vic.store((1 << 22) - 1, np.zeros(2)),
        "which is no header": lambda vic: vic.send_on(0, 0, 1),
        "only the end of a chain has others": lambda _vic: header(0, FIFO, onward=True),
        "send_own, places: number 0 is 4194304": lambda vic: vic.send_own(0, 0, 1 << 22),
        "send_own: expected arrays of one length, got 1, 2, 3": lambda vic: vic.send_own(0, [1, 2], [1, 2, 3]),
        "columns for 2 nodes": lambda vic: transposed(vic, np.zeros((2, 3)), counter=1),
        "2 values for 3 words": lambda vic: vic.memory.__setitem__(slice(3), [1, 2]),
    }
    for text, call in calls.items():
        with pytest.raises((InputError, RunError), match=text):
            run(partial(on_node_0, call, kept), nodes=2)
    with pytest.raises(InputError, match="for the program on that node, while it runs"):
        kept[0].send(0, 0, 0)
