"""Boxes in boxes on the machine canvas: for every preset at 1280 pixels, labels stay inside their boxes and boxes apart."""

from __future__ import annotations

import harness
import pytest
from playwright.sync_api import expect

SHOW = "import isoviz\neditor = isoviz.MachineEditor('dgx-h100-pair')\neditor"
EXPLORE = "import isoviz\nexplorer = isoviz.explore(machine='dgx-h100-pair', restore=False)"

MEASURE = """stage => {
    const rect = element => {
        const {left, top, right, bottom} = element.getBoundingClientRect();
        return {left, top, right, bottom};
    };
    const shown = element => getComputedStyle(element).display !== 'none' && element.getClientRects().length > 0;
    const meet = (a, b) => a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5;
    const within = (a, b) =>
        a.left >= b.left - 0.5 && a.top >= b.top - 0.5 && a.right <= b.right + 0.5 && a.bottom <= b.bottom + 0.5;
    const named = (selector, key) => [...stage.querySelectorAll(selector)].filter(shown).map(element =>
        ({element, name: element.dataset[key], rect: rect(element)}));
    const memories = named('[data-memory]', 'memory');
    const frames = named('.iv-mc-node, .iv-mc-box', 'box');
    const heads = named('.iv-mc-head', 'box');
    const wrong = [];
    const apart = (all, may) => all.forEach((one, place) => all.slice(place + 1).forEach(other => {
        if (meet(one.rect, other.rect) && !may(one, other)) wrong.push(`${one.name} meets ${other.name}`);
    }));
    apart(memories, () => false);
    const inside = (inner, outer) => inner.name.startsWith(outer.name + '/') && within(inner.rect, outer.rect);
    apart(frames, (one, other) => inside(one, other) || inside(other, one));
    for (const frame of frames) for (const memory of memories)
        if (meet(frame.rect, memory.rect) && !within(memory.rect, frame.rect)) wrong.push(`${memory.name} leaves ${frame.name}`);
    const titles = heads.map(({element, name}) => ({name, rect: rect(element.querySelector('.iv-mc-title'))}));
    apart(titles, () => false);
    for (const title of titles) for (const memory of memories)
        if (meet(title.rect, memory.rect)) wrong.push(`the title of ${title.name} meets ${memory.name}`);
    // Texts: the part that can be seen lies in the box; what is cut off at its side ends in an ellipsis, none is cut off below.
    let cut = [];
    const silent = [];
    for (const {element, name, rect: box} of [...memories, ...frames, ...heads]) {
        let text = '';
        const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            const parent = walker.currentNode.parentElement;
            const range = document.createRange();
            range.selectNodeContents(walker.currentNode);
            const [found] = range.getClientRects();
            if (found === undefined || found.width < 2 || parent.closest('.iv-hidden') !== null) continue;
            const seen = {left: found.left, top: found.top, right: found.right, bottom: found.bottom};
            let ellipsis = false;
            for (let at = parent; at !== element; at = at.parentElement) {
                const style = getComputedStyle(at);
                if (style.overflowX === 'visible') continue;
                ellipsis ||= style.textOverflow === 'ellipsis';
                const clip = rect(at);
                seen.left = Math.max(seen.left, clip.left);
                seen.right = Math.min(seen.right, clip.right);
            }
            text += walker.currentNode.data;
            if (!within(seen, box)) wrong.push(`'${walker.currentNode.data}' leaves ${name}`);
            if (seen.right < found.right - 1 && !ellipsis) wrong.push(`'${walker.currentNode.data}' is cut off in ${name}`);
            if (seen.right < found.right - 1) cut.push(`${name}: ${walker.currentNode.data}`);
        }
        if (text.trim() === '' && !element.classList.contains('iv-mc-box')) silent.push(name);
    }
    return {wrong, cut, silent, frames: frames.length, memories: memories.length, lod: stage.dataset.lod};
}"""


@pytest.mark.full
def test_labels_stay_in_their_boxes_and_boxes_apart_for_every_preset(desk: harness.Notebook) -> None:
    desk.page.set_viewport_size({"width": 1280, "height": 900})
    desk.show(SHOW)
    stage = desk.part("machine-stage")
    stage.wait_for()
    stage.scroll_into_view_if_needed()
    # Machines with networks have a drawing of their own.
    names = desk.python(
        "print(*[name for name in isoviz.presets() if name not in ('local', 'ranks') and not isoviz.preset(name).networks])"
    ).split()
    assert {"dgx-h100-pair", "gh200", "workstation", "two-node"} <= set(names)
    for name in names:
        count = int(desk.python(f"editor.value = isoviz.preset({name!r})\nprint(len(editor.value.memories))"))
        desk.settled()
        expect(desk.explorer.locator("[data-memory]")).to_have_count(count)
        desk.at_rest()
        found = stage.evaluate(MEASURE)
        assert found["wrong"] == [], name
        assert found["memories"] == count and found["lod"] != "nodes" and found["silent"] == [], (name, found)
        if name in ("dgx-h100-pair", "gh200", "workstation"):
            assert found["frames"] > len(set(desk.python("print(*editor.value.nodes)").split())), name
            assert found["cut"] == [], name
        stage.scroll_into_view_if_needed()
        desk.picture(f"boxes-{name}")


def test_a_bundle_opens_and_only_what_the_plan_uses_is_shown(desk: harness.Notebook) -> None:
    desk.page.set_viewport_size({"width": 1280, "height": 900})
    desk.show(EXPLORE)
    desk.to_top()
    desk.part("tab-machine").click()
    stage = desk.part("machine-stage")
    stage.wait_for()
    desk.settled()
    stage.scroll_into_view_if_needed()
    desk.at_rest()
    frames = desk.explorer.locator(".iv-mc-box")
    switch = frames.and_(desk.page.locator('[data-box="1/socket 1/PCIe switch 4"]')).bounding_box()
    host = frames.and_(desk.page.locator('[data-box="1/socket 1/DRAM"]')).bounding_box()
    assert switch is not None and host is not None
    # Its line goes straight across the gap where the boxes face each other.
    left, right = max(switch["x"], host["x"]), min(switch["x"] + switch["width"], host["x"] + host["width"])
    desk.page.mouse.click((left + right) / 2, (switch["y"] + switch["height"] + host["y"]) / 2)
    expect(desk.part("edit-bundle").locator("h3")).to_have_text("PCIe switch 4 ↔ DRAM")
    expect(desk.part("edit-bundle")).to_contain_text("4 channels each way, 20 to 55 GB/s")
    desk.picture("boxes-bundle")
    stops = desk.python("print(*dict.fromkeys(explorer.session.plan.paths[0].memories))").split()
    desk.part("only-used").click()
    expect(desk.explorer.locator("[data-memory]")).to_have_count(len(stops))
    desk.at_rest()
    found = stage.evaluate(MEASURE)
    assert found["wrong"] == [] and found["cut"] == [] and found["silent"] == []
    stage.scroll_into_view_if_needed()
    desk.picture("boxes-only-used")
    desk.part("only-used").click()
    expect(desk.explorer.locator("[data-memory]")).to_have_count(42)
