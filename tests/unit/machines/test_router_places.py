"""Where routers are drawn: each at a place of its own, in panels that are alike; and what a topology may say wrongly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import pytest

from isoviz.errors import MachineError
from isoviz.machines.networks import Axis, FatTree, Grid, ListedLinks, Mesh, Panel, Places, Switch, Topology, Torus
from isoviz.machines.networks.places import places_of

GRIDS = (
    Torus((4, 4, 4, 4, 2)),
    Torus((2, 2, 4, 2, 2), open="ABDE"),
    Mesh((4, 8)),
    Torus((7,)),
    Mesh((1,)),
    Torus((8, 8, 8)),
    Mesh((1, 3)),
    Torus((4, 4, 16, 16, 2)),
    Mesh((3, 1, 5)),
    Torus((40, 3, 3)),
)


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_every_router_of_a_grid_has_a_place_of_its_own_in_the_slice_of_its_coordinates(grid: Grid) -> None:
    places = places_of(grid)
    at = [places.at(router) for router in range(grid.router_count)]
    assert len(set(at)) == grid.router_count
    left, top, width, height = places.panel
    for router, (x, y) in enumerate(at):
        panel = places.panels[router // len(places.points)]
        assert 0 < x - panel.x - left < width and 0 < y - panel.y - top < height
        address = {f"{letter}{place}" for letter, place in zip(grid.dimensions, grid.coordinates(router), strict=True)}
        assert set(panel.title.split()) <= address
    assert len({panel.title for panel in places.panels}) == len(places.panels)
    corners = [(panel.x + dx, panel.y + dy) for panel in places.panels for dx in (0, width) for dy in (0, height)]
    across, down = (
        max(x for x, _ in corners) - min(x for x, _ in corners),
        max(y for _, y in corners) - min(y for _, y in corners),
    )
    assert across < 4.5 * down or len(grid.sizes) <= 2


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_neighbours_in_a_slice_lie_in_line_and_links_leave_it_where_the_torus_wraps(grid: Grid) -> None:
    places = places_of(grid)
    for router in range(min(grid.router_count, 700)):
        here = grid.coordinates(router)
        for link in grid.links_from(router):
            (x, y), (to_x, to_y) = places.at(link.source), places.at(link.destination)
            there = grid.coordinates(link.destination)
            wraps = max(abs(a - b) for a, b in zip(here, there, strict=True)) > 1
            around = places.around(link.source, link.destination)
            if places.is_across(link.source, link.destination):
                continue
            assert x == to_x or y == to_y
            assert (around is not None) == wraps
            if around is not None:
                away = math.hypot(x - to_x, y - to_y)
                assert around == ((x - to_x) / away, (y - to_y) / away), "away from the other end"


def test_slices_are_read_in_words() -> None:
    assert places_of(Torus((4, 4))).reading == ("B across; A down. A, B wrap around: short ends at an edge go on at the other.")
    assert places_of(Torus((4, 4, 4, 4, 2), open="BCDE")).reading == (
        "C, E across; D down; A, B from slice to slice. A wraps around: short ends at an edge go on at the other."
    )
    assert places_of(Mesh((4, 4))).reading.endswith("Nothing wraps around.")


def test_a_tree_stands_on_its_hosts_and_is_not_a_strip() -> None:
    tree = FatTree((16, 16, 8), (1, 8, 8))
    places = places_of(tree)
    heights = [places.at(router)[1] for router in range(tree.router_count)]
    levels = [tree.level(router) for router in range(tree.router_count)]
    by_level = [{y for y, level in zip(heights, levels, strict=True) if level == each} for each in range(4)]
    assert all(len(ys) == 1 for ys in by_level)
    assert all(min(below) > max(above) for below, above in pairwise(by_level))
    assert places.panel[2] < 4 * places.panel[3]
    assert len({places.at(router) for router in range(tree.router_count)}) == tree.router_count


def test_a_topology_that_says_nothing_is_a_circle() -> None:
    ring = ListedLinks(tuple((f"r{k}", f"r{(k + 1) % 9}") for k in range(9)))
    places = places_of(ring)
    middle = [sum(axis) / 9 for axis in zip(*places.points, strict=True)]
    radii = [math.hypot((x - middle[0]) / 1.5, y - middle[1]) for x, y in places.points]
    assert max(radii) - min(radii) < 1e-9
    assert min(math.dist(*each) for each in pairwise(places.points)) > 40
    assert len(places_of(ListedLinks((("a", "b"),))).points) == 2
    assert (places_of(Switch()).shape, places_of(Switch()).count) == ("bar", 1)


def test_panels_are_alike_and_axes_count_on_through_them() -> None:
    points, panels = ((0.0, 0.0), (40.0, 0.0), (80.0, 0.0)), (Panel(0, 0, "ring 0"), Panel(0, 60, "ring 1"))
    places = Places(points, 40, panels, (Axis("ring ", 2), Axis("angle ", 3, True)))
    assert places.at(4) == (40, 60)
    assert places.is_across(2, 3) and not places.is_across(3, 5)
    assert places.around(3, 5) == (-1, 0) and places.around(5, 3) == (1, 0)
    assert places.around(3, 4) is None and places.around(0, 3) is None


@dataclass(frozen=True)
class Odd(Topology):
    """A topology of three routers with places that the test gives."""

    kind: ClassVar[str] = "odd"
    default_routing: ClassVar[str] = "shortest"
    drawn: object = None

    @property
    def router_count(self) -> int:
        return 3

    def router_name(self, router: int) -> str:
        return str(router)

    def router(self, name: str) -> int:
        return int(name)

    def links_from(self, router: int) -> tuple[()]:
        return ()

    def places(self) -> Places:
        return self.drawn  # type: ignore[return-value]  # wrong on purpose


@pytest.mark.parametrize(
    ("drawn", "words"),
    [
        (None, r"topology 'odd', places\(\): expected Places, got None"),
        (Places.in_circle(4), r"topology 'odd', places\(\): expected 3 routers, got places for 4"),
    ],
)
def test_places_of_something_else_are_refused(drawn: object, words: str) -> None:
    with pytest.raises(MachineError, match=words):
        places_of(Odd(drawn))


@pytest.mark.parametrize(
    ("points", "more", "words"),
    [
        ((), {}, "expected a point and a panel at least"),
        ([(0, 0), (1,)], {}, r"points\[1\]: expected two numbers"),
        ([(0, math.nan)], {}, r"points\[0\]: expected a finite number"),
        ([(0, 0)], {"apart": 0}, "apart: expected a finite number > 0, got 0"),
        ([(0, 0)], {"panels": [(0, 0)]}, r"panels\[0\]: expected Panel"),
        ([(0, 0)], {"axes": (Axis("A", 2),)}, "the axes count 2 routers, the panels hold 1"),
        ([(0, 0)], {"shape": ""}, "shape"),
    ],
)
def test_places_that_are_none_are_refused(points: Sequence[object], more: dict[str, object], words: str) -> None:
    with pytest.raises(MachineError, match=words):
        Places(points, **more)  # type: ignore[arg-type]  # wrong on purpose
