"""Single views in a notebook, each bound to values: layouts, a machine, a plan, a trace, runs."""
