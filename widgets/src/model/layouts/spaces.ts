// What an instance holds, independent of its order: named dimensions with sizes, and fields with sizes in bytes.

export interface Dimension {
  readonly name: string;
  readonly size: number;
}

/** A field; its size is the number of bytes of one element. */
export interface Field {
  readonly name: string;
  readonly size: number;
}

/** The largest number of dimensions that the explorer shows; the kernel refuses more of them as well. */
export const MOST_DIMENSIONS = 16;
