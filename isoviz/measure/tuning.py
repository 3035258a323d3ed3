"""The numbers that tune measuring, each with the reason for it.

Unless another source is given, a number was chosen on virtual machines with two cores (Zen 4 and Zen 5, unbuffered disks of 1 to
1.5 GB/s); `benchmarks/` holds the reports. Bytes and seconds throughout.
"""

from __future__ import annotations

KIB, MIB = 1 << 10, 1 << 20

# ---- trials (benchmarks/2026-11-23/predictions.md: forty-three runs of fifty random transfers)

COPIED_BYTES = 32 * MIB
"""What a trial copies within memory: more does not stay in caches either."""
CHUNK_BYTES = 16 * MIB
"""The longest chunk that a trial moves over disks."""
CHUNK_SECONDS_WANTED, CHUNK_SECONDS_MOST = 0.1, 0.3
"""The predicted time that a chunk over disks should take, and may take at most. Measured: trials cost 30 to 150 ms."""
TOGETHER = 3
"""Chunks that follow each other in a pipelined repeat. Hops at work at the same time slow each other down: the median error of
fifteen pipelines was 14 % by one chunk and 5.5 % by three."""
LONG_RUN = 1 * MIB
"""Longer runs on a disk are hardly faster."""
SCATTERED_RUN = 16 * KIB
"""The shortest run that is tried where runs are scattered over a new file. Shorter ones stay in the page cache until the end."""
GAPLESS = 1.05
"""A part of a file without gaps worth mentioning is no longer than this multiple of the chunk."""
TRIAL_ROOM, TRIAL_FILE = 256 * MIB, 1 << 30
"""The most memory that is allocated for a trial, and the longest file that is written."""
GENERATED_BYTES = 96 * MIB
"""The most that is generated for a source on a disk: short runs far apart would need whole pages."""
TRIAL_SECONDS = 3.0
"""A trial that takes longer is given up."""
REPEATED_SECONDS, REPEATED_SHARE = 0.06, 0.2
"""Repeats go on for this time, and for this share of the predicted time of the transfer. With 30 ms instead of 60 single
slow moments decided (runs 37 and 38 of the report)."""
FEWEST_REPEATS, MOST_REPEATS = 5, 100
FEWEST_PAIRS = 3
"""Repeats that are enough where each is followed by a pipelined one."""
LAST_REPEAT, PATIENCE = 0.2, 5
"""Repeats end once this time is spent. It is `PATIENCE` times as long where the chunk was predicted to be quick: a disk that
stops for a moment (0.5 s were seen) says nothing about the next moment."""
MOST_PARTS = 1 << 14
"""Parts of an array that are told apart. An array with more counts as one part."""
PULL, MOST_PULL = 0.2, 1.5
"""The part of log(model / trial) by which a trial is moved towards the model, and the ratio from which on it grows no further:
a model that is further off knows nothing of this conversion. In nine runs of the report the 95th percentile of the errors was
31.9 % without it and 29.6 % with it."""
CROWDING = 1.5
"""Pipelined chunks count as at most this much slower, or faster, than the model of the pipeline says."""
FLUSH_SHARE = 0.2
"""Waiting for a disk that takes a larger share of a run grows with the bytes written: they were in a cache."""

# ---- the probe (benchmarks/2026-11-23/predictions.md: probes before each of its runs)

PROBE_ROOM = 128 * MIB
"""The least bytes of the arrays and files that a probe moves; more where caches are larger."""
TIMED_TWICE = 1 * MIB
"""Jobs up to this size run once before they are timed: page faults and the like would be most of their time."""
PIPED_RUN = 4096
"""The run of the conversions in piped jobs: long enough for the copy to be faster than disks."""
APART = 20 * KIB
"""The gap between runs that a disk reads one by one: with smaller gaps it reads what lies between."""
LONGER_JOBS = (1, 2, 4, 8, 16)
"""How often jobs are repeated, in turn, until all channels are at work at the same time."""
COPIES_PAY, REQUESTS_PAY = 1.15, 1.05
"""More copies at a time have to be this much faster, or they only slow other channels down. For requests of a disk less is
enough: a waiting request slows nothing down."""
SMALL_TRANSFERS = (70_000, 140_000, 280_000)
"""Bytes of transfers whose time is mostly set-up."""
FEWEST_CHUNKS = 4
"""Chunks of a job in chunks, at least."""
CLOCK_TICK = 1e-7
"""The least seconds that count, whatever a coarse clock says."""
LIKE_COPIES = 0.6
"""A disk in a pipeline with a copy is as fast as the copy from this share of its rate on: then the copy is what is measured."""
CONVERSION_PAIRS = 3
"""Repeats of a conversion beside another channel: they only decide between two cases."""
COPY_BESIDE, CONVERSION_BESIDE = ("stream", 8 * MIB), ("transpose", 1)
"""Shape and run of the copies that are measured beside other channels, and of the conversions, which are much slower."""
LONG_FIELD = 4096
"""Longer fields of structs are measured with equal sizes only."""
WHOLE_CHUNKS_DISK, WHOLE_CHUNKS_COPY = 128 * KIB, 4 * MIB
"""Runs from which on plans reach a disk, and copy, in whole chunks only."""
SHORT_DISK_RUNS = (8 * KIB, 32 * KIB, 128 * KIB)
"""Runs of which a disk moves more with more requests in flight (8 KiB: 0.17 GB/s with one, 0.52 with sixteen)."""

# ---- throughput functions

BEND = 0.08
"""The relative difference between a measurement and the line through its neighbours from which on the curve bends there."""
EVENED_OUT = 1.5
"""Rates that fall by no more than this factor as runs grow are averaged."""

# ---- shared resources

SHARES_NOTHING = 1.85
"""Two channels share nothing if together they do this much of what they do apart: the loss of each is below the noise."""
LEAST_LOSS = 0.05
"""The least part of a channel's speed, taken by a copy beside it, that is written down."""
LEAST_PART = 0.02
"""The least part of a resource that a channel is said to use."""

# ---- quick measurements

QUICK_REQUESTS = (4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, 1 * MIB, 4 * MIB, 16 * MIB)
"""The request lengths of a disk that are measured."""
QUICK_FILE, QUICK_REQUESTS_BYTES = 256 * MIB, 32 * MIB
"""The largest file that is written, and the most bytes that are moved for one request length."""
QUICK_RUNS = (1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096, 65536, 1 * MIB, 4 * MIB)
"""The runs of conversions in memory that are measured."""
QUICK_FIELDS = 8
"""The number of fields of these conversions."""
PIECE_ENTRIES = 8192
"""Entries of one field that NumPy converts before the next field: the lines that are read stay in the cache."""
WHOLE_LINE = 64
"""Longer runs are whole cache lines: nothing is read twice."""
LEAST_WORKING_SET, MOST_WORKING_SET = 64 * MIB, 1024 * MIB
"""Bytes of the arrays that are walked through, at least and at most; between them a multiple of the caches."""

# ---- the machine `local`

ENGINE_CHUNK_SECONDS = 4e-4
"""The time of a chunk at a hop in the engine: 0.1 ms where chunks repeat, 0.3 to 1 ms where each is another one."""
