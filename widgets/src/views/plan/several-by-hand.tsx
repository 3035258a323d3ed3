// Several paths by hand: the share of each by a slider, its proxies as text; paths can be added and removed.
import type { JSX } from "preact";
import { Button } from "#lib/button.tsx";
import { ProblemLine } from "#lib/error-line.tsx";
import { stays } from "#model/fixed.ts";
import { trackColour } from "#model/tracks.ts";
import type { ShownByHand, ShownPathShare } from "#model/types.ts";
import { counted, formatSeconds, formatShare } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { TextControl } from "#views/controls/text-control.tsx";
import { useHand } from "./use-hand.ts";

/** Steps of the slider of a share. */
const STEPS = 1000;

export function SeveralByHand({ hand }: { hand: ShownByHand }): JSX.Element {
  const { connection, snapshot } = useView();
  const send = useHand();
  const { source, destination } = connection.settings;
  const total = hand.paths.reduce((sum, { share }) => sum + share, 0) || 1;
  const { plan } = snapshot.panes;
  const change = (place: number, next: Partial<ShownPathShare>): ShownByHand => ({
    ...hand,
    paths: hand.paths.map((path, each) => (each === place ? { ...path, ...next } : path)),
  });
  const problem = snapshot.faults.problems["by-hand-path"];
  const given = stays(snapshot, "path");
  return (
    <section class="iv-why-part iv-hand" data-testid="by-hand-paths" aria-label="Paths by hand">
      <h3>{counted(hand.paths.length, "path")} by hand</h3>
      <p class="iv-faint" data-testid="by-hand-paths-time">
        {plan !== null && problem === undefined && `Together they take ${formatSeconds(plan.seconds)}.`}
      </p>
      {hand.paths.map((path, place) => (
        <fieldset class="iv-hand-share" key={place} data-testid={`by-hand-path-${place}`}>
          <legend>
            <i class="iv-track-key" style={{ background: `var(${trackColour(place)})` }} /> Path {place}
          </legend>
          <input
            type="range"
            min={0}
            max={STEPS}
            value={Math.round((STEPS * path.share) / total)}
            data-testid={`by-hand-share-${place}`}
            aria-label={`Share of path ${place}`}
            aria-valuetext={formatShare(path.share / total)}
            onInput={(event) =>
              send(`share ${place}`, { ...hand, paths: withShare(hand.paths, place, Number(event.currentTarget.value) / STEPS) })
            }
          />
          <span class="iv-hand-percent">{formatShare(path.share / total)}</span>
          {!given && (
            <Button
              label={`Remove path ${place}`}
              icon="remove"
              iconOnly
              testid={`by-hand-remove-${place}`}
              disabled={hand.paths.length === 1}
              onClick={() => send("", { ...hand, paths: hand.paths.filter((_, each) => each !== place) })}
            />
          )}
          {!given && (
            <TextControl
              name={`by-hand-proxies-${place}`}
              label="through"
              code
              whenDone
              value={proxiesOf(path).join(", ")}
              placeholder="nothing: direct"
              problem={undefined}
              command={(value) => ({
                kind: "by-hand",
                part: `proxies ${place}`,
                byHand: change(place, through(path, source.memory, namesIn(value), destination.memory, source.layout)),
              })}
            />
          )}
        </fieldset>
      ))}
      <div class="iv-mc-row">
        {!given && (
          <Button
            label="Add a path"
            icon="add"
            testid="by-hand-add-path"
            onClick={() =>
              send("", {
                ...hand,
                paths: [
                  ...hand.paths,
                  { share: total / hand.paths.length, path: [source.memory, destination.memory], layouts: [], chunk: "" },
                ],
              })
            }
          />
        )}
        <Button
          label="Equal shares"
          testid="by-hand-equal"
          onClick={() => send("", { ...hand, paths: hand.paths.map((path) => ({ ...path, share: 1 })) })}
        />
      </div>
      <ProblemLine name="by-hand-path" problem={problem} />
      <ProblemLine name="by-hand-chunk" problem={snapshot.faults.problems["by-hand-chunk"]} />
    </section>
  );
}

/** The paths with another share of one, from 0 to 1; the others keep their proportions. */
export function withShare(paths: readonly ShownPathShare[], place: number, share: number): ShownPathShare[] {
  const rest = paths.reduce((sum, path, each) => (each === place ? sum : sum + path.share), 0);
  if (paths.length === 1) return [{ ...paths[0]!, share: 1 }];
  return paths.map((path, each) => {
    if (each === place) return { ...path, share };
    return { ...path, share: (1 - share) * (rest > 0 ? path.share / rest : 1 / (paths.length - 1)) };
  });
}

/** The memories between the ends of a path: `path` has its memories, or channels such as "a->b torus/pami". */
export function proxiesOf({ path }: Pick<ShownPathShare, "path">): string[] {
  if (!path.some((name) => name.includes("->"))) return path.slice(1, -1);
  return path.slice(0, -1).map((channel) => /->(\S+)/.exec(channel)?.[1] ?? channel);
}

export const namesIn = (text: string): string[] => text.split(/[\s,]+/).filter((name) => name !== "");

/** A path through other memories, whose buffers have the layout of its first one, else that of the source. */
export function through(
  path: ShownPathShare,
  source: string,
  proxies: readonly string[],
  destination: string,
  layout: string,
): Partial<ShownPathShare> {
  const { chunk } = path;
  return {
    path: [source, ...proxies, destination],
    layouts: proxies.map((_, place) => path.layouts[place] ?? path.layouts[0] ?? layout),
    chunk: proxies.length > 0 ? chunk : "",
  };
}
