"""Graphs by the rules of Graph500: the edges of a Kronecker graph, the keys to search from, and what a search must give.

The rules are those of the specification of Graph500 (graph500.org), for benchmark 1, "Search". Vertices are whole numbers
from 0 to 2^scale − 1. Edges are the two rows of an array; they have no direction. Some are there twice, and
some join a vertex to itself.
"""

from __future__ import annotations

import numpy as np

from isoviz.checks import count
from isoviz.errors import InputError, VerificationError
from isoviz.vortex.traffic import Whole

MOST_SCALE = 30
EDGE_FACTOR = 16
"""Edges for each vertex, by the rules."""
A, B, C = 0.57, 0.19, 0.19
"""The chances of three quarters of the adjacency matrix, by the rules."""


def kronecker(scale: int, edge_factor: int = EDGE_FACTOR, seed: int = 0) -> Whole:
    """The edges of a Kronecker graph of 2^scale vertices, an array of shape (2, edge_factor · 2^scale).

    Each bit of both ends of an edge is drawn from a quarter of the adjacency matrix. Vertices and edges are then shuffled.

    Raises:
        InputError: an argument is out of range.
    """
    call = "kronecker"
    count(call, "scale", scale, low=1, high=MOST_SCALE)
    count(call, "edge_factor", edge_factor, low=1, high=1 << 10)
    draw = np.random.default_rng((count(call, "seed", seed), scale))
    edges = np.zeros((2, edge_factor << scale), np.int64)
    for bit in range(scale):
        low = draw.random(edges.shape[1]) > A + B
        right = draw.random(edges.shape[1]) > np.where(low, C / (1 - A - B), A / (A + B))
        edges += np.array([low, right]) * (1 << bit)
    edges = draw.permutation(1 << scale)[edges]
    return edges[:, draw.permutation(edges.shape[1])]


def search_keys(edges: Whole, number: int = 64, seed: int = 0) -> Whole:
    """Different vertices to search from, each with an edge to another one.

    Raises:
        InputError: there are not so many, or an argument is out of range.
    """
    count("search_keys", "number", number, low=1)
    joined = np.unique(edges[:, edges[0] != edges[1]])
    if number > len(joined):
        raise InputError(f"search_keys, number: expected at most {len(joined)}, the vertices with an edge; got {number}")
    return np.random.default_rng((count("search_keys", "seed", seed), 1)).choice(joined, number, replace=False)


def validate(edges: Whole, key: int, parents: Whole, levels: Whole) -> None:
    """Check what a search from `key` found, by the five rules of Graph500.

    `parents` and `levels` have an element for each vertex: −1 where the search did not come, and `key` is its own parent.

    Raises:
        VerificationError: a rule is broken, with its number and a vertex or an edge that breaks it.
    """
    reached = np.flatnonzero(parents >= 0)
    ancestors = np.where(parents >= 0, parents, np.arange(len(parents)))
    for _ in range(len(parents).bit_length()):
        ancestors = ancestors[ancestors]
    _rule(1, "is the key and has another parent", np.array([key]), parents[[key]] != key)
    _rule(1, "does not lead to the key by its parents", reached, ancestors[reached] != key)
    children = reached[reached != key]
    _rule(2, "is not one level below its parent", children, levels[children] != levels[parents[children]] + 1)
    _rule(2, "has a level, or none, against what its parent says", np.arange(len(levels)), (levels >= 0) != (parents >= 0))
    one, other = levels[edges]
    here = (one >= 0) & (other >= 0)
    _rule(3, "joins levels that are not neighbours", edges.T, here & (abs(one - other) > 1))
    _rule(4, "leads out of the tree", edges.T, (one >= 0) != (other >= 0))
    pairs = np.sort(np.stack([children, parents[children]]), axis=0)
    known = np.sort(edges, axis=0)
    there = np.isin(pairs[0] << 32 | pairs[1], known[0] << 32 | known[1])
    _rule(5, "has no edge to its parent", children, ~there)


def _rule(number: int, what: str, things: Whole, wrong: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> None:
    if wrong.any():
        first = things[np.flatnonzero(wrong)[0]]
        name = f"vertex {first}" if first.ndim == 0 else f"the edge of vertices {first[0]} and {first[1]}"
        raise VerificationError(
            f"breadth-first search, rule {number} of Graph500: {name} {what}; so it is for {int(wrong.sum())}"
        )
