// The explorer drawn into a page: what stands where, what is sent when, what every view shows of a selection.
import assert from "node:assert/strict";
import { test } from "node:test";
import { aSnapshot, type FakeModel } from "./model.ts";
import { closeAfterEach, drawn, find, found, press, show } from "./page.ts";

closeAfterEach();

/** What was sent, without what a view asks for when it appears: that comes when the browser has time. */
const kinds = (model: FakeModel): string[] => model.sent.map((sent) => sent.kind).filter((kind) => kind !== "runs");

test("before the first state it says what it waits for", () => {
  const { root } = show(null);
  assert.match(find(root, "explorer").textContent ?? "", /Waiting for the kernel/);
});

test("every control has a name of its own", async () => {
  const { root } = show(aSnapshot());
  await drawn();
  find(root, "title").click();
  await drawn();
  const controls = [...root.querySelectorAll<HTMLElement>("input, select")];
  assert.ok(controls.length > 10);
  for (const control of controls) {
    const label = root.querySelector(`label[for="${control.id}"]`) ?? control.closest("label");
    assert.ok(
      (control.getAttribute("aria-label") ?? label?.textContent)?.trim(),
      `${control.outerHTML.slice(0, 120)} has no name`,
    );
  }
});

test("ids are unique on a page with two explorers", async () => {
  show(aSnapshot());
  show(aSnapshot());
  await drawn();
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  assert.equal(new Set(ids).size, ids.length);
});

test("quantities are written here, from numbers", async () => {
  const { root } = show(
    aSnapshot((snapshot) => {
      assert.ok(snapshot.panes.plan !== null);
      Object.assign(snapshot.panes.plan, {
        bytes: 64 * 2 ** 20,
        seconds: 0.0151,
        throughput: 5.214e9,
        buffers: 1,
        bufferBytes: 40 * 2 ** 20,
      });
      snapshot.panes.plan.interval = { low: 0.0142, high: 0.0163, origin: "12 runs" };
    }),
  );
  await drawn();
  assert.match(find(root, "leading").textContent ?? "", /64 MiB.*15\.1 ms/);
  const figures = ["throughput", "buffers", "interval"].map(
    (name) => find(root, `figure-${name}`).querySelector("dd")?.textContent,
  );
  assert.deepEqual(figures, ["5.21 GB/s", "40 MiB", "14.2 – 16.3 ms"]);
  assert.equal(find(root, "figure-where").textContent, "runs on this computer");
});

test("the journey shows every stop and hop of the path, and the sentence leads to the slowest hop", async () => {
  const snapshot = aSnapshot();
  const path = snapshot.panes.plan?.paths[0];
  assert.ok(path !== undefined);
  const { root } = show(snapshot);
  await drawn();
  const journey = find(root, "journey");
  assert.equal(journey.querySelectorAll("[data-testid^=stop-]").length, path.stops.length);
  assert.equal(journey.querySelectorAll("[data-testid^=hop-]").length, path.hops.length);
  const slowest = path.hops.find((hop) => hop.bottleneck);
  assert.match(find(root, `hop-${slowest?.index}`).textContent ?? "", /slowest/);
  assert.equal(root.querySelector("[data-testid=inspector]"), null, "nothing is selected");
  find(root, "leading-pace").click();
  assert.match((await found(root, "inspector")).textContent ?? "", new RegExp(`Hop ${slowest?.index} · ${slowest?.words}`));
});

test("arrow keys move along the journey, one part of it is reached by Tab, and a click selects in every view of the session", async () => {
  const { model, root } = show(aSnapshot());
  const other = show(aSnapshot()).root;
  await drawn();
  assert.equal(root.querySelectorAll(".iv-strip button[tabindex='0']").length, 1);
  find(root, "stop-0").focus();
  press(find(root, "stop-0"), "ArrowRight");
  await drawn();
  assert.equal(document.activeElement, find(root, "hop-0"));
  press(find(root, "hop-0"), "End");
  await drawn();
  const last = document.activeElement as HTMLElement;
  assert.match(last.dataset.testid ?? "", /^stop-/);
  last.click();
  await drawn();
  for (const each of [root, other]) {
    await found(each, "inspector");
    assert.equal(find(each, last.dataset.testid ?? "").getAttribute("aria-pressed"), "true");
    assert.match(find(each, "inspector").textContent ?? "", /^Stop/);
  }
  assert.equal(root.querySelectorAll(".iv-strip button[tabindex='0']").length, 1);
  find(root, "hop-0").click();
  await drawn();
  assert.equal(root.querySelectorAll("[aria-pressed=true][data-place]").length, 1, "a hop lets the stop go");
  await new Promise((resolve) => setTimeout(resolve, 150));
  const selects = model.sent.filter((sent) => sent.kind === "select");
  assert.ok(selects.length >= 1 && selects.length <= 2);
  assert.deepEqual((selects.at(-1)?.selection as { hop: number; stop: null }).hop, 0);
});

test("a selection that Python makes is shown, and the echo of one's own is not taken back", async () => {
  const { model, root } = show(aSnapshot());
  await drawn();
  model.publish((next) => {
    next.selected = {
      selection: { entry: null, chunk: null, time: null, stop: 1, hop: null },
      count: next.selected.count + 1,
      client: null,
      number: null,
    };
  });
  await drawn();
  assert.equal(find(root, "stop-1").getAttribute("aria-pressed"), "true");
  find(root, "hop-0").click();
  await new Promise((resolve) => setTimeout(resolve, 150));
  const own = model.sent.at(-1);
  find(root, "stop-0").click();
  model.publish((next) => {
    next.selected = {
      selection: { ...next.selected.selection, stop: null, hop: 0 },
      count: next.selected.count + 1,
      client: own?.client ?? "",
      number: own?.number ?? 0,
    };
  });
  await drawn();
  assert.equal(find(root, "stop-0").getAttribute("aria-pressed"), "true", "what came since is newer than the echo");
});

test("without a plan the journey says why; the last good plan is greyed", async () => {
  const problems = { "source-layout": { message: "Unknown dimension 'q'; expected x or y", text: "<F, q>", position: 4 } };
  const none = show(
    aSnapshot((snapshot) => {
      snapshot.panes.plan = null;
      snapshot.faults = { problems, stale: ["plan", "source"] };
    }),
  ).root;
  const old = show(aSnapshot((snapshot) => void (snapshot.faults = { problems, stale: ["plan", "source"] }))).root;
  await drawn();
  assert.match(find(none, "no-plan").textContent ?? "", /There is no plan\.\s*Unknown dimension 'q'/);
  assert.equal((none.textContent ?? "").match(/There is no plan/g)?.length, 1, "it is said once");
  assert.equal(find(old, "journey").dataset.stale, "true");
  assert.match(find(old, "no-plan").textContent ?? "", /The last plan stays below\. Unknown dimension 'q'/);
});

test("a restarted kernel is told of, and the controls stop", async () => {
  const { model, root } = show(aSnapshot());
  await drawn();
  model.dead = true;
  model.disconnect();
  await drawn();
  assert.match(find(root, "status").textContent ?? "", /kernel of this explorer is gone/);
  assert.ok(root.querySelector(".iv-body")?.hasAttribute("inert"));
  assert.equal(find(root, "run").getAttribute("aria-disabled"), "true");
});

test("run is sent once; while it runs there is progress and Cancel, and the dock shows it", async () => {
  const { model, root } = show(aSnapshot((snapshot) => void Object.assign(snapshot.panes.run.now, { canRun: true, reason: "" })));
  await drawn();
  find(root, "run").click();
  assert.deepEqual(kinds(model), ["run"]);
  model.publish((snapshot) => {
    Object.assign(snapshot.panes.run.now, {
      number: 7,
      phase: "running",
      canRun: false,
      stage: "move",
      over: 0,
      bytesDone: 5,
      bytes: 18,
    });
  });
  await drawn();
  find(root, "run").click();
  assert.deepEqual(kinds(model), ["run"]);
  assert.equal(find(root, "explorer").dataset.running, "true");
  assert.equal(find(root, "progress").getAttribute("value"), "44");
  assert.equal(find(root, "tab-run").getAttribute("aria-selected"), "true");
  find(root, "cancel").click();
  assert.deepEqual(kinds(model), ["run", "cancel"]);
});

test("the status tells how a run went as long as its plan is shown", async () => {
  const { model, root } = show(aSnapshot());
  await drawn();
  assert.match(find(root, "status").textContent ?? "", /^Run 1: /);
  model.publish((snapshot) => void (snapshot.panes.run.now.isOfPlan = false));
  await drawn();
  assert.equal(find(root, "status").textContent, "");
});

test("where it cannot run it says why, ties the reason to the button, and offers this computer", async () => {
  const { model, root } = show(
    aSnapshot((snapshot) => {
      Object.assign(snapshot.panes.run.now, { canRun: false, reason: "sapling describes another computer", offerLocal: true });
    }),
  );
  await drawn();
  const button = find(root, "run");
  assert.equal(button.getAttribute("aria-disabled"), "true");
  const reason = root.querySelector(`[id="${button.getAttribute("aria-describedby")}"]`);
  assert.match(reason?.textContent ?? "", /another computer/);
  assert.equal(root.querySelector("[data-testid=use-local]"), null, "it is offered at Run");
  assert.ok(find(root, "run-why").classList.contains("iv-hidden"), "for screen readers only");
  button.focus();
  await drawn();
  assert.ok(!find(root, "run-why").classList.contains("iv-hidden"));
  press(button, "Escape");
  await drawn();
  assert.ok(find(root, "run-why").classList.contains("iv-hidden"));
  button.click();
  await drawn();
  find(root, "use-local").click();
  assert.equal(model.sent.at(-1)?.kind, "use-local");
});

test("where this computer lacks memories, it offers to emulate them", async () => {
  const { model, root } = show(
    aSnapshot((snapshot) => {
      Object.assign(snapshot.panes.run.now, {
        canRun: false,
        reason: "This computer lacks node0.fbm0.",
        offerEmulated: ["node0.fbm0"],
      });
    }),
  );
  await drawn();
  find(root, "run").click();
  await drawn();
  find(root, "use-emulated").click();
  const sent = model.sent.at(-1);
  assert.deepEqual([sent?.kind, sent?.edit], ["edit-machine", { do: "emulate", memories: ["node0.fbm0"], on: true }]);
});

test("an emulated memory says so in the bar, on the journey and in the inspector", async () => {
  const { root } = show(
    aSnapshot((snapshot) => {
      const { plan } = snapshot.panes;
      assert.ok(plan?.paths[0] !== undefined);
      plan.where = "this computer, emulated";
      for (const stop of plan.paths[0].stops) stop.emulated = true;
    }),
  );
  await drawn();
  assert.equal(find(root, "figure-where").textContent, "runs on this computer, emulated");
  assert.match(find(root, "stop-0").textContent ?? "", /emulated/);
  find(root, "stop-0").click();
  assert.match((await found(root, "inspector")).textContent ?? "", /emulated/);
});

test("no tab is open at first; they are moved through by arrow keys, round and round", async () => {
  const { root } = show(aSnapshot((snapshot) => void (snapshot.panes.run.now.number = 0)));
  await drawn();
  assert.equal(root.querySelector("[role=tabpanel]"), null);
  assert.equal(find(root, "tab-why").tabIndex, 0);
  press(find(root, "tab-why"), "ArrowLeft");
  await drawn();
  assert.equal(document.activeElement, find(root, "tab-find-layout"));
  press(find(root, "tab-find-layout"), "ArrowLeft");
  await drawn();
  assert.equal(document.activeElement, find(root, "tab-run"));
  assert.equal(find(root, "tab-run").getAttribute("aria-selected"), "true");
  assert.match(find(root, "pane-run").textContent ?? "", /Nothing has run yet/);
});

test("the menu opens at its first item, closes by Escape, and says how an export went", async () => {
  const { model, root } = show(aSnapshot());
  await drawn();
  find(root, "menu").click();
  await drawn();
  assert.equal((document.activeElement as HTMLElement).dataset.testid, "menu-open-session");
  press(document.activeElement as HTMLElement, "ArrowUp");
  assert.equal((document.activeElement as HTMLElement).dataset.testid, "menu-tour");
  press(document.activeElement as HTMLElement, "Escape");
  await drawn();
  assert.equal(root.querySelector("[role=menu]"), null);
  assert.equal(document.activeElement, find(root, "menu"));
  find(root, "menu").click();
  await drawn();
  find(root, "menu-export-plan").click();
  const sent = model.sent.at(-1);
  assert.deepEqual([sent?.kind, sent?.what], ["export", "plan"]);
  model.say({ kind: "export", what: "plan", number: sent?.number, name: "", text: "", error: "There is no plan to export." });
  await drawn();
  assert.match(find(root, "toast").textContent ?? "", /There is no plan to export/);
});

test("the drawer opens from the title with the array and the machine, and Escape gives the focus back", async () => {
  const { root } = show(aSnapshot());
  await drawn();
  find(root, "title").click();
  await drawn();
  assert.ok(find(root, "drawer").querySelectorAll("input").length > 3);
  press(find(root, "drawer"), "Escape");
  await drawn();
  assert.equal(root.querySelector("[data-testid=drawer]"), null);
  assert.equal(document.activeElement, find(root, "title"));
});

test("a refused command is told to the view that sent it, and to all where nobody knows who did", async () => {
  const { model, root } = show(aSnapshot());
  await drawn();
  find(root, "swap").click();
  const client = model.sent.at(-1)?.client ?? "";
  const refusal = { kind: "swap", client, number: 1, message: "command 'swap': not today" };
  model.publish((snapshot) => void (snapshot.frame.refusal = refusal));
  await drawn();
  assert.match(find(root, "error-command").textContent ?? "", /This was not done.*not today/);
  model.publish((snapshot) => void (snapshot.frame.refusal = { ...refusal, client: "another view" }));
  await drawn();
  assert.equal(root.querySelector("[data-testid=error-command]"), null);
  model.publish((snapshot) => void (snapshot.frame.refusal = { ...refusal, client: null }));
  await drawn();
  find(root, "error-command");
});

test("a view alone shows what it is called for and nothing else, and needs no plan for a layout", async () => {
  for (const pane of ["layout-editor", "linearization", "plan", "run", "machine"]) {
    const without = pane === "layout-editor" || pane === "linearization";
    const { root } = show(
      aSnapshot((snapshot) => void (without && Object.assign(snapshot.panes, { plan: null, machine: null }))),
      pane,
    );
    await drawn();
    assert.ok((find(root, `pane-${pane}`).textContent ?? "").length > 10, pane);
    assert.equal(root.querySelector(".iv-bar"), null);
    assert.equal(find(root, "explorer").dataset.pane, pane);
  }
  assert.match(show(aSnapshot(), "nothing").root.textContent ?? "", /no view called nothing/);
});

test("the static picture beside is hidden while the view lives, and closing leaves nothing behind", async () => {
  const { model, close } = show(aSnapshot());
  await drawn();
  const count = (): number =>
    [...document.head.querySelectorAll("style")].filter((style) => style.textContent?.includes("isoviz-static")).length;
  assert.equal(count(), 1);
  close();
  assert.equal(count(), 0);
  assert.equal(model.listeners, 0);
});

test("a run ends with its kernel", async () => {
  const under = aSnapshot((snapshot) =>
    Object.assign(snapshot.panes.run.now, { number: 1, phase: "running", stage: "generate" }),
  );
  const { model, root } = show(under);
  await drawn();
  assert.equal(find(root, "explorer").dataset.running, "true");
  find(root, "cancel");
  model.dead = true;
  model.disconnect();
  await drawn();
  assert.equal(find(root, "explorer").dataset.running, "false");
  for (const testid of ["cancel", "progress"]) assert.equal(root.querySelector(`[data-testid=${testid}]`), null, testid);
  assert.doesNotMatch(find(root, "run").textContent ?? "", /Running/);
  assert.match(find(root, "error-failed-run").textContent ?? "", /Run 1 failed. It ended with its kernel/);
});

test("without a plan nothing runs here, and a button leads to what is to be corrected", async () => {
  const { model, root } = show(aSnapshot());
  await drawn();
  find(root, "figure-where");
  const wrong = (control: string, message: string): void =>
    model.publish(({ faults, panes }) => {
      Object.assign(faults, { problems: { [control]: { message, text: null, position: null } }, stale: ["plan"] });
      Object.assign(panes.run.now, { canRun: false, reason: `There is no plan to run. ${message}` });
    });
  wrong("memory-limit", "Too small.");
  await drawn();
  assert.equal(root.querySelector("[data-testid=figure-where]"), null);
  assert.match(find(root, "run-reason").textContent ?? "", /no plan to run. Too small./);
  find(root, "show-problem").click();
  for (let frame = 0; frame < 3; frame += 1) await drawn();
  assert.equal(document.activeElement, find(root, "memory-limit"));
  // At an end, with the whole screen given to the details.
  find(root, "dock-size").click();
  wrong("destination-memory", "No path leads there.");
  await drawn();
  assert.equal(root.querySelector("[data-testid=destination-memory]"), null);
  find(root, "show-problem").click();
  for (let frame = 0; frame < 3; frame += 1) await drawn();
  assert.equal(document.activeElement, find(root, "destination-memory"));
  // What no control causes has nowhere to lead to.
  wrong("transfer", "The array is too large.");
  await drawn();
  assert.equal(root.querySelector("[data-testid=show-problem]"), null);
});

test("what cannot be exported says why", async () => {
  const { model, root } = show(aSnapshot((snapshot) => Object.assign(snapshot.panes.run, { report: null })));
  await drawn();
  find(root, "menu").click();
  await drawn();
  const report = find(root, "menu-export-report");
  assert.equal(report.getAttribute("aria-disabled"), "true");
  assert.match(report.textContent ?? "", /Nothing has run yet/);
  report.click();
  assert.ok(!kinds(model).includes("export"));
});

test("the report names the time in which the system gave memory, where it is worth a word", async () => {
  for (const [bufferSeconds, said] of [
    [0.25, true],
    [null, false],
  ] as const) {
    const changed = aSnapshot((snapshot) => Object.assign(snapshot.panes.run.report ?? {}, { bufferSeconds }));
    const { root } = show(changed, "run");
    await drawn();
    const text = find(root, "report").textContent ?? "";
    assert.equal(/Before the measured time, the system took 250 ms to give memory for the buffers/.test(text), said, text);
  }
});
