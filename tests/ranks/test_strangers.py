"""Where ranks are awaited, strangers connect as well: they cost little, hear nothing, and lock out no rank."""

from __future__ import annotations

import json
import os
import random
import socket
import struct
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from left_over import descriptors
from second_user import TwoUsers
from waiting import until

from isoviz.errors import LaunchError, RankLost
from isoviz.launch import guardian
from isoviz.launch.client import Client, Watching
from isoviz.launch.greeting import _knock, reach
from isoviz.launch.hello import Hello
from isoviz.launch.reception import Listener
from isoviz.launch.wire import CLIENT, WORKER, ConnectionLost, Message, NotUnderstood, Wire
from isoviz.launch.worker.rank_service import Worker

pytestmark = pytest.mark.usefixtures("no_leaked_threads")

PATIENCE = 250.0


@contextmanager
def awaiting(size: int = 2, listener: Listener | None = None) -> Iterator[Client]:
    """A client that awaits ranks, which the tests play."""
    found = Client(
        size,
        listener=listener or Listener.on_network("127.0.0.1"),
        watching=Watching(),
        end=lambda _: None,
        output=list,
        after="start them again",
    )
    try:
        yield found
    finally:
        found.drop()


def connected(client: Client) -> socket.socket:
    host, _, port = client.address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE)


def introduced(client: Client, rank: int) -> Wire:
    """A rank that has been welcomed."""
    wire = reach(client.address, client.secret, PATIENCE)
    wire.send_json(Hello.of_this_process(rank, client.size).to_json())
    assert wire.receive_json()["refused"] is None
    wire.begin()
    assert wire.receive().kind == "welcome"
    return wire


def ready(client: Client, rank: int) -> Wire:
    """A rank that has started MPI."""
    wire = introduced(client, rank)
    wire.send(Message.of(0, "ready", {"rank": rank, "size": client.size, "mpi": "none"}))
    return wire


# ---- other users


def test_nobody_else_can_connect_where_ranks_of_this_computer_are_awaited(users: TwoUsers) -> None:
    """The place is a socket in a folder of this user's own, and the folder goes when nobody is awaited any more."""
    code = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    with awaiting(1, Listener.in_own_folder()) as client:
        folder = Path(client.address).parent
        done = users.attacker.python(code, client.address)
        assert "PermissionError" in done.stderr
        ready(client, 0).close()
        assert until(lambda: not folder.exists())


def test_the_place_of_a_killed_client_goes_with_the_next_start() -> None:
    code = """
import os
from isoviz.launch.reception import Listener
address = Listener.in_own_folder().address
print(address, os.path.exists(address), flush=True)
os.kill(os.getpid(), 9)
"""
    address, was_there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split()
    folder = Path(address).parent
    assert was_there == "True" and folder.name.startswith(guardian.FOLDERS)
    Listener.in_own_folder().close()
    assert not folder.exists()


# ---- floods

FEW_DESCRIPTORS = """
import resource, sys, threading
resource.setrlimit(resource.RLIMIT_NOFILE, (100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
from isoviz.launch.client import Client, Watching
from isoviz.launch.reception import Listener
listener = Listener.on_network("127.0.0.1")
client = Client(2, listener=listener, watching=Watching(), end=lambda _: None, output=list, after="")
print(client.address, client.secret.hex(), flush=True)
client.wait_until_ready(250)
print(threading.active_count(), flush=True)
sys.stdin.readline()
client.drop()
for thread in threading.enumerate()[1:]:
    thread.join(250)
print(threading.active_count(), flush=True)
"""


def flood(address: str, over: threading.Event, most: int) -> None:
    """Connect again and again, hold the latest connections, and send a byte on one of them now and then."""
    host, _, port = address.rpartition(":")
    draw = random.Random(most)
    held: list[socket.socket] = []
    while not over.is_set():
        with suppress(OSError):
            held.append(socket.create_connection((host, int(port)), timeout=1))
        with suppress(OSError):
            draw.choice(held).send(b"x")
        if len(held) > most:
            held.pop(draw.randrange(len(held))).close()
    for each in held:
        each.close()


def test_ranks_arrive_during_a_flood_that_takes_all_descriptors(report: Callable[[str, object], None]) -> None:
    """Strangers hold more connections than the client has descriptors, and go on connecting."""
    command = [sys.executable, "-c", FEW_DESCRIPTORS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdin is not None and running.stdout is not None
        address, secret = running.stdout.readline().split()
        over = threading.Event()
        flooding = [threading.Thread(target=flood, args=(address, over, 150)) for _ in range(2)]
        for each in flooding:
            each.start()
        try:
            taken = Path(f"/proc/{running.pid}/fd")
            assert until(lambda: len(list(taken.iterdir())) > 90)
            began = time.perf_counter()
            wires = []
            for rank in range(2):
                wire = reach(address, bytes.fromhex(secret), PATIENCE)
                wire.send_json(Hello.of_this_process(rank, 2).to_json())
                wire.receive_json()
                wire.begin()
                assert wire.receive().kind == "welcome"
                wire.send(Message.of(0, "ready", {"rank": rank, "size": 2, "mpi": "none"}))
                wires.append(wire)
            threads = int(running.stdout.readline())
            report("seconds until 2 ranks are ready during a flood", round(time.perf_counter() - began, 2))
            assert threads <= 5  # the main thread, one that watches, one that accepts, and one for each rank
        finally:
            over.set()
            for each in flooding:
                each.join()
        print("end", file=running.stdin, flush=True)
        assert int(running.stdout.readline()) == 1
        for wire in wires:
            wire.close()


def test_who_knocks_is_not_dropped_for_those_who_come_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow rank has knocked, and says no more until hundreds of strangers have connected, and some have gone."""
    monkeypatch.setattr("isoviz.launch.reception._GREETING", PATIENCE)
    with awaiting() as client, connected(client) as slow, ExitStack() as strangers:
        nonce = os.urandom(32)
        slow.sendall(nonce + _knock(client.secret, nonce))
        assert len(slow.recv(45, socket.MSG_WAITALL)) == 45
        for _ in range(200):
            strangers.enter_context(connected(client))
        with ExitStack() as more:
            for _ in range(200):
                more.enter_context(connected(client))
        slow.setblocking(False)
        with pytest.raises(BlockingIOError):  # it is still open
            slow.recv(1)
        reception = client._reception
        assert until(lambda: len(reception._greetings) <= client.size + 128)
        assert any(each.is_known for each in reception._greetings)


def test_a_knock_counts_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who has seen one on the network could repeat it on as many connections as there are."""
    monkeypatch.setattr("isoviz.launch.reception._GREETING", PATIENCE)
    caplog.set_level("DEBUG", "isoviz.launch")
    nonce = os.urandom(32)
    with awaiting() as client, connected(client) as first, connected(client) as second:
        knock = nonce + _knock(client.secret, nonce)
        first.sendall(knock)
        assert until(lambda: any(each.is_known for each in client._reception._greetings))
        second.sendall(knock)
        assert until(lambda: "somebody repeats what a worker has said" in caplog.text)
        assert len(client._reception._greetings) == 1


def test_the_whole_greeting_has_one_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Single bytes, each in time, do not make it longer; neither before the proof nor after it."""
    monkeypatch.setattr("isoviz.launch.reception._GREETING", 0.5)
    with awaiting() as client, connected(client) as stranger:
        proven = reach(client.address, client.secret, PATIENCE)
        proven._socket.sendall(struct.pack("!I", 1 << 20))
        left = {stranger: 60, proven._socket: 1 << 20}  # One byte more would be a wrong proof, or all of the first object.

        def is_over(each: socket.socket) -> bool:
            left[each] -= 1
            with suppress(BlockingIOError):
                if left[each] > 0:
                    each.send(b"x")
                return each.recv(100, socket.MSG_DONTWAIT) == b""
            return False

        for each in left:
            with suppress(ConnectionError):
                assert until(lambda each=each: is_over(each))  # type: ignore[misc]
        assert until(lambda: not client._reception._greetings)
        assert client.error is None
        proven.close()


# ---- what strangers and workers send

HELLO = Hello.of_this_process(0, 2).to_json()


def odd_objects() -> dict[str, bytes]:
    """First objects that no worker sends."""
    return {
        "deep": b"[" * 200_000,
        "deep objects": b'{"a":' * 100_000,
        "infinity": json.dumps(HELLO | {"pid": float("inf")}).encode(),
        "not a number": json.dumps(HELLO | {"cpus": float("nan")}).encode(),
        "long number": json.dumps(HELLO).encode().replace(b'"rank": 0', b'"rank": ' + b"9" * 4000),
        "too long number": json.dumps(HELLO).encode().replace(b'"rank": 0', b'"rank": ' + b"9" * 40_000),
        "list": b"[1, 2]",
        "nothing": b"",
        "null": b"null",
        "empty": b"{}",
        "text for a number": json.dumps(HELLO | {"rank": "0"}).encode(),
        "truth for a number": json.dumps(HELLO | {"rank": True}).encode(),
        "list for a text": json.dumps(HELLO | {"host": [["x"]]}).encode(),
        "no text": b"\xff\xfe\x00",
        "half": json.dumps(HELLO).encode()[:-1],
    }


def head(number: int, kind: bytes, nbytes: int, buffers: int) -> bytes:
    return struct.pack("!Q8sQI", number, kind, nbytes, buffers)


def sealed(wire: Wire, first: bytes, body: bytes = b"") -> bytes:
    """The bytes of a message with the tag that it needs."""
    return first + body + wire._mine.next(first, body)


def pickled(value: object) -> bytes:
    return Message.of(0, "", value).body


class Unmade:
    """What cannot be unpickled."""

    def __reduce__(self) -> Any:
        return int, ("x",)


def odd_messages(wire: Wire) -> dict[str, Callable[[], bytes]]:
    """What a rank could send that a worker never does."""

    def message(kind: bytes, value: object) -> bytes:
        body = pickled(value)
        return sealed(wire, head(0, kind, len(body), 0), body)

    return {
        "long body": lambda: head(0, b"ready", 1 << 40, 0),
        "longest body": lambda: head(0, b"ready", (1 << 64) - 1, 0),
        "many buffers": lambda: head(0, b"ready", 0, (1 << 32) - 1),
        "long buffer": lambda: sealed(wire, head(0, b"ready", 0, 1) + struct.pack("!Q", 1 << 40)),
        "wrong tag": lambda: head(0, b"ready", 0, 0) + bytes(32),
        "noise": lambda: random.Random(7).randbytes(4096),
        "kind of no text": lambda: sealed(wire, head(0, b"\xff\xfe", 0, 0)),
        "no pickle": lambda: sealed(wire, head(0, b"ready", 3, 0), b"abc"),
        "ready without facts": lambda: message(b"ready", {}),
        "ready with a number": lambda: message(b"ready", 7),
        "ready with wrong facts": lambda: message(b"ready", {"rank": "0", "size": 2, "mpi": "x"}),
        "failed without words": lambda: message(b"failed", 3),
        "unmade end": lambda: message(b"bye", Unmade()),
    }


STRANGE: dict[str, Callable[[Client, socket.socket, random.Random], None]] = {
    "nothing": lambda _, there, __: None,
    "a byte": lambda _, there, __: there.sendall(b"x"),
    "noise": lambda _, there, draw: there.sendall(draw.randbytes(draw.randrange(1, 5000))),
    "zeros": lambda _, there, __: there.sendall(bytes(100_000)),
    "its own words": lambda _, there, __: there.sendall(there.recv(45) * 3),
    "half a knock": lambda client, there, _: there.sendall(bytes(32) + _knock(client.secret, bytes(32))[:16]),
    "another knock": lambda _, there, __: there.sendall(bytes(32) + _knock(b"another secret", bytes(32))),
    "no proof": lambda client, there, draw: there.sendall(_knocked(client, draw) + bytes(32)),
    "reset": lambda _, there, __: there.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)),
    "half closed": lambda _, there, __: there.shutdown(socket.SHUT_WR),
}


def _knocked(client: Client, draw: random.Random) -> bytes:
    nonce = draw.randbytes(32)
    return nonce + _knock(client.secret, nonce)


def hostile_stranger(client: Client, kind: str, draw: random.Random) -> None:
    with suppress(OSError), connected(client) as there:
        STRANGE[kind](client, there, draw)


def hostile_object(client: Client, data: bytes) -> None:
    """Prove to know the secret, and send an odd first object. The connection ends without an answer."""
    wire = reach(client.address, client.secret, PATIENCE)
    with suppress(OSError):  # it may end before all is sent
        wire._socket.sendall(struct.pack("!I", len(data)) + data)
    with pytest.raises(ConnectionLost):
        wire.receive_json()
    wire.close()


def hostile_rank(kind: str) -> None:
    """Become rank 0, and send something odd. The connection ends, and so do the ranks, with an error that names this one."""
    with awaiting() as client:
        first, second = introduced(client, 0), ready(client, 1)
        assert until(lambda: len(client.hellos) == 2)
        with suppress(OSError):
            first._socket.sendall(odd_messages(first)[kind]())
        assert until(lambda: client.error is not None)
        assert isinstance(client.error, RankLost | LaunchError), client.error
        assert "rank 0" in str(client.error)
        for wire in (first, second):
            wire.close()


@pytest.mark.parametrize("kind", odd_objects())
def test_an_odd_first_object_ends_its_connection_alone(kind: str) -> None:
    with awaiting() as client:
        hostile_object(client, odd_objects()[kind])
        wires = [ready(client, rank) for rank in range(2)]
        client.wait_until_ready(PATIENCE)
        assert client.error is None
        for wire in wires:
            wire.close()


@pytest.mark.parametrize("rank", [-5, -1, 2, 10**9, 2**62])
def test_a_worker_with_the_number_of_no_rank_is_refused_in_words(rank: int) -> None:
    with awaiting() as client:
        wire = reach(client.address, client.secret, PATIENCE)
        wire.send_json(HELLO | {"rank": rank})
        assert f"says that it is rank {rank}; expected 0 to 1" in wire.receive_json()["refused"]
        with pytest.raises(LaunchError, match=f"says that it is rank {rank}; expected 0 to 1"):
            client.wait_until_ready(PATIENCE)
        wire.close()


@pytest.mark.parametrize("kind", odd_messages(Wire.__new__(Wire)))
def test_an_odd_message_of_a_rank_is_its_loss(kind: str) -> None:
    hostile_rank(kind)


@contextmanager
def little_memory(most: float, report: Callable[[str, object], None]) -> Iterator[None]:
    """A block that never has more than some MiB at once."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1] / (1 << 20)
    finally:
        tracemalloc.stop()
    report("MiB that hostile connections took", round(peak))
    assert peak < most


def test_room_is_made_for_what_has_arrived_alone(report: Callable[[str, object], None]) -> None:
    with little_memory(200, report), awaiting() as client:
        wire = introduced(client, 0)
        wire._socket.sendall(head(0, b"ready", 1 << 30, 0) + bytes(1000))
        wire.close()
        assert until(lambda: client.error is not None)


def test_500_hostile_connections(full: bool, report: Callable[[str, object], None]) -> None:
    """Whatever they send, and in whatever order they come: ranks arrive afterwards, and nothing is left."""
    draw, longest, opened = random.Random(56), 0.0, descriptors()
    with little_memory(200, report), awaiting() as client:
        for _ in range(500 if full else 50):
            began = time.perf_counter()
            match draw.randrange(10):
                case 0:
                    hostile_rank(draw.choice(list(odd_messages(Wire.__new__(Wire)))))
                case 1 | 2 | 3:
                    hostile_object(client, draw.choice(list(odd_objects().values())))
                case _:
                    hostile_stranger(client, draw.choice(list(STRANGE)), draw)
            longest = max(longest, time.perf_counter() - began)
        assert client.error is None
        wires = [ready(client, rank) for rank in range(2)]
        client.wait_until_ready(PATIENCE)
        for wire in wires:
            wire.close()
    report("seconds of the slowest hostile connection", round(longest, 2))
    assert until(lambda: descriptors() == opened), "descriptors are left open"


@pytest.mark.parametrize(
    "data", [b"[]", b"null", b"[" * 100_000, b'{"hello": 3}', b"{}", json.dumps({"hello": HELLO | {"pid": 1e400}}).encode()]
)
def test_a_rank_ends_the_connection_to_a_client_with_an_odd_first_object(data: bytes) -> None:
    here, there = pair()
    worker = Worker(here, Hello.of_this_process(0, 2), lambda: None)
    there._socket.sendall(struct.pack("!I", len(data)) + data)
    with pytest.raises(NotUnderstood):
        worker.introduce()
    here.close()
    there.close()


@pytest.mark.parametrize("value", [None, 5, ([], "x"), ([1], 1.0), ("path", 1.0), ([], -1.0), ([], float("nan"))])
def test_a_rank_ends_the_connection_to_a_client_with_an_odd_welcome(value: object) -> None:
    here, there = pair()
    worker = Worker(here, Hello.of_this_process(0, 2), lambda: None)

    def welcome() -> None:
        there.receive_json()
        there.send_json({"hello": HELLO, "refused": None})
        there.begin()
        there.send(Message.of(0, "welcome", value))

    welcoming = threading.Thread(target=welcome)
    welcoming.start()
    with pytest.raises(NotUnderstood, match="no welcome"):
        worker.introduce()
    welcoming.join()
    here.close()
    there.close()


# ---- relays: between the two ends, without the secret


def pair() -> tuple[Wire, Wire]:
    """A worker's and a client's end, which have proven to know the secret."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = socket.create_connection(server.getsockname()[:2])
        return Wire(here, bytes(32), WORKER), Wire(server.accept()[0], bytes(32), CLIENT)


class Relay:
    """Keeps what one end sends."""

    def __init__(self) -> None:
        self.kept: list[bytes] = []

    def sendall(self, data: bytes) -> None:
        self.kept.append(bytes(data))


def frames(wire: Wire, count: int) -> list[bytes]:
    """The bytes of some messages that a wire sends."""
    found, real = Relay(), wire._socket
    wire._socket = found  # type: ignore[assignment]
    for number in range(count):
        wire.send(Message.of(number, "ready", "x" * number))
    wire._socket = real
    return found.kept


class Harm:
    """A pickle that runs a program when it is read."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.place),)


def begun() -> tuple[Wire, Wire]:
    worker, client = pair()
    worker.begin()
    client.begin()
    return worker, client


@pytest.mark.parametrize("toward", ["client", "rank"])
@pytest.mark.parametrize("order", [(0, 1, 1), (1,), (0, 2), (0, 0)], ids=["repeated", "first left out", "one left out", "again"])
def test_a_relay_can_neither_repeat_nor_leave_out_a_message(order: tuple[int, ...], toward: str) -> None:
    sender, receiver = begun() if toward == "client" else begun()[::-1]
    sent = frames(sender, 3)
    for at in order:
        sender._socket.sendall(sent[at])
    for at in order[:-1]:
        assert receiver.receive().number == at
    with pytest.raises(NotUnderstood, match="did not send, or not as it is"):
        receiver.receive()
    sender.close()
    receiver.close()


def test_a_relay_cannot_send_back_what_an_end_has_sent() -> None:
    worker, client = begun()
    worker._socket.sendall(frames(client, 1)[0])
    with pytest.raises(NotUnderstood):
        client.receive()
    worker.close()
    client.close()


def test_a_relay_can_change_nothing_of_a_message(full: bool) -> None:
    draw = random.Random(9)
    for _ in range(2000 if full else 100):
        worker, client = begun()
        (sent,) = frames(worker, 1)
        at, changed = draw.randrange(len(sent)), bytearray(sent)
        changed[at] ^= 1 << draw.randrange(8)
        worker._socket.sendall(changed)
        worker.close()
        with pytest.raises(ConnectionLost):
            client.receive()
        client.close()


def test_a_relay_cannot_add_a_message(tmp_path: Path) -> None:
    """It has let both prove to each other that they know the secret, and adds a pickle then."""
    with awaiting() as client:
        wires = [introduced(client, rank) for rank in range(2)]
        body = pickled(Harm(tmp_path / "harm"))
        for frame in (head(0, b"ready", len(body), 0) + body, head(0, b"ready", len(body), 0) + body + bytes(32)):
            wires[0]._socket.sendall(frame)
        assert until(lambda: client.error is not None)
        assert "rank 0" in str(client.error) and "did not send" in str(client.error)
        assert not (tmp_path / "harm").exists()
        for wire in wires:
            wire.close()


def test_a_relay_cannot_change_what_the_ends_say_first() -> None:
    """Such as the rank that a worker says that it is: no message is understood afterwards."""
    worker, client = pair()
    worker.send_json({"rank": 1})
    real = client._socket.recv(1000)
    worker._socket.sendall(real.replace(b"1", b"0"))
    assert client.receive_json() == {"rank": 0}
    client.send_json({"refused": None})
    worker.receive_json()
    for wire in (worker, client):
        wire.begin()
    worker.send(Message.of(0, "ready"))
    with pytest.raises(NotUnderstood):
        client.receive()
    worker.close()
    client.close()
