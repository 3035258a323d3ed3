// The transfers of the session: as chips in the head of the journey, and as a list with all that tells them apart in the drawer.
import type { JSX } from "preact";
import { Button } from "#lib/button.tsx";
import { useSeen } from "#lib/error-line.tsx";
import type { ShownSettings, ShownTransfer } from "#model/types.ts";
import { formatSeconds } from "#model/units.ts";
import { useView } from "#model/view.ts";
import { titleOf } from "#model/words.ts";
import { Term } from "#views/controls/term.tsx";
import { TextControl } from "#views/controls/text-control.tsx";

/** Transfers of a session; isoviz/widgets/chosen/transfers.py has the same. */
export const MOST = 16;

/** All transfers in their order, the one that is edited among them. */
export function everyTransfer(settings: ShownSettings): ShownTransfer[] {
  const place = Math.min(settings.place, settings.beside.length);
  return [...settings.beside.slice(0, place), settings, ...settings.beside.slice(place)];
}

/** The transfer in words, with its part. */
function transferWords(transfer: ShownTransfer): string {
  return `${titleOf(transfer)}, ${transfer.source.memory} to ${transfer.destination.memory}`;
}

/** A chip for each transfer where there are several; chosen, it is edited. */
export function TransferChips(): JSX.Element | null {
  const { connection } = useView();
  const { settings } = connection;
  const all = everyTransfer(settings);
  if (all.length === 1) return null; // the menu adds another one
  return (
    <div class="iv-transfers" role="group" aria-label="Transfers that run together" data-testid="transfers">
      {all.map((transfer) => (
        <button
          key={transfer.key}
          type="button"
          class="iv-transfer-chip"
          aria-pressed={transfer.key === settings.key}
          title={transferWords(transfer)}
          data-testid={`transfer-${transfer.key}`}
          onClick={() => transfer.key !== settings.key && connection.send({ kind: "edit-transfer", transfer: transfer.key })}
        >
          {transfer.name}
        </button>
      ))}
      {!connection.offline && (
        <Button
          label="Add another transfer"
          icon="add"
          iconOnly
          testid="add-transfer"
          disabled={all.length >= MOST}
          title="Keep this transfer and go on with a copy: all of them run together"
          onClick={() => connection.send({ kind: "add-transfer" })}
        />
      )}
    </div>
  );
}

export function TransferControls(): JSX.Element {
  const { connection, snapshot } = useView();
  const { settings } = connection;
  const all = everyTransfer(settings);
  const plans = snapshot.panes.transfers?.plans ?? [];
  return (
    <fieldset class="iv-array-group" data-testid="transfer-list">
      <legend>
        <Term name="transfer">Transfers</Term>
      </legend>
      <div class="iv-transfer-head" aria-hidden="true">
        <span>name</span>
        <span>priority</span>
        <span>begin (s)</span>
      </div>
      {all.map((transfer) => (
        <Row
          key={transfer.key}
          transfer={transfer}
          edited={transfer.key === settings.key}
          only={all.length === 1}
          told={plans.find((plan) => plan.key === transfer.key)}
        />
      ))}
      <div class="iv-array-foot">
        <Button
          label="Add another transfer"
          icon="add"
          testid="add-transfer-below"
          disabled={all.length >= MOST}
          onClick={() => connection.send({ kind: "add-transfer" })}
        />
        <p class="iv-faint">A copy is edited from then on. All transfers run together.</p>
      </div>
    </fieldset>
  );
}

interface RowProps {
  transfer: ShownTransfer;
  edited: boolean;
  only: boolean;
  told: { seconds: number | null; problem: string } | undefined;
}

function Row({ transfer, edited, only, told }: RowProps): JSX.Element {
  const { connection, snapshot } = useView();
  const note = `${connection.client}-transfer-${transfer.key}`;
  const { problems } = snapshot.faults;
  const [priority, begin] = edited ? [problems["transfer-priority"], problems["transfer-begin"]] : [undefined, undefined];
  const problem = (priority ?? begin)?.message ?? told?.problem ?? "";
  const seen = useSeen<HTMLSpanElement>();
  const about = problem !== "" ? problem : told?.seconds == null ? "" : `${formatSeconds(told.seconds)} alone`;
  return (
    <div
      class={`iv-transfer-row${edited ? " iv-edited" : ""}`}
      role="group"
      aria-label={transfer.name}
      data-testid={`transfer-row-${transfer.key}`}
    >
      <TextControl
        name={`transfer-name-${transfer.key}`}
        label={`Name of ${transfer.name}`}
        hideLabel
        value={transfer.name}
        problem={undefined}
        command={(value) => ({ kind: "set", field: "transfer-name", transfer: transfer.key, value })}
      />
      <TextControl
        name={`transfer-priority-${transfer.key}`}
        label={`Priority of ${transfer.name}`}
        hideLabel
        code
        numeric
        value={transfer.priority}
        problem={priority}
        problemId={note}
        command={(value) => ({ kind: "set", field: "transfer-priority", transfer: transfer.key, value })}
      />
      <TextControl
        name={`transfer-begin-${transfer.key}`}
        label={`Begin of ${transfer.name}, in seconds`}
        hideLabel
        code
        numeric
        value={transfer.begin}
        problem={begin}
        problemId={note}
        command={(value) => ({ kind: "set", field: "transfer-begin", transfer: transfer.key, value })}
      />
      <span class="iv-transfer-acts">
        <Button
          label={`Copy ${transfer.name}`}
          icon="add"
          iconOnly
          testid={`copy-transfer-${transfer.key}`}
          onClick={() => connection.send({ kind: "copy-transfer", transfer: transfer.key })}
        />
        <Button
          label={`Remove ${transfer.name}`}
          icon="remove"
          iconOnly
          disabled={only}
          testid={`remove-transfer-${transfer.key}`}
          onClick={() => connection.send({ kind: "remove-transfer", transfer: transfer.key })}
        />
      </span>
      <p class="iv-transfer-about">
        {edited ? (
          <span class="iv-tag iv-tag-turn">edited</span>
        ) : (
          <Button
            label="Edit"
            quiet
            testid={`edit-transfer-${transfer.key}`}
            onClick={() => connection.send({ kind: "edit-transfer", transfer: transfer.key })}
          />
        )}
        <span
          ref={seen}
          class={problem === "" ? "iv-faint" : "iv-array-problem"}
          id={note}
          data-testid={`error-transfer-${transfer.key}`}
          role={problem === "" ? undefined : "alert"}
        >
          {about}
        </span>
      </p>
    </div>
  );
}
