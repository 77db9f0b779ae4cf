// Wait of the caller: from their last voiced audio to the agent's first, by the levels of both. Pure.

const FLOOR_RISE_DB_PER_S = 4;
const LOWEST_FLOOR_DB = -64;
const ABOVE_FLOOR_DB = 12;

/** Voice detector of one side: voiced is what exceeds the noise of the last seconds. */
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

/** Measures the wait in the page: the caller's last voiced audio to the agent's first, in seconds of one clock. */
export class Ears {
  #caller = new Side();
  #agent = new Side();
  #fromS = null;
  #awaiting = false;
  waitMs = null;

  /** Add a level of the caller's audio, 0 to 1 (root mean square). */
  caller(level, atS) {
    this.#caller.hear(level, atS);
  }

  /** Add a level of the agent's audio. */
  agent(level, atS) {
    if (this.#agent.hear(level, atS) && this.#awaiting) {
      this.#awaiting = false;
      if (this.#fromS !== null) this.waitMs = 1000 * (atS - this.#fromS);
    }
  }

  /** Start a response: measure the wait for its first audio. bySpeech: it answers speech, not a typed message. */
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
