import assert from "node:assert/strict";
import { test } from "node:test";
import { effect } from "@preact/signals";
import { Connection, shown } from "#model/connection.ts";
import type { ExportMessage } from "#model/types.ts";
import { aSnapshot, FakeModel } from "./model.ts";

test("commands are numbered and name their view", () => {
  const model = new FakeModel(aSnapshot());
  const connection = new Connection(model);
  assert.equal(connection.send({ kind: "run" }), 1);
  assert.equal(connection.send({ kind: "cancel" }), 2);
  assert.deepEqual(
    model.sent.map((sent) => [sent.kind, sent.number, sent.client]),
    [
      ["run", 1, connection.client],
      ["cancel", 2, connection.client],
    ],
  );
  connection.close();
});

test("two views have different names", () => {
  const model = new FakeModel(aSnapshot());
  const [one, two] = [new Connection(model), new Connection(model)];
  assert.notEqual(one.client, two.client);
  one.close();
  two.close();
});

test("a view waits until its newest command is acknowledged", () => {
  const model = new FakeModel(aSnapshot());
  const connection = new Connection(model);
  connection.send({ kind: "undo" });
  connection.send({ kind: "redo" });
  model.publish(() => undefined, 1);
  assert.equal(connection.waiting, true);
  model.publish(() => undefined);
  assert.equal(connection.waiting, false);
  connection.close();
});

test("a kernel that does not answer is noticed, and forgiven when it does", async () => {
  const model = new FakeModel(aSnapshot());
  const connection = new Connection(model, 0.01);
  const noticed = new Promise<void>((resolve) => {
    connection.listen(() => connection.unanswered && resolve());
  });
  connection.send({ kind: "run" });
  assert.equal(connection.unanswered, false);
  await noticed;
  model.publish(() => undefined);
  assert.equal(connection.unanswered, false);
  connection.close();
});

test("a kernel that is gone is noticed, at a command or before", () => {
  for (const notice of [
    (connection: Connection) => void connection.send({ kind: "run" }),
    (_: Connection, model: FakeModel) => model.disconnect(),
  ]) {
    const model = new FakeModel(aSnapshot());
    const connection = new Connection(model);
    let told = 0;
    connection.listen(() => (told += 1));
    model.dead = true;
    assert.equal(connection.gone, false);
    notice(connection, model);
    assert.equal(connection.gone, true);
    assert.ok(told > 0);
    connection.close();
  }
});

test("a kernel that is shut down is noticed at once, where the page has it", () => {
  const heard = new Set<() => void>();
  const signal = { connect: (slot: () => void) => heard.add(slot), disconnect: (slot: () => void) => heard.delete(slot) };
  const kernel = { status: "idle", statusChanged: signal, disposed: signal };
  const connection = new Connection(Object.assign(new FakeModel(aSnapshot()), { widget_manager: { kernel } }));
  const [told] = [...heard];
  told?.();
  assert.ok(!connection.gone, "it is idle");
  kernel.status = "terminating";
  told?.();
  assert.ok(connection.gone);
  connection.close();
  assert.equal(heard.size, 0);
});

test("closing tells those that wait for an answer", () => {
  const connection = new Connection(new FakeModel(aSnapshot()));
  let farewells = 0;
  connection.whenClosed(() => (farewells += 1));
  connection.whenClosed(() => (farewells += 10))();
  connection.close();
  assert.equal(farewells, 1);
});

test("closing takes every callback off the model", () => {
  const model = new FakeModel(aSnapshot());
  const connection = new Connection(model);
  assert.equal(model.listeners, 3);
  connection.close();
  assert.equal(model.listeners, 0);
});

test("a model without a snapshot yet has none", () => {
  const connection = new Connection(new FakeModel(null));
  assert.equal(connection.snapshot, null);
  assert.equal(connection.acknowledged, 0);
  connection.close();
});

test("what is being typed stays until the kernel has it", () => {
  assert.equal(shown(null, "kernel", 0), "kernel");
  assert.equal(shown({ text: "typed", number: 3 }, "kernel", 2), "typed");
  assert.equal(shown({ text: "typed", number: 3 }, "kernel", 3), "kernel");
  assert.equal(shown({ text: "typed", number: Infinity }, "kernel", 99), "typed");
});

test("the state is read as it is now, and what reads a part of it hears of that part alone", () => {
  const model = new FakeModel(aSnapshot());
  const connection = new Connection(model);
  const { snapshot } = connection;
  assert.ok(snapshot !== null);
  const heard: string[] = [];
  const ends = [
    effect(() => void heard.push(`notice ${snapshot.frame.notice}`)),
    effect(() => void heard.push(`plan ${snapshot.panes.plan?.planner}`)),
    effect(() => void heard.push(`planner ${connection.settings.planner}`)),
  ];
  heard.length = 0;
  model.publish((next) => void (next.frame.notice = "news"));
  assert.equal(connection.snapshot, snapshot);
  assert.deepEqual(heard.splice(0), ["notice news"]);
  connection.send({ kind: "set", field: "planner", value: "simple" });
  assert.deepEqual(heard.splice(0), ["planner simple"]);
  model.publish((next) => {
    next.settings.planner = "simple";
    Object.assign(next.panes.plan ?? {}, { planner: "another" });
  });
  assert.deepEqual(heard.splice(0).sort(), ["plan another", "planner simple"]);
  model.publish((next) => void (next.frame.settled = false));
  assert.deepEqual(heard, []);
  for (const end of ends) end();
  connection.close();
});

test("a part is taken as it comes, whether the contract has it or not; one that is missing is null", () => {
  const snapshot = aSnapshot((next) => Object.assign(next.panes, { demo: { value: 1 } }));
  const model = new FakeModel(snapshot);
  const connection = new Connection(model);
  const panes = connection.snapshot?.panes as unknown as Record<string, unknown>;
  assert.deepEqual(panes.demo, { value: 1 });
  assert.equal(panes.nothing, null);
  model.publish((next) => Object.assign(next.panes, { demo: { value: 2 } }));
  assert.deepEqual(panes.demo, { value: 2 });
  connection.close();
});

test("the settings show what has just been done, until the kernel has it or says otherwise", () => {
  const model = new FakeModel(aSnapshot());
  const connection = new Connection(model);
  const before = connection.settings;
  assert.equal(before, connection.snapshot?.settings);
  connection.send({ kind: "set", field: "source-layout", value: "<x, F, y>" });
  connection.send({ kind: "set", field: "planner", value: "simple" });
  assert.equal(connection.settings.source.layout, "<x, F, y>");
  assert.equal(connection.settings.planner, "simple");
  assert.equal(connection.settings, connection.settings, "the same object while nothing changes");
  model.publish((next) => void (next.settings.source.layout = "<y, F, x>"), 1);
  assert.equal(connection.settings.source.layout, "<y, F, x>", "the kernel has the first command and knows better");
  assert.equal(connection.settings.planner, "simple", "the second is still on its way");
  model.publish((next) => void (next.settings.planner = "simple"));
  assert.equal(connection.settings, connection.snapshot?.settings);
  connection.close();
});

test("a command that did not leave changes nothing", () => {
  const model = new FakeModel(aSnapshot());
  const connection = new Connection(model);
  model.dead = true;
  connection.send({ kind: "set", field: "planner", value: "simple" });
  assert.equal(connection.settings, connection.snapshot?.settings);
  connection.close();
});

const answer = (number: number, text: string): ExportMessage => ({
  kind: "export",
  what: "plan",
  number,
  name: "plan.json",
  text,
  error: "",
});

test("an export is the answer to its own command", async () => {
  const model = new FakeModel(aSnapshot());
  const connection = new Connection(model);
  const waiting = connection.exported("plan");
  const number = model.sent.at(-1)?.number ?? 0;
  model.say({ ...answer(number + 7, "of another view") });
  model.say({ ...answer(number, "{}"), what: "machine" });
  model.say({ ...answer(number, "{}") });
  assert.equal((await waiting).text, "{}");
  connection.close();
});

test("an export that does not come says why", async () => {
  const refused = new FakeModel(aSnapshot());
  const one = new Connection(refused);
  const first = one.exported("plan");
  const { client, number } = refused.sent.at(-1) ?? { client: "", number: 0 };
  refused.publish((next) => void (next.frame.refusal = { kind: "export", client, number, message: "There is no plan." }));
  assert.equal((await first).error, "There is no plan.");
  const second = one.exported("session");
  one.close();
  assert.match((await second).error, /closed/);
  const dead = new FakeModel(aSnapshot());
  dead.dead = true;
  const other = new Connection(dead);
  assert.match((await other.exported("python")).error, /gone/);
  other.close();
});
