// What the kernel sends. The kernel owns all of it; the browser shows it and asks for changes.

export interface Row {
  key: number;
  name: string;
  value: string;
}

export type Side = "source" | "destination";

export interface Settings {
  machine: string;
  machineOptions: Record<string, string>;
  dimensions: Row[];
  fields: Row[];
  source: { memory: string; layout: string };
  destination: { memory: string; layout: string };
  planner: string;
  slotLimit: string;
  memoryLimit: string;
}

export interface Problem {
  message: string;
  text: string | null;
  position: number | null;
}

export interface Choice {
  name: string;
  title: string;
  /** A line on what it is. */
  about: string;
}

export interface MachineOption {
  name: string;
  value: string;
  title: string;
  kind: "number" | "choice" | "text";
  choices: string[];
}

export interface MachineChoice extends Choice {
  options: MachineOption[];
}

export interface Choices {
  machines: MachineChoice[];
  memories: Choice[];
  dtypes: string[];
  planners: Choice[];
  examples: Choice[];
}

export interface Colour {
  light: string;
  dark: string;
}

export interface Component {
  text: string;
  dim: string;
}

export interface DigitRow {
  component: string;
  dim: string;
  extent: string;
  step: string;
  stride: string;
}

export interface End {
  components: Component[];
  pretty: string;
  size: string;
  note: string;
  /** The NumPy array with the same bytes, and the expression of an element of it. */
  numpy: string;
  digits: DigitRow[];
}

export interface Hop {
  index: number;
  channel: string;
  kind: string;
  source: string;
  destination: string;
  sourceLayout: string;
  destinationLayout: string;
  converts: boolean;
  run: string;
  shuffle: string;
  rate: string;
  bottleneck: boolean;
}

export interface Figure {
  name: string;
  value: string;
  title: string;
}

export interface Plan {
  planner: string;
  figures: Figure[];
  hops: Hop[];
  notes: string[];
}

export type Phase = "idle" | "running" | "cancelling" | "done" | "failed" | "cancelled";

export interface Run {
  number: number;
  phase: Phase;
  fraction: number;
  text: string;
  error: string;
  transfer: string;
  canRun: boolean;
  reason: string;
  offerLocal: boolean;
}

export interface Measure {
  name: string;
  title: string;
  predicted: string;
  measured: string;
  predictedShare: number;
  measuredShare: number;
  ratio: string;
}

export interface Report {
  number: number;
  transfer: string;
  verified: boolean | null;
  verdict: string;
  seconds: string;
  predictedSeconds: string;
  rows: Measure[];
  notes: string[];
}

export interface PastRun {
  number: number;
  transfer: string;
  outcome: string;
  verified: boolean | null;
  bytes: string;
  predicted: string;
  measured: string;
}

export interface Snapshot {
  revision: number;
  acknowledged: Record<string, number>;
  settled: boolean;
  step: string;
  status: string;
  notice: string;
  defect: string;
  settings: Settings;
  choices: Choices;
  problems: Record<string, Problem>;
  stale: string[];
  palette: Record<string, Colour>;
  ends: Record<Side, End | null>;
  plan: Plan | null;
  run: Run;
  report: Report | null;
  history: PastRun[];
}

export type Pictures = Record<string, string>;

export type Command = { kind: string } & Record<string, unknown>;

/** The part of an anywidget model that is used here. */
export interface Model {
  get(name: string): unknown;
  on(event: string, callback: (...values: never[]) => void): void;
  off(event: string, callback: (...values: never[]) => void): void;
  send(content: unknown): void;
}
