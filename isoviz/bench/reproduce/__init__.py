"""Evaluations of papers again, in simulation, beside the statements of the papers: `isoviz reproduce PAPER`.

Machines are presets that were fixed beforehand; nothing is tuned to the answers. Everything that a paper leaves open is assumed
in one place (`assumptions`), and each assumption is also halved and doubled (`sensitivity`).
"""
