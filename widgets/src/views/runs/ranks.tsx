// The MPI ranks of the session: what they are doing in words, and what starts and ends them.
import type { JSX } from "preact";
import { Button } from "#lib/button.tsx";
import type { RunPart } from "#model/types.ts";
import { counted } from "#model/units.ts";
import { useView } from "#model/view.ts";

/** Process numbers that are told; of more, the first ones. */
const MOST_TOLD = 8;

export function Ranks(): JSX.Element | null {
  const { connection, snapshot } = useView();
  const { place, ranks, now } = snapshot.panes.run;
  if (place !== "ranks" && ranks.phase === "none") return null;
  const bad = ranks.phase === "lost" || ranks.phase === "failed";
  const busy = now.ranks > 0 && (now.phase === "running" || now.phase === "cancelling");
  const start = ranks.phase === "none" ? "Start them now" : "Start again";
  return (
    <div class={`iv-ranks iv-ranks-${ranks.phase}`} data-testid="ranks" data-phase={ranks.phase}>
      <i class="iv-ranks-light" aria-hidden="true" />
      <p class={bad ? "iv-ranks-bad" : ""} role={bad ? "alert" : "status"} data-testid="ranks-words">
        {ranksWords(snapshot.panes.run)}
      </p>
      {ranks.phase === "running" ? (
        <Button
          label="End the ranks"
          quiet
          testid="end-ranks"
          disabled={busy || connection.gone}
          title={busy ? "A run is under way on them" : "End their processes; the next run starts new ones"}
          onClick={() => connection.send({ kind: "end-ranks" })}
        />
      ) : (
        place === "ranks" &&
        ranks.phase !== "starting" &&
        ranks.phase !== "ending" && (
          <Button
            label={start}
            quiet
            testid="start-ranks"
            disabled={busy || connection.gone}
            onClick={() => connection.send({ kind: "start-ranks" })}
          />
        )
      )}
    </div>
  );
}

/** What the ranks are doing. */
export function ranksWords({ place, places, ranks, now }: RunPart): string {
  const wanted = places.find(({ name }) => name === "ranks")?.ranks ?? 0;
  const many = counted(ranks.count, "rank");
  switch (ranks.phase) {
    case "none":
      return `The first run starts ${counted(wanted, "rank")}. They stay for the next runs.`;
    case "starting":
      return `Starting ${many}…`;
    case "running": {
      const pids = ranks.pids.slice(0, MOST_TOLD).join(", ") + (ranks.pids.length > MOST_TOLD ? ", …" : "");
      const others = place === "ranks" && wanted !== ranks.count ? ` The next run starts ${wanted} in their place.` : "";
      return `${many} ${ranks.count === 1 ? "runs" : "run"}: ${ranks.library}, ${ranks.count === 1 ? "process" : "processes"} ${pids}.${others}`;
    }
    case "ending":
      return `Ending ${many}…`;
    case "ended":
      return `${many} ${ranks.count === 1 ? "was" : "were"} ended.`;
    case "lost":
    case "failed": {
      // A run that the ranks were lost in has said why.
      const told = now.error !== "" && now.ranks > 0 && (now.error.includes(ranks.problem) || ranks.problem.includes(now.error));
      const words = told
        ? ranks.phase === "lost"
          ? "The ranks were lost in the run"
          : "The ranks did not start"
        : ranks.problem;
      return /[.!?]$/.test(words) ? words : `${words}.`;
    }
  }
}
