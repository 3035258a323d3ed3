"""What happened when: spans, traces, the critical path, reports."""
