// What a command makes of the settings, as the kernel will say too (isoviz/widgets/commands/explorer_commands.py). Commands that need
// the kernel to know what they lead to (examples, undo, new rows) leave the settings as they are until its answer.
import { withName } from "./by-name.ts";
import type { Command, SetMachineOption, SetRow, SetText, SetTransfer, ShownRow, ShownSettings, ShownTransfer } from "./types.ts";
import { textSettings } from "./types.ts";

/** The two ends of a transfer. */
export type Side = "source" | "destination";

/** The preset that describes this computer. */
const LOCAL = "local";

/** The settings after a command. */
export function applied(settings: ShownSettings, command: Command): ShownSettings {
  switch (command.kind) {
    case "set":
      return entered(settings, command);
    case "by-hand":
      return { ...settings, byHand: command.byHand };
    case "find-layout":
      return { ...settings, layoutQuestion: command.question };
    case "take-layout":
      return { ...withEnd(settings, command.question.side, { layout: command.layout }), layoutQuestion: command.question };
    case "swap":
      return { ...settings, source: settings.destination, destination: settings.source };
    case "part":
      return { ...settings, part: command.part };
    default:
      return settings;
  }
}

function entered(settings: ShownSettings, command: SetText | SetRow | SetMachineOption | SetTransfer): ShownSettings {
  const { value } = command;
  switch (command.field) {
    case "machine":
      return {
        ...settings,
        runsIn: "",
        machine: { kind: value === LOCAL ? "measured" : "preset", name: value, options: [], path: "" },
      };
    case "machine-option":
      return { ...settings, machine: { ...settings.machine, options: withName(settings.machine.options, command.name, value) } };
    case "source-memory":
    case "destination-memory":
      return withEnd(settings, sideOf(command.field), { memory: value });
    case "source-layout":
    case "destination-layout":
      return withEnd(settings, sideOf(command.field), { layout: value });
    case "dimension-size":
      return { ...settings, dimensions: withRow(settings.dimensions, command.row, { value }) };
    case "field-dtype":
      return { ...settings, fields: withRow(settings.fields, command.row, { value }) };
    case "field-name":
      return { ...settings, fields: withRow(settings.fields, command.row, { name: value }) };
    case "dimension-name":
      return renamed(settings, command.row, value);
    case "transfer-name":
      return withTransfer(settings, command.transfer, { name: value });
    case "transfer-priority":
      return withTransfer(settings, command.transfer, { priority: value });
    case "transfer-begin":
      return withTransfer(settings, command.transfer, { begin: value });
    default:
      return { ...settings, [textSettings[command.field]]: value };
  }
}

function withTransfer(settings: ShownSettings, key: number, change: Partial<ShownTransfer>): ShownSettings {
  if (settings.key === key) return { ...settings, ...change };
  return { ...settings, beside: settings.beside.map((each) => (each.key === key ? { ...each, ...change } : each)) };
}

function sideOf(field: `${Side}-${string}`): Side {
  return field.startsWith("source") ? "source" : "destination";
}

function withEnd(settings: ShownSettings, side: Side, change: Partial<ShownSettings["source"]>): ShownSettings {
  return { ...settings, [side]: { ...settings[side], ...change } };
}

function withRow(rows: readonly ShownRow[], key: number, change: Partial<ShownRow>): ShownRow[] {
  return rows.map((row) => (row.key === key ? { ...row, ...change } : row));
}

/**
 * The settings with a dimension renamed, in the layouts too; a name that cannot be is not spread into them.
 *
 * While a dimension has a name that cannot be, layouts go on with an earlier one, which only the kernel knows: then they wait for it.
 */
function renamed(settings: ShownSettings, key: number, name: string): ShownSettings {
  const before = settings.dimensions.find((row) => row.key === key)?.name;
  const changed = { ...settings, dimensions: withRow(settings.dimensions, key, { name }) };
  const good = (rows: readonly ShownRow[]): boolean =>
    rows.every((row) => canBeDimension(row.name)) && new Set(rows.map((row) => row.name)).size === rows.length;
  if (before === undefined || !good(settings.dimensions) || !good(changed.dimensions)) return changed;
  const layout = (text: string): string => renamedLayout(text, before, name);
  return {
    ...changed,
    source: { ...settings.source, layout: layout(settings.source.layout) },
    destination: { ...settings.destination, layout: layout(settings.destination.layout) },
  };
}

const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;
const DIGIT = /_(in|out|\d+)$/;

/** Whether a dimension may have that name: F is the field space, and x_in reads as a digit of x. */
function canBeDimension(name: string): boolean {
  return NAME.test(name) && name !== "F" && !DIGIT.test(name);
}

/** A layout with a dimension renamed, the rest as it was typed: `<x_in=4, F, x_out>` → `<row_in=4, F, row_out>`. */
export function renamedLayout(text: string, old: string, name: string): string {
  return text.replace(/[\p{L}_][\p{L}\p{N}_]*/gu, (word) =>
    word === old || word.replace(DIGIT, "") === old ? name + word.slice(old.length) : word,
  );
}
