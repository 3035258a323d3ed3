"""The terms that the explorer shows, each explained in one line.

`widgets/src/model/glossary.ts` is generated from this module by `widgets/generate.py`. The browser shows a line when a term is
hovered or focused (`widgets/src/views/controls/term.tsx`). The meanings are those of the papers and of the rest of isoviz.
"""

from __future__ import annotations

from types import MappingProxyType

from isoviz.planner import registered_planners

LONGEST = 140
"""The most characters that an explanation has."""

_THE_ARRAY = {
    "array": "The data that move: an index space with the fields of every entry.",
    "index space": "The named dimensions of the array with their sizes, such as x=4096, y=4096. A layout orders them.",
    "dimension": "One direction of the array, with a name and a size. Its indices count from 0.",
    "size": "How many indices a dimension has: 0 up to the size minus 1.",
    "field": "A named value that every entry holds, of one type, such as re of float32.",
    "F": "The field space: all fields of an entry, packed one after the other. |F| is the sum of their sizes in bytes.",
    "dtype": "The NumPy type of a field's values, such as float32. It says how many bytes an element takes.",
    "entry": "One place of the array: an index in every dimension. It holds one element of each field.",
    "element": "The value of one field at one index: the bytes that always stay together.",
    "instance": "The array as it lies in one memory: index space, fields and a layout.",
}

_LAYOUTS = {
    "layout": "The order in which the data lie in memory: a sequence of components, the fastest-varying first.",
    "component": "One part of a layout: a dimension, a digit of a dimension, or F.",
    "fastest": "The component that varies fastest: neighbours along it are next to each other in memory.",
    "slowest": "The component that varies slowest: neighbours along it are farthest apart in memory.",
    "digit": "A part of a split dimension. x_in=4 counts 0 to 3 within a block, x_out counts the blocks.",
    "block": "How many values a digit takes before the next digit of its dimension goes on: x_in=4 makes blocks of 4 along x.",
    "extent": "How many values a digit takes: its block, or for the slowest digit the number of blocks.",
    "step": "How far the index moves when a digit goes on by one: the product of the blocks of the digits below it.",
    "linearization": "The map from index and field to a byte offset that a layout defines.",
    "offset": "The distance in bytes from the start of the memory that the layout fills.",
    "stride": "How many bytes farther the next value of a digit lies. A field's own size can change it.",
    "padding": "Bytes that complete a last block that is not full. They are allocated, but hold no element.",
    "cache line": "64 bytes that a processor fetches together. Elements in one line come at the cost of one.",
    "AOS": "Array of structs, <F, x>: the fields of an entry lie side by side.",
    "SOA": "Struct of arrays, <x, F>: each field lies in an array of its own.",
    "PREFIX": "The fastest components that two layouts have in common. Their size is the run.",
    "SUFFIX": "The slowest components that two layouts have in common. They number the blocks that move in the same order.",
    "order line": "A line through the entries in the order in which they lie in memory.",
    "payload": "The bytes of all elements, without padding.",
}

_PATHS = {
    "part": "What moves of the array: a box of indices, where it goes, and the fields. Everything else stays as it is.",
    "transfer": "Moving the array from its source, in one layout, to its destination, in another.",
    "source": "The memory where the array lies before the transfer, with its layout there.",
    "destination": "The memory where the array lies after the transfer, with its layout there.",
    "path": "The memories that the data pass through, each with the layout that they have there.",
    "journey": "The path as a strip: the source on the left, the destination on the right, a stop for every memory.",
    "stop": "A memory on the path, with the layout that the data have there.",
    "hop": "The step from one stop to the next, over one channel.",
    "handshake": "The messages by which both ends of a hop agree before and after the data.",
    "descriptor": "What a request or a key of a network card names: some runs of memory, at one end or at both.",
    "channel": "A way by which data go from one memory to another, such as a copy engine, a bus or a network.",
    "conversion": "A hop that changes the layout: it reads in one order and writes in another.",
    "run": "Bytes next to each other in both layouts of a hop: the longest piece that one contiguous request can move.",
    "request": "One piece of work that a hop gives to its channel.",
    "chunk": "The part of the array that goes through the path as one. While a hop moves one chunk, the next moves another.",
    "keeps": "The hop leaves the order as it is: both of its ends have the same layout.",
    "forms blocks": "The hop gathers runs into blocks. Inside a block the entries follow each other as before.",
    "converts": "Here the order turns: after the hop another dimension, or the fields, vary fastest.",
    "dissolves blocks": "The hop takes blocks apart. Their entries follow each other as before.",
    "reorders blocks": "The hop moves whole runs into another sequence. The order inside of them stays.",
    "shuffle": "The least bytes that a conversion must hold at a time: the part of the array that it reorders within.",
    "buffer": "Memory between two hops: a ring of slots that one hop fills and the next one empties.",
    "slot": "A part of a buffer that holds one chunk. With two slots, one is filled while the other is emptied.",
    "request box": "The entries that one request moves.",
    "priority": "How urgent a transfer is. A channel serves the highest priority first; the others wait.",
    "scheduler": "The part of isoviz that decides which request goes to which channel next, and which transfer gets buffers.",
    "critical path": "The chain of requests that decides when the last byte arrives: each one waited for the one before it.",
    "pipelined": "All hops work at the same time, each on another chunk.",
    "share": "The part of the array that goes along one path, where a plan has several.",
}

_TIMES = {
    "plan": "A path with all decisions made: hops, layouts, blocks, chunks, slots and the predicted time.",
    "predicted time": "The seconds from the start to the last byte, as the plan says.",
    "interval": "The range that should hold the time of nine runs in ten, from how earlier predictions came true.",
    "rate": "Bytes per second that a hop moves while it works, with its runs and chunks.",
    "throughput": "Bytes per second in the steady state, when every hop has work. The slowest hop decides it.",
    "throughput function": "The bytes per second that a channel sustains, for each length of the runs.",
    "peak": "The highest rate of a channel, with runs long enough.",
    "set-up": "The time before the first byte moves: opening files, starting copies.",
    "reuse": "How often the transfer will run. What is made ready and kept, such as registered memory and keys, is paid once.",
    "busy": "The share of the transfer's time during which the hop's channel is at work.",
    "slowest hop": "The hop that sets the pace of the whole transfer: only a faster one here makes it faster. "
    "Hops that share something set the pace together.",
    "bound": "A limit on the throughput or on a size that the plan has to keep.",
    "slack": "How far a bound is from being reached. Without slack, it holds the plan back.",
    "candidate": "A path with layouts that the planner has looked at.",
    "binding": "A bound that is used up and holds the throughput back: only more of it makes the path faster.",
    "map": "Which path is the fastest for so many runs of so many bytes, between the memories of the transfer.",
    "what if": "Changes that are tried on the plan: nothing is saved until they are kept.",
    "target": "The throughput for which the constraints are judged. The most that the path sustains, unless chosen.",
    "median": "The figure in the middle of repeated runs: half of them are below it, half are above.",
    "trial": "A small part of the transfer, moved just before a run to correct the prediction.",
    "simulated": "Played in virtual time with the throughput functions. No byte moves.",
    "predicted": "What the plan says before the run, or the trial, where trials came nearer in earlier runs of the kind.",
    "measured": "What a clock said during the run, or when the channels of a machine were probed.",
    "verified": "After the run, every byte at the destination was compared with what the layout says, by other code.",
    "notes": "What else there is to know about a plan or a run.",
}

_PLANNERS = {
    "planner": "The method that chooses path, layouts, blocks and chunks.",
    **{planner.name: planner.meaning for planner in registered_planners()},
    "store-and-forward": "Every hop moves the whole array before the next hop starts.",
    "slot limit": "The most bytes that one slot of a buffer may hold: TH in the paper. 32 MiB unless set.",
    "memory limit": "The most bytes that all buffers of the transfer may take together.",
}

_MACHINES = {
    "machine": "Memories and the channels between them, with how fast the channels are.",
    "memory": "A place for data with a speed of its own: main memory, GPU memory or files, for example.",
    "node": "One computer of the machine, with memories of its own.",
    "box": "A part of a node that has others inside: a socket, a PCIe switch, a GPU. It is for drawings only.",
    "preset": "A machine that comes with isoviz, with figures that were published or assumed.",
    "probe": "Finds the memories of this computer and measures how fast data move between them.",
    "main memory": "Ordinary memory of the computer (SYS).",
    "pinned memory": "Main memory that stays in place, so that a GPU can read and write it directly (ZCM).",
    "GPU memory": "Memory on the GPU itself (FBM).",
    "registered memory": "Main memory that the network card may read and write by itself (REG).",
    "files": "Files on a disk (DSK), read and written past the system's cache where the file system allows it.",
    "MPI rank": "A process that MPI starts with others. Rank r has the memories of node r, and they exchange data.",
    "emulated": "Main memory stands in for a device that this computer does not have. The speed is not that of the device.",
    "NUMA": "Main memory in parts, each close to some of the processors. Memory that is farther away is slower.",
    "rank": "One of the processes that MPI starts together. Each one carries out the hops of its memories.",
    "capacity": "How many bytes fit into a memory.",
    "resource capacity": "What there is of a shared resource for all channels together, in bytes per second.",
    "device": "What a memory is bound to in reality: a directory, a GPU, a rank, a NUMA node.",
    "latency": "The seconds that every contiguous run takes before its bytes move at the bandwidth of the channel.",
    "in flight": "How many requests a channel has under way at the same time.",
    "resource": "Something that several channels share, such as a bus. What they use together cannot exceed its capacity.",
}

GLOSSARY: MappingProxyType[str, str] = MappingProxyType(_THE_ARRAY | _LAYOUTS | _PATHS | _TIMES | _PLANNERS | _MACHINES)
"""Explanations by term, in plain English, each of at most `LONGEST` characters."""
