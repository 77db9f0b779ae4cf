// When the caller fell silent and when the agent was first heard, from the levels of both. Pure.

const FLOOR_RISE_DB_PER_S = 4;
const LOWEST_FLOOR_DB = -64;
const ABOVE_FLOOR_DB = 12;

/** Hears one side: voiced is what stands out of the noise of the last seconds. */
class Side {
  #floorDb = Infinity;
  #lastS = null;
  voicedAtS = null;

  hear(level, atS) {
    const db = decibels(level);
    const passedS = this.#lastS === null ? 0 : atS - this.#lastS;
    this.#lastS = atS;
    this.#floorDb = Math.max(LOWEST_FLOOR_DB, Math.min(db, this.#floorDb + FLOOR_RISE_DB_PER_S * passedS));
    const voiced = db > this.#floorDb + ABOVE_FLOOR_DB;
    if (voiced) this.voicedAtS = atS;
    return voiced;
  }
}

/** Measures the wait in the page itself: the caller's last sound to the agent's first, in one clock's seconds. */
export class Ears {
  #caller = new Side();
  #agent = new Side();
  #fromS = null;
  #awaiting = false;
  waitMs = null;

  /** The level of the caller's sound, 0 to 1 (root mean square). */
  caller(level, atS) {
    this.#caller.hear(level, atS);
  }

  /** The level of the agent's sound. */
  agent(level, atS) {
    if (this.#agent.hear(level, atS) && this.#awaiting) {
      this.#awaiting = false;
      if (this.#fromS !== null) this.waitMs = 1000 * (atS - this.#fromS);
    }
  }

  /** A reply begins: its first sound is awaited. bySpeech: it answers what was spoken, not typed. */
  replyBegins(bySpeech) {
    this.waitMs = null;
    this.#awaiting = true;
    this.#fromS = bySpeech ? this.#caller.voicedAtS : null;
  }
}

/** Decibels below full scale. */
export function decibels(level) {
  return 20 * Math.log10(Math.max(level, 1e-6));
}
