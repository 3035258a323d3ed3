"""Section 4.2 of Isometry as one mixed-integer linear program in PuLP: path, layouts and block sizes in one solve.

`stages` holds the network of all paths, `whole_model` the rows (with `layout_rows`, and throughput functions as
lines), `solving` the solution with HiGHS, and `program_planner` the plan and its texts.
"""
