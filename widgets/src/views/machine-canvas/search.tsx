// Finds memories and channels by what is typed, and brings them to the middle of the drawing.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useId } from "#lib/use-id.ts";
import type { CanvasPart } from "#model/types.ts";
import { type Chosen, useEditing } from "./edits.ts";

const MOST = 8;

interface Found {
  readonly chosen: Chosen;
  readonly title: string;
  readonly about: string;
}

/** Memories, then channels, whose name or kind has all of the words; those whose name begins with the text come first. */
export function found(part: CanvasPart, text: string): Found[] {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return [];
  const memoryWords = new Map(part.memoryKinds.map(({ name, words: said }) => [name, said]));
  const channelWords = new Map(part.channelKinds.map(({ name, words: said }) => [name, said]));
  const fits = (...texts: string[]): boolean => {
    const all = texts.join(" ").toLowerCase();
    return words.every((word) => all.includes(word));
  };
  const memories = part.memories.flatMap(({ name, kind, label }, place): Found[] =>
    fits(name, memoryWords.get(kind) ?? kind, label)
      ? [{ chosen: { kind: "memory", name, place }, title: name, about: memoryWords.get(kind) ?? kind }]
      : [],
  );
  const channels = part.channels.flatMap(({ name, kind }, place): Found[] =>
    fits(name, channelWords.get(kind) ?? kind)
      ? [{ chosen: { kind: "channel", name, place }, title: name, about: channelWords.get(kind) ?? kind }]
      : [],
  );
  const front = (each: Found): number => (each.title.toLowerCase().startsWith(words[0] ?? "") ? 0 : 1);
  return [...[...memories].sort((a, b) => front(a) - front(b)), ...channels];
}

export function Search({ go }: { go: (chosen: Chosen) => void }): JSX.Element {
  const { part } = useEditing();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const all = found(part, text);
  const shown = all.slice(0, MOST);
  const current = Math.min(at, Math.max(0, shown.length - 1));
  const take = (each: Found | undefined): void => {
    if (each === undefined) return;
    setText("");
    go(each.chosen);
  };
  return (
    <div class="iv-mc-search">
      <input
        class="iv-input"
        type="text"
        role="combobox"
        aria-label="Find a memory or a channel"
        aria-expanded={shown.length > 0}
        aria-controls={`${id}-found`}
        aria-autocomplete="list"
        aria-activedescendant={shown.length > 0 ? `${id}-${current}` : undefined}
        placeholder="Find a memory or a channel"
        autocomplete="off"
        spellcheck={false}
        data-testid="machine-search"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onBlur={() => setText("")}
        onKeyDown={(event) => {
          event.stopPropagation();
          if (event.key === "ArrowDown") setAt(Math.min(current + 1, shown.length - 1));
          else if (event.key === "ArrowUp") setAt(Math.max(0, current - 1));
          else if (event.key === "Enter") take(shown[current]);
          else if (event.key === "Escape") setText("");
          else return;
          event.preventDefault();
        }}
      />
      <ul class="iv-mc-found" id={`${id}-found`} role="listbox" aria-label="Found" hidden={shown.length === 0}>
        {shown.map((each, place) => (
          <li
            key={`${each.chosen.kind} ${each.title}`}
            id={`${id}-${place}`}
            role="option"
            aria-selected={place === current}
            onPointerDown={(event) => {
              event.preventDefault();
              take(each);
            }}
          >
            {each.title} <span class="iv-faint">{each.about}</span>
            {place === MOST - 1 && all.length > MOST && <span class="iv-faint"> · and {all.length - MOST} more</span>}
          </li>
        ))}
      </ul>
      {text.trim() !== "" && shown.length === 0 && (
        <p class="iv-mc-found iv-faint" role="status">
          Nothing of this name.
        </p>
      )}
    </div>
  );
}
