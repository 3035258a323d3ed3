import assert from "node:assert/strict";
import { test } from "node:test";
import { Connection, shown } from "../src/connection.ts";
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
  for (const notice of [(connection: Connection) => void connection.send({ kind: "run" }), (_: Connection, model: FakeModel) => model.disconnect()]) {
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
