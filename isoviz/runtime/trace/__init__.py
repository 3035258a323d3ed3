"""Traces: spans, the critical path and reports."""
