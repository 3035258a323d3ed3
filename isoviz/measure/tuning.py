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
