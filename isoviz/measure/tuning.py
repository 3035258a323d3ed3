"""The constants of measurements, each with its reason.

Unless another source is given, a constant was chosen on virtual machines with two cores (Zen 4 and Zen 5, disks with direct I/O
of 1 to 1.5 GB/s); `benchmarks/` holds the reports. All units are bytes and seconds.
"""

from __future__ import annotations

from isoviz.machines.channel_kinds.gpu import WHOLE_OVER_LINK, WHOLE_WITHIN

KIB, MIB = 1 << 10, 1 << 20

# ---- trials (benchmarks/predictions.md of 2026-11-23: forty-three runs of fifty random transfers)

COPIED_BYTES = 32 * MIB
"""Bytes that a trial copies within memory: as in a whole transfer, they do not stay in caches."""
CHUNK_BYTES = 16 * MIB
"""The longest chunk that a trial moves over disks."""
CHUNK_SECONDS_WANTED, CHUNK_SECONDS_MOST = 0.1, 0.3
"""The predicted time that a chunk over disks should take, and its maximum. Measured: trials cost 30 to 150 ms."""
TOGETHER = 3
"""Chunks that follow each other in a pipelined repeat.

Hops that work at the same time slow each other down: the median error of fifteen pipelines was 14 % with one chunk and 5.5 % with
three.
"""
LONG_RUN = 1 * MIB
"""Longer runs on a disk are hardly faster."""
SCATTERED_RUN = 16 * KIB
"""The shortest run that is tried where runs are scattered over a new file. Shorter runs stay in the page cache until the end."""
GAPLESS = 1.05
"""A part of a file counts as gapless if it is no longer than this multiple of the chunk."""
TRIAL_ROOM, TRIAL_FILE = 256 * MIB, 1 << 30
"""The most memory that is allocated for a trial, and the longest file that is written."""
GENERATED_BYTES = 96 * MIB
"""Most bytes that are generated for a source on a disk: short runs far apart would need whole pages."""
TRIAL_SECONDS = 3.0
"""A trial that takes longer is cancelled."""
REPEATED_SECONDS, REPEATED_SHARE = 0.06, 0.2
"""Repeats go on for this time, and for this share of the predicted time of the transfer.

With 30 ms instead of 60 single slow moments decided the result (runs 37 and 38 of the report).
"""
FEWEST_REPEATS, MOST_REPEATS = 5, 100
FEWEST_PAIRS = 3
"""Repeats that are enough if each is followed by a pipelined one."""
LAST_REPEAT, PATIENCE = 0.2, 5
"""Repeats end once this time is spent.

The limit is `PATIENCE` times as long if the chunk was predicted to be fast: a disk that stops for a moment (0.5 s were seen) says
nothing about the next moment.
"""
MOST_PARTS = 1 << 14
"""Most parts of an array that are distinguished. An array with more parts counts as one part."""
PULL, MOST_PULL = 0.2, 1.5
"""The weight and the largest ratio of the correction of a trial towards the model.

The weight is the part of log(model / trial) by which the trial is moved. Above the ratio the correction grows no further: a model
that is further off says nothing about this conversion. In nine runs of the report the 95th percentile of the errors was 31.9 %
without the correction and 29.6 % with it.
"""
CROWDING = 1.5
"""The largest factor between the time of pipelined chunks and that of the pipeline model, in either direction."""
FLUSH_SHARE = 0.2
"""If waiting for a disk takes a larger share of a run, it grows with the bytes written: they were in a cache."""

# ---- the probe (benchmarks/predictions.md of 2026-11-23: probes before each of its runs)

PROBE_ROOM = 128 * MIB
"""Least size in bytes of the arrays and files that a probe moves; more where caches are larger."""
BRIEF_ROOM = 64 * MIB
"""The same for a brief probe."""
LEAST_WORKING_SET, MOST_WORKING_SET = 64 * MIB, 1024 * MIB
"""The least and the most bytes of the arrays in use; between them a multiple of the caches."""
TIMED_TWICE = 1 * MIB
"""Jobs up to this size run once before they are timed: page faults and other first-time costs would dominate."""
PIPED_RUN = 4096
"""The run of the conversions in piped jobs: long enough for the copy to be faster than disks."""
APART = 20 * KIB
"""A gap between runs from which a disk reads them one by one. Smaller gaps are read through."""
LONGER_JOBS = (1, 2, 4, 8, 16)
"""Repetitions of the jobs, in turn, until all channels work at the same time."""
PLAIN_RUNS = (4, 64, 1 * KIB, 16 * KIB, 256 * KIB)
"""Runs in bytes at which copies between equal layouts are measured, besides layout changes."""
PLAIN_DIFFERS = 1.25
"""Rates of plain copies are kept beside those of layout changes if they differ by this factor at some run."""
REQUESTED_CHUNKS, REQUESTED_RUNS = (16, 64), (64 * KIB, 256 * KIB)
"""Numbers of chunks whose times differ by the time of requests, and the sizes of these chunks in bytes."""
LEAST_REQUEST = 0.1
"""The least time of a request that is recorded, as a part of that of its bytes: less is the error of a throughput function."""
GROWTH = 64
"""How many times as large as a job that was just timed the next one may be."""
FEWEST_CHUNKS = 4
"""The fewest chunks of a chunked job."""
CLOCK_TICK = 1e-7
"""The shortest time that counts, in case of a coarse clock."""
LIKE_COPIES = 0.6
"""From this share of the copy's rate on, a pipeline of a disk and a copy measures the copy."""
CONVERSION_PAIRS = 3
"""Repeats of a conversion beside another channel: they only decide between two cases."""
COPY_BESIDE, CONVERSION_BESIDE = ("stream", 8 * MIB), ("transpose", 1)
"""Shape and run of the copies that are measured beside other channels, and of the conversions, which are much slower."""

# ---- the probe of GPUs (an H200 behind PCIe 5: benchmarks/gpu.md)

GPU_ROOM, PINNED_ROOM = 8 << 30, 512 * MIB
"""The most bytes of a block on a GPU, and the least of one in pinned memory.

Python takes 0.1 ms for a request. So jobs take some milliseconds: 2 GiB within an H200, 256 MiB over its link.
"""

SPARED = 4
"""The part of the free memory of a GPU that one of its two blocks may take: one in this number."""
LEAST_GPU_ROOM = 16 * MIB
"""The least size in bytes of the blocks on a GPU."""
COPY_OVER_LINK, COPY_WITHIN = ("stream", WHOLE_OVER_LINK), ("stream", WHOLE_WITHIN)
"""`COPY_BESIDE` of copies between a GPU and the host, and of those between GPUs and within them."""
ALIKE, COMPARED = 1.1, 3
"""The largest ratio between the rates of two channels that count as alike, and the repeats of their comparison."""
SHORT_COMPARED = ("gather", 64)
"""Shape and run of the conversions that are compared, besides whole chunks."""
ANOTHER_LINK = 1.5
"""Copies between two GPUs that are faster than their links to the host by this factor do not use these links."""

# ---- throughput functions

BEND = 0.08
"""The relative difference between a sample and the line through its neighbours from which the curve bends there."""
EVENED_OUT = 1.5
"""Rates that decrease by at most this factor as runs grow are averaged."""

# ---- shared resources

SHARES_NOTHING = 1.85
"""Two channels share nothing if their gain together reaches this value: the loss of each is then below the noise."""
LEAST_LOSS = 0.05
"""The smallest loss of a channel beside a copy that is recorded, as a part of its rate."""
LEAST_PART = 0.02
"""The smallest part of a resource that is recorded as a use."""

# ---- the machine `local`

ENGINE_CHUNK_SECONDS = 4e-4
"""The time of a chunk at a hop in the engine: 0.1 ms if chunks repeat, 0.3 to 1 ms if they differ."""

# ---- ranks

PREPARED_TURNS = 300
"""Prepared transfers of few bytes that follow each other: enough that a microsecond counts."""
PREPARED_WARM = 20
"""Those before them that are not timed."""
