// Levels of a call at several resolutions, so that drawing any part costs a few values per column. Pure.

/** Seconds per peak, and its bytes: one for the caller, one for the agent. */
export const PEAK_S = 0.02;
const SIDES = 2;
/** Number of peaks that make one of the next level. */
const STEP = 8;

export class Waveform {
  #levels = [new Uint8Array(0)];
  #peaks = 0;

  /** Number of bytes so far: the offset of the next request. */
  get bytes() {
    return this.#peaks * SIDES;
  }

  get seconds() {
    return this.#peaks * PEAK_S;
  }

  /** Append data of `GET /v1/calls/{id}/peaks`. Half a peak at the end is left out. */
  append(bytes) {
    const whole = Math.floor(bytes.length / SIDES);
    const first = this.#peaks;
    this.#put(0, first, bytes.subarray(0, whole * SIDES));
    this.#peaks += whole;
    for (let level = 1, since = first; whole > 0; level += 1) {
      const below = this.#levels[level - 1];
      const length = this.#length(level - 1);
      since = Math.floor(since / STEP);
      const made = new Uint8Array((Math.ceil(length / STEP) - since) * SIDES);
      for (let index = since * STEP; index < length; index += 1) {
        for (let side = 0; side < SIDES; side += 1) {
          const at = (Math.floor(index / STEP) - since) * SIDES + side;
          made[at] = Math.max(made[at], below[index * SIDES + side]);
        }
      }
      this.#put(level, since, made);
      if (this.#length(level) <= STEP) break;
    }
  }

  /** Maximum level, 0 to 1, of one side in each of `columns` equal parts from `since` to `until` (seconds). */
  columns(side, since, until, columns) {
    const perColumn = (until - since) / PEAK_S / columns;
    let level = 0;
    while (level + 1 < this.#levels.length && STEP ** (level + 1) <= perColumn) level += 1;
    const peaks = this.#levels[level];
    const length = this.#length(level);
    const size = STEP ** level;
    const found = new Float32Array(columns);
    for (let column = 0; column < columns; column += 1) {
      const from = since / PEAK_S + column * perColumn;
      const first = Math.max(0, Math.floor(from / size));
      const last = Math.min(length, Math.max(first + 1, Math.ceil((from + perColumn) / size)));
      let loudest = 0;
      for (let index = first; index < last; index += 1) loudest = Math.max(loudest, peaks[index * SIDES + side]);
      found[column] = loudest / 255;
    }
    return found;
  }

  #length(level) {
    return Math.ceil(this.#peaks / STEP ** level);
  }

  /** Write peaks into a level; doubles its capacity if necessary. */
  #put(level, first, peaks) {
    const needed = first * SIDES + peaks.length;
    let into = this.#levels[level] ?? new Uint8Array(0);
    if (into.length < needed) {
      const longer = new Uint8Array(Math.max(needed, 2 * into.length));
      longer.set(into);
      this.#levels[level] = into = longer;
    }
    into.set(peaks, first * SIDES);
  }
}
