// The planner's plan that a plan by hand was begun from: it stands beside it for as long as nothing else is changed.
import type { Connection } from "./connection.ts";
import type { PlanPart, ShownSettings } from "./types.ts";

const kept = new WeakMap<Connection, { readonly plan: PlanPart; readonly settings: string }>();

const othersOf = (settings: ShownSettings): string => JSON.stringify({ ...settings, byHand: null });

/** Keeps the plan that is shown, where it is the planner's own. */
export function keepPlan(connection: Connection, plan: PlanPart | null): void {
  if (plan !== null && connection.settings.byHand === null)
    kept.set(connection, { plan, settings: othersOf(connection.settings) });
}

/** The planner's plan for the same settings; null where a planner plans, or where it is not known. */
export function planBeforeHand(connection: Connection): PlanPart | null {
  const found = kept.get(connection);
  if (found === undefined || connection.settings.byHand === null) return null;
  return found.settings === othersOf(connection.settings) ? found.plan : null;
}
