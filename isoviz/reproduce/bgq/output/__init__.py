"""Sparse output of whole partitions: workloads, default collective I/O and several paths, by streams of bytes (section 6)."""
