// The six steps of the tour: what each asks for, what it outlines, and how it notices that it was done.
import { measuredOf } from "#model/measured.ts";
import { pinsOf } from "#model/pins.ts";
import type { ShownSelection } from "#model/types.ts";
import type { View } from "#model/view.ts";
import { hopsOf } from "#model/words.ts";

/** What the steps look at. */
export interface Now {
  readonly layouts: string;
  readonly place: Pick<ShownSelection, "hop" | "stop">;
  readonly order: string;
  readonly byHand: boolean;
  readonly measured: boolean;
  readonly pinned: boolean;
}

export interface Step {
  readonly title: string;
  /** What to do; names of controls stand between asterisks. */
  readonly ask: string;
  /** What is seen once it was done. */
  readonly told: string;
  /** The controls that are outlined, as a selector. */
  readonly at: string;
  /** Whether it was done; `first` is what there was when the step began. */
  readonly isDone: (now: Now, first: Now) => boolean;
}

export function nowOf({ connection, snapshot }: View, place: Now["place"]): Now {
  const { source, destination } = connection.settings;
  const { plan } = snapshot.panes;
  return {
    layouts: `${source.layout} ${destination.layout}`,
    place,
    order: plan === null || place.hop === null ? "" : (hopsOf(plan)[place.hop]?.hop.order ?? ""),
    byHand: plan?.planner === "by hand",
    measured: measuredOf(snapshot) !== null,
    pinned: pinsOf(connection).plan.value !== null,
  };
}

export const steps: readonly Step[] = [
  {
    title: "One array, two orders",
    ask: "Source and destination hold the same array, each in an order of its own. The chip on the left is the fastest: its neighbours lie next to each other in memory. *Drag a chip* to another place, or move it with ← and →.",
    told: "The picture below the chips is memory, byte after byte: it shows the new order. The transfer was planned again.",
    at: ".iv-edit-chips",
    isDone: (now, first) => now.layouts !== first.layouts,
  },
  {
    title: "The journey",
    ask: "The plan leads from the source on the left to the destination on the right. The picture of a stop shows what lies in its memory, byte after byte. A hop is a channel with its rate. *Select a stop or a hop.*",
    told: "Every view shows it: its layouts stand below, and the inspector beside them has its figures.",
    at: ".iv-journey",
    isDone: ({ place }) => place.hop !== null || place.stop !== null,
  },
  {
    title: "Where it turns",
    ask: "Most hops keep the order, or only form blocks. One hop *converts*: there the pictures turn. The sentence above names it. Between equal layouts there is none. *Select that hop.*",
    told: "Its two stops stand below, each with one block: before it turns, and after. Pressed once more, the hop fills the screen.",
    at: "[data-change=converts], .iv-journey:not(:has([data-change=converts]))",
    isDone: ({ order }) => order === "converts",
  },
  {
    title: "Why there",
    ask: "The inspector says what limits a hop. Long contiguous runs are fast, and short ones are slow. Select another hop and press *Convert at this hop*.",
    told: "The journey shows both plans and the difference in time. The button beside the planner's plan takes that one again.",
    at: ".iv-inspector, .iv-main:not(.iv-with-inspector) > .iv-journey",
    isDone: ({ byHand }) => byHand,
  },
  {
    title: "Run and measure",
    ask: "*Run and measure* moves real bytes along this plan and compares every one of them. Where this computer lacks a memory, the button says so when it is pressed, and offers to emulate it.",
    told: "Measured figures stand beside the planned ones, in the sentence above and at every hop. Emulated ones say nothing about the hardware.",
    at: "[data-testid=run]",
    isDone: ({ measured }) => measured,
  },
  {
    title: "Compare and choose",
    ask: "*Compare*, at the right of the journey, keeps this plan in sight. Then change a layout: the later plan stands beside it. The tab *Find a layout* ranks layouts by the time of all their uses.",
    told: "Each later plan is compared with this one. That was the tour; the menu at the right of the bar begins it again.",
    at: "[data-testid=compare], [data-testid=tab-find-layout]",
    isDone: ({ pinned }) => pinned,
  },
];
