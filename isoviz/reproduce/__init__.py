"""The evaluations of papers again, in simulation: `isoviz reproduce PAPER`.

The modules of this folder know no paper: a `Statement` of the paper beside isoviz's figure, an `Assumption` and what changes with
it, a `Figure` with its numbers, and the `Reproduction` as text, page and report. Each paper has a package here that offers
`reproduce(quick=..., progress=...)`.
"""
