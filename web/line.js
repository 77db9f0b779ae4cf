// Keeps a call up: dials, and dials again when the line drops, until the caller hangs up.

const DELAYS_MS = [500, 1000, 2000, 4000, 8000, 8000, 8000];

/**
 * connect(again): a promise of a call ({ended, hangUp}); throws CallError. changed(state, error): told
 * "connecting", "live", "reconnecting" (with why) and at last "idle" (with why, null where it was hung up).
 */
export class Line {
  #connect;
  #changed;
  #sleep;
  #wanted = false;
  call = null;

  constructor(connect, changed, sleep = (ms) => new Promise((done) => setTimeout(done, ms))) {
    this.#connect = connect;
    this.#changed = changed;
    this.#sleep = sleep;
  }

  /** Call, and return when it is all over. */
  async dial() {
    if (this.#wanted) return;
    this.#wanted = true;
    let why = null;
    this.#changed("connecting", null);
    for (let failures = 0, calls = 0; this.#wanted && failures <= DELAYS_MS.length; ) {
      if (failures > 0) {
        this.#changed("reconnecting", why);
        await this.#sleep(DELAYS_MS[failures - 1]);
        if (!this.#wanted) break;
      }
      try {
        this.call = await this.#connect(calls > 0);
      } catch (error) {
        why = error;
        failures += 1;
        if (error.retry) continue;
        break;
      }
      if (!this.#wanted) this.call.hangUp();
      else this.#changed("live", null);
      calls += 1;
      why = await this.call.ended;
      this.call = null;
      failures = 1;
      if (!why?.retry) break;
    }
    const hungUp = !this.#wanted;
    this.#wanted = false;
    this.#changed("idle", hungUp ? null : why);
  }

  /** End the call, or stop trying. */
  hangUp() {
    this.#wanted = false;
    this.call?.hangUp();
  }
}
