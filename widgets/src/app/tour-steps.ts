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
    told: "The grid below the chips shows the new order, and the transfer was planned again.",
    at: ".iv-edit-chips",
    isDone: (now, first) => now.layouts !== first.layouts,
  },
  {
    title: "The journey",
    ask: "The plan leads from the source on the left to the destination on the right. A stop is a memory with its layout. A hop is a channel with its rate. *Select a stop or a hop.*",
    told: "Every view shows it: its layouts stand below, and the inspector has its figures.",
    at: ".iv-journey",
    isDone: ({ place }) => place.hop !== null || place.stop !== null,
  },
  {
    title: "Where it turns",
    ask: "Most hops keep the order, or only form blocks. One hop *converts*: there the data turn. Between equal layouts there is none. *Select that hop.*",
    told: "Its two stops stand below: the same entries before they turn and after.",
    at: "[data-change=converts], .iv-journey:not(:has([data-change=converts]))",
    isDone: ({ order }) => order === "converts",
  },
  {
    title: "Why there",
    ask: "The inspector says what limits a hop. Long contiguous runs are fast, and short ones are slow. Select another hop and press *Convert at this hop*.",
    told: "The journey shows both plans and the difference in time. *Back to the planner* takes the planner's plan again.",
    at: ".iv-inspector",
    isDone: ({ byHand }) => byHand,
  },
  {
    title: "Run and measure",
    ask: "*Run and measure* moves real bytes along this plan and compares every one of them. Memories that this computer lacks can be emulated: the line above says so.",
    told: "Measured figures stand beside the planned ones, here and at every hop. Emulated ones say nothing about the hardware.",
    at: "[data-testid=run], .iv-reason",
    isDone: ({ measured }) => measured,
  },
  {
    title: "Compare and choose",
    ask: "*Pin this plan*, at the right of the journey. Then change a layout: both plans stay in sight. The tab *Find a layout* ranks layouts by the time of all their uses.",
    told: "Each later plan is compared with the pinned one. That was the tour; the menu at the right of the bar begins it again.",
    at: "[data-testid=pin-plan], [data-testid=tab-find-layout]",
    isDone: ({ pinned }) => pinned,
  },
];
