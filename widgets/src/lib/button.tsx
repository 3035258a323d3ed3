// A button with an icon, a label, or both.
import type { JSX } from "preact";
import { Icon, type IconName } from "./icon.tsx";

interface ButtonProps {
  label: string;
  icon?: IconName;
  /** Show the icon only; the label is for screen readers and the tooltip. */
  iconOnly?: boolean;
  testid?: string;
  primary?: boolean;
  /** Looks like a link: an offer in a line of text. */
  quiet?: boolean;
  disabled?: boolean;
  pressed?: boolean;
  describedBy?: string;
  title?: string;
  onClick: () => void;
}

export function Button(props: ButtonProps): JSX.Element {
  const looks = [
    props.primary ? " iv-primary" : "",
    props.quiet ? " iv-quiet" : "",
    props.iconOnly ? " iv-icon-button" : "",
  ].join("");
  return (
    <button
      type="button"
      class={`iv-button${looks}`}
      data-testid={props.testid}
      // A disabled button keeps the focus and its reason readable: it is told so and does nothing.
      aria-disabled={props.disabled ? "true" : undefined}
      aria-pressed={props.pressed}
      aria-label={props.iconOnly ? props.label : undefined}
      aria-describedby={props.describedBy}
      title={props.title ?? (props.iconOnly ? props.label : undefined)}
      onClick={() => {
        if (!props.disabled) props.onClick();
      }}
    >
      {props.icon !== undefined && <Icon name={props.icon} />}
      {!props.iconOnly && <span>{props.label}</span>}
    </button>
  );
}
