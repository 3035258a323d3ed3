// A button with an icon, a label, or both.
import type { JSX } from "preact";
import { Icon } from "./icon.tsx";

interface ButtonProps {
  label: string;
  icon?: string;
  /** Show the icon only; the label is for screen readers and the tooltip. */
  iconOnly?: boolean;
  testid?: string;
  primary?: boolean;
  disabled?: boolean;
  pressed?: boolean;
  describedBy?: string;
  title?: string;
  onClick: () => void;
}

export function Button(props: ButtonProps): JSX.Element {
  return (
    <button
      type="button"
      class={`iv-button${props.primary ? " iv-primary" : ""}${props.iconOnly ? " iv-icon-button" : ""}`}
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
