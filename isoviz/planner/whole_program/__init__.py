"""Section 4.2 of Isometry as one mixed-integer linear program in PuLP: path, layouts and block sizes in one solve.

`stages` says where the path may go, `rates` what a channel sustains, `model` states the rows, `solving` solves them with HiGHS,
`planner` makes a plan of what was found, `wording` says it to people.
"""
