// Whether a view has no kernel behind it: what needs one is not offered there.
import type { Connection } from "../connection.ts";

export function isOffline(connection: Connection): boolean {
  return "offline" in connection && connection.offline === true;
}
