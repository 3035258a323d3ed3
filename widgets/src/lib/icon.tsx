// Icons, drawn here: nothing is fetched.
import type { JSX } from "preact";

const shapes = {
  down: "M3.5 6 8 10.5 12.5 6",
  up: "M3.5 10 8 5.5 12.5 10",
  back: "M11 3.5 6.5 8l4.5 4.5M4 3.5v9",
  next: "M5 3.5 9.5 8 5 12.5M12 3.5v9",
  remove: "M4 4l8 8M12 4l-8 8",
  add: "M8 3v10M3 8h10",
  run: "M5 3.2v9.6L12.8 8z",
  pause: "M5.5 4v8M10.5 4v8",
  minus: "M3 8h10",
  expand: "M9.5 3H13v3.5M13 3 9 7M6.5 13H3V9.5M3 13l4-4",
  shrink: "M13 6.5H9.5V3M9.5 6.5 13.5 2.5M3 9.5h3.5V13M6.5 9.5l-4 4",
  part: "M3 5V3h2M7 3h2M11 3h2v2M13 7v2M13 11v2h-2M9 13H7M5 13H3v-2M3 9V7",
  fit: "M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3",
  stop: "M4.5 4.5h7v7h-7z",
  good: "M3 8.5 6.5 12 13 4.5",
  bad: "M8 3.5v5.5M8 12v.5",
  notYet: "M13 8a5 5 0 1 1-1.5-3.6M13 2.5v3h-3",
  unread: "M5.6 6a2.4 2.4 0 1 1 3.4 2.2c-.7.3-1 .8-1 1.6M8 12.4v.1",
  swap: "M3 5.5h9M9.5 3 12 5.5 9.5 8M13 10.5H4M6.5 8 4 10.5 6.5 13",
  undo: "M6 3.5 3 6.5l3 3M3.5 6.5h6a3.2 3.2 0 0 1 0 6.4H7",
  redo: "M10 3.5l3 3-3 3M12.5 6.5h-6a3.2 3.2 0 0 0 0 6.4H9",
  save: "M8 2.5v7.5M4.8 7 8 10.2 11.2 7M3 13.2h10",
  pin: "M5.5 2.5h5M6.2 2.5v4L4.3 9.5h7.4L9.8 6.5v-4M8 9.5v4.5",
  more: "M3.4 8h.01M8 8h.01M12.6 8h.01",
  settings: "M2.5 5h5M11.5 5h2M2.5 11h2M8.5 11h5M9.5 3.2v3.6M6.5 9.2v3.6",
} as const;

export type IconName = keyof typeof shapes;

export function Icon({ name }: { name: IconName }): JSX.Element {
  const filled = name === "run" || name === "stop";
  return (
    <svg class="iv-icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path
        d={shapes[name]}
        fill={filled ? "currentColor" : "none"}
        stroke="currentColor"
        stroke-width={name === "more" ? 2.4 : 1.6}
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
