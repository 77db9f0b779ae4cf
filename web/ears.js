// Wait of the caller: from their last voiced audio to the agent's first, by the levels of both. Pure.

const FLOOR_RISE_DB_PER_S = 4;
const LOWEST_FLOOR_DB = -64;
const ABOVE_FLOOR_DB = 12;
/** What is this far below the loudest of the last LOUDEST_S is the fading of a word, for the server too
 * (audio/loudness_fall.py): the page and the server measure from the same end of the voice. */
const FADED_DB = 18;
const LOUDEST_S = 0.6;
/** Quiet of the agent after which its next audio is an answer. Pauses between its words are shorter. */
const QUIET_S = 0.6;

/** Voice detector of one side: voiced is what exceeds the noise of the last seconds, and has not faded. */
class Side {
  #floorDb = Infinity;
  #lastS = null;
  #fadedDb;
  #latest = []; // [db, atS], each louder than those after it
  voicedAtS = null;

  constructor(fadedDb) {
    this.#fadedDb = fadedDb;
  }

  hear(level, atS) {
    const db = decibels(level);
    const passedS = this.#lastS === null ? 0 : atS - this.#lastS;
    this.#lastS = atS;
    this.#floorDb = Math.max(LOWEST_FLOOR_DB, Math.min(db, this.#floorDb + FLOOR_RISE_DB_PER_S * passedS));
    const voiced = db > Math.max(this.#floorDb + ABOVE_FLOOR_DB, this.#loudestDb(db, atS) - this.#fadedDb);
    if (voiced) this.voicedAtS = atS;
    return voiced;
  }

  #loudestDb(db, atS) {
    while (this.#latest.length > 0 && this.#latest.at(-1)[0] <= db) this.#latest.pop();
    this.#latest.push([db, atS]);
    while (this.#latest[0][1] < atS - LOUDEST_S) this.#latest.shift();
    return this.#latest[0][0];
  }
}

/** Measures the wait in the page: the caller's last voiced audio to the agent's first, in seconds of one clock. */
export class Ears {
  #caller = new Side(FADED_DB);
  #agent = new Side(Infinity); // of which the beginning counts
  #fromS = null;
  #awaiting = false;
  waitMs = null;
  #latestWaitMs = null;

  /** Add a level of the caller's audio, 0 to 1 (root mean square). */
  caller(level, atS) {
    this.#caller.hear(level, atS);
  }

  /** Add a level of the agent's audio. */
  agent(level, atS) {
    const [before, asked] = [this.#agent.voicedAtS ?? -Infinity, this.#caller.voicedAtS];
    const voiced = this.#agent.hear(level, atS);
    if (voiced && asked !== null && asked > before && atS - before > QUIET_S) this.#latestWaitMs = 1000 * (atS - asked);
    if (voiced && this.#awaiting) {
      this.#awaiting = false;
      if (this.#fromS !== null) this.waitMs = 1000 * (atS - this.#fromS);
    }
  }

  /** Return the wait for the agent's latest audio after the caller's, once, for calls whose responses have no beginning;
   * null if there is no new one. */
  takeLatestWait() {
    const waitMs = this.#latestWaitMs;
    this.#latestWaitMs = null;
    return waitMs;
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
