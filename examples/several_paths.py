"""Several paths for one transfer: a relay through GPUs, two NICs, host memory to a GPU through its peer, a torus.

The same planner serves all of them. Each line says what several paths gain in simulation, or why one path is as fast.
"""

from __future__ import annotations

from isoviz import FieldSpace, IndexSpace, Transfer, plan, preset, simulate
from isoviz.machines import Channel, ChannelKind, Constant, Machine, Memory, MemoryKind, Resource
from isoviz.planner import plan_together

GB = 1e9


def machine(name: str, kinds: dict[str, MemoryKind], joined: dict[tuple[str, str, str], float], **shared: float) -> Machine:
    """A machine of channels (source, destination, link) with a rate; every link is a resource, and so is every `shared` one."""
    memories = [Memory(memory, kind, int(memory[4]) if memory.startswith("node") else 0) for memory, kind in kinds.items()]
    channels, links = [], dict(shared)
    for (source, destination, names), rate in joined.items():
        uses = names.split("+")
        for link in uses:
            links.setdefault(link, rate)
        pair = kinds[source], kinds[destination]
        kind = ChannelKind.GPU_COPY if pair[0] == pair[1] == MemoryKind.FBM else ChannelKind.GPU_WRITE
        if MemoryKind.REG in pair or MemoryKind.SYS in pair:
            kind = ChannelKind.REMOTE_MEMCPY if source[4] != destination[4] else ChannelKind.MEMCPY
        resources = tuple((link, 1.0) for link in uses)
        text = f"{source}->{destination} {names}"
        channels.append(Channel(text, kind, source, destination, Constant(rate), resources=resources, request_seconds=2e-6))
    return Machine(name, memories, channels, [Resource(link, rate) for link, rate in links.items()])


def mesh(port: str = "") -> Machine:
    """Four V100 with NVLink between them, but for 0 and 3; with `port`, all links out of GPU 0 share it."""
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b and {a, b} != {0, 3}]
    joined = {(f"fbm{a}", f"fbm{b}", f"nvlink{a}{b}" + (f"+{port}" if port and a == 0 else "")): 25 * GB for a, b in pairs}
    return machine("v100", {f"fbm{k}": MemoryKind.FBM for k in range(4)}, joined)


def rails() -> Machine:
    """Two nodes with two NICs each."""
    kinds = {"node0.reg": MemoryKind.REG, "node1.reg": MemoryKind.REG}
    return machine("rails", kinds, {("node0.reg", "node1.reg", f"nic{k}"): 12 * GB for k in range(2)})


def peers(switch: str = "") -> Machine:
    """A host and two GPUs, each with a PCIe link, and NVLink between them; with `switch`, both PCIe links are behind it."""
    kinds = {"host": MemoryKind.ZCM, "fbm0": MemoryKind.FBM, "fbm1": MemoryKind.FBM}
    behind = f"+{switch}" if switch else ""
    joined = {("host", f"fbm{k}", f"pcie{k}{behind}"): 24 * GB for k in range(2)}
    return machine("peers", kinds, {**joined, ("fbm1", "fbm0", "nvlink"): 150 * GB})


def show(what: str, on: Machine, source: str, destination: str, nbytes: int = 64 << 20) -> None:
    """Print what several paths gain."""
    moved = Transfer.whole(IndexSpace(x=nbytes), FieldSpace(v="u1"), source, "<F, x>", destination, "<F, x>")
    made, one = plan(moved, on, "multipath"), plan(moved, on, "full")
    gain = simulate(one, on).end / simulate(made, on).end
    print(f"{what}: {len(made.paths)} path(s), {gain:.2f} × one path; {made.notes[-1]}")


def main() -> None:
    """All of them."""
    show("V100 mesh, two GPUs without NVLink between them", mesh(), "fbm0", "fbm3")
    show("the same behind one port", mesh("port"), "fbm0", "fbm3")
    show("two NICs", rails(), "node0.reg", "node1.reg")
    show("host to a GPU and through its peer", peers(), "host", "fbm0")
    show("the same behind one PCIe switch", peers("switch"), "host", "fbm0")
    torus = preset("bgq", nodes=512)
    show("Blue Gene/Q, two of 512 nodes", torus, "node0.sys", "node511.sys")
    show("the same, 1 KiB", torus, "node0.sys", "node511.sys", 1024)
    space, fields = IndexSpace(x=1 << 20), FieldSpace(v="u1")
    moved = [Transfer.whole(space, fields, f"node{k}.sys", "<F, x>", f"node{k + 256}.sys", "<F, x>") for k in range(16)]
    plans = plan_together(moved, torus)
    print(f"16 nodes to 16: {sum(len(each.paths) for each in plans)} paths; {plans[0].notes[-1]}")


if __name__ == "__main__":
    main()
