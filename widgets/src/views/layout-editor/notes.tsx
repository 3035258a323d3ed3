// What the layouts of both ends have in common, and padding: a legend in words below the chips.
import type { JSX } from "preact";
import type { Kept } from "#model/ends.ts";
import type { Linearization } from "#model/layouts/linearization.ts";
import { formatBytes } from "#model/units.ts";
import { Term } from "#views/controls/term.tsx";
import { paddingWords } from "./words.ts";

export function Notes({ kept, linear }: { kept: Kept | null; linear: Linearization | null }): JSX.Element {
  const padding = linear === null ? "" : paddingWords(linear);
  return (
    <ul class="iv-edit-notes">
      {kept !== null && (
        <li>
          {kept.prefix > 0 && <i class="iv-edit-key iv-edit-key-prefix" aria-hidden="true" />}
          <span>
            {kept.same ? (
              <>the same layout at both ends</>
            ) : (
              <Term name="PREFIX">{kept.shares ? "common prefix" : "no common prefix"}</Term>
            )}
            : <Term name="run">runs</Term> of {formatBytes(kept.runBytes)}
            {!Number.isInteger(kept.runBytes) && <span title="The fields have different sizes"> on average</span>}
          </span>
        </li>
      )}
      {kept !== null && !kept.same && kept.suffix > 0 && (
        <li>
          <i class="iv-edit-key iv-edit-key-suffix" aria-hidden="true" />
          <span>
            <Term name="SUFFIX">common suffix</Term>
          </span>
        </li>
      )}
      {padding !== "" && (
        <li class="iv-edit-padding">
          <span title={padding}>
            <Term name="padding" />: {padding}
          </span>
        </li>
      )}
    </ul>
  );
}
