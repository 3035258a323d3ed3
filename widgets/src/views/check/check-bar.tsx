// The button *Check* below a pane alone, and beside it what was said of what is on screen.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { Button } from "#lib/button.tsx";
import { Icon, type IconName } from "#lib/icon.tsx";
import { useSelection } from "#model/selection.ts";
import type { ShownVerdict } from "#model/types.ts";
import { useView } from "#model/view.ts";
import { askVerdict, verdictName } from "./words.ts";

const ICONS: Readonly<Record<ShownVerdict["kind"], IconName>> = {
  right: "good",
  wrong: "notYet",
  unread: "unread",
  open: "more",
};

export function CheckBar(): JSX.Element | null {
  const { connection } = useView();
  const [selection] = useSelection();
  const asked = useSignal({ number: 0, text: "" });
  const { checked, gone } = connection;
  if (checked === null) return null;
  const checking = !gone && (checked.busy || asked.value.number > connection.acknowledged);
  const check = (): void => {
    const command = askVerdict(connection.settings, selection.entry);
    const text = JSON.stringify(command);
    if (checking && text === asked.value.text) return; // it is being judged
    asked.value = { number: connection.send(command), text };
  };
  const old = !checked.fresh || connection.isAhead;
  return (
    <div class="iv-check" data-testid="check-bar" data-checking={checking ? "true" : "false"}>
      <Button label="Check" testid="check" primary disabled={gone} onClick={check} />
      <div
        class="iv-check-said"
        role="status"
        data-testid="verdict"
        data-kind={checked.text === "" ? "none" : checked.kind}
        data-old={old ? "true" : "false"}
      >
        {checking && <p class="iv-check-busy">Checking…</p>}
        {checked.text !== "" && <Said verdict={checked} old={old} />}
      </div>
    </div>
  );
}

function Said({ verdict, old }: { verdict: ShownVerdict; old: boolean }): JSX.Element {
  const name = verdictName(verdict);
  return (
    <div class={`iv-check-verdict iv-check-${old ? "old" : verdict.kind}`}>
      <Icon name={ICONS[verdict.kind]} />
      <div>
        {old && <p class="iv-check-before">Said of what was there before:</p>}
        <p class="iv-check-text">
          {name !== "" && <b>{name}. </b>}
          {verdict.text}
        </p>
      </div>
    </div>
  );
}
