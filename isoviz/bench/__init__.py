"""Benchmarks that users can run: `isoviz bench SUITE`. Every figure stands beside peers measured in the same run."""

from isoviz.bench.suites import SUITES, Suite

__all__ = ["SUITES", "Suite"]
