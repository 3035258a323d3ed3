// What a notebook keeps of the script: it brings the parts once for a page, and waits for a kernel as long as it takes.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import loader from "../src/loader.ts";
import { FakeModel } from "./model.ts";

const PARTS: Record<string, string> = {
  "core.js": 'export const drawn=[];export const who="the core"',
  "explorer.css": ".of-the-tests{letter-spacing:3px}",
  "explorer.js": [
    'import{drawn,who}from"./core.js";',
    'export default{render({el}){el.innerHTML="<b class=of-the-tests>drawn by "+who+"</b>";drawn.push(el);return()=>el.remove()}};',
    'globalThis.laterOfTests=()=>import("./later.js");',
  ].join(""),
  "later.js": 'import{drawn}from"./core.js";export const views=drawn.length',
};

interface Request {
  kind: string;
  hash: string;
  names: string[];
}

const requests = (model: FakeModel): Request[] => model.sent as unknown as Request[];

let closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing) close();
  closing = [];
});

function view(): { model: FakeModel; el: HTMLElement } {
  const model = new FakeModel(null);
  const el = document.createElement("div");
  document.body.append(el);
  closing.push(loader.initialize({ model }), loader.render({ model, el }));
  return { model, el };
}

/** What a kernel says that has these parts. */
function answer(model: FakeModel, names: readonly string[], hash = "of tests"): void {
  const buffers = names.map((name) => new DataView(new TextEncoder().encode(PARTS[name] ?? "").buffer));
  model.say({ kind: "parts", hash, names: [...names] }, buffers);
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

test("the views of a page share one request, say what they wait for, and are drawn from one script", async () => {
  const [first, second] = [view(), view()];
  const picture = document.createElement("p");
  picture.dataset.isovizStatic = "0a";
  document.body.append(picture);
  const wanted = ["core.js", "explorer.js", "explorer.css"];
  await until(() => requests(first.model).length > 0);
  assert.deepEqual(requests(first.model), [{ kind: "parts", hash: "of tests", names: wanted }]);
  assert.equal(requests(second.model).length, 0, "one asks for all");
  await until(() => requests(second.model).length > 0); // the kernel of the first view does not answer
  assert.deepEqual(requests(second.model)[0]?.names, wanted);
  await until(() => second.el.textContent !== "");
  assert.match(second.el.textContent ?? "", /comes alive once its kernel answers\. The picture above shows its last state/);
  answer(first.model, wanted, "of another version");
  answer(first.model, ["explorer.css"]);
  answer(second.model, wanted);
  await until(() => first.el.textContent === "drawn by the core" && second.el.textContent === "drawn by the core");
  const styled = first.el.querySelector(".of-the-tests");
  assert.ok(styled !== null);
  assert.equal(getComputedStyle(styled).letterSpacing, "3px");
  assert.equal(document.querySelectorAll("style[data-isoviz-style]").length, 1);
  picture.remove();
});

test("a part that is needed later comes by a request of its own, and shares the core with the views", async () => {
  const { model, el } = view();
  await until(() => el.textContent === "drawn by the core"); // from the page: nobody is asked
  assert.equal(
    requests(model).some(({ names }) => names.includes("core.js")),
    false,
  );
  const { laterOfTests } = globalThis as unknown as { laterOfTests: () => Promise<{ views: number }> };
  const coming = laterOfTests();
  await until(() => requests(model).some(({ names }) => names.includes("later.js")));
  answer(model, ["later.js"]);
  assert.equal((await coming).views, 3);
});

test("the tab keeps the parts for when the page is loaded again", async () => {
  await until(() => sessionStorage.getItem("isoviz of tests later.js") !== null);
  for (const [name, text] of Object.entries(PARTS)) assert.equal(sessionStorage.getItem(`isoviz of tests ${name}`), text);
});
