// Icons, drawn here: nothing is fetched.
import type { JSX } from "preact";

const shapes: Record<string, string> = {
  down: "M3.5 6 8 10.5 12.5 6",
  remove: "M4 4l8 8M12 4l-8 8",
  add: "M8 3v10M3 8h10",
  run: "M5 3.2v9.6L12.8 8z",
  stop: "M4.5 4.5h7v7h-7z",
  good: "M3 8.5 6.5 12 13 4.5",
  bad: "M8 3.5v5.5M8 12v.5",
  swap: "M3 5.5h9M9.5 3 12 5.5 9.5 8M13 10.5H4M6.5 8 4 10.5 6.5 13",
  undo: "M6 3.5 3 6.5l3 3M3.5 6.5h6a3.2 3.2 0 0 1 0 6.4H7",
  redo: "M10 3.5l3 3-3 3M12.5 6.5h-6a3.2 3.2 0 0 0 0 6.4H9",
  zoom: "M6.8 11.2a4.4 4.4 0 1 0 0-8.8 4.4 4.4 0 0 0 0 8.8zM10 10l3.5 3.5M4.9 6.8h3.8M6.8 4.9v3.8",
};

export function Icon({ name }: { name: keyof typeof shapes }): JSX.Element {
  const filled = name === "run" || name === "stop";
  return (
    <svg class="iv-icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path
        d={shapes[name] ?? ""}
        fill={filled ? "currentColor" : "none"}
        stroke="currentColor"
        stroke-width={1.6}
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
