// Keeps a call connected: calls, and calls again after a drop, until the caller hangs up.

const DELAYS_MS = [500, 1000, 2000, 4000, 8000, 8000, 8000];

/**
 * connect(again, leaving): a promise of a call ({ended, hangUp}); throws CallError, immediately if the caller hangs up
 * meanwhile (`leaving`, an AbortSignal). changed(state, error): called with
 * "connecting", "live", "reconnecting" (with the error) and last "idle" (with the error, null after a hang-up).
 */
export class Line {
  #connect;
  #changed;
  #sleep;
  #leaving = null;
  call = null;

  constructor(connect, changed, sleep = waited) {
    this.#connect = connect;
    this.#changed = changed;
    this.#sleep = sleep;
  }

  /** Call. Resolves when the call has ended for good. */
  async dial() {
    if (this.#leaving) return;
    this.#leaving = new AbortController();
    const { signal } = this.#leaving;
    let why = null;
    this.#changed("connecting", null);
    for (let failures = 0, calls = 0; !signal.aborted && failures <= DELAYS_MS.length; ) {
      if (failures > 0) {
        this.#changed("reconnecting", why);
        await this.#sleep(DELAYS_MS[failures - 1], signal);
        if (signal.aborted) break;
      }
      try {
        this.call = await this.#connect(calls > 0, signal);
      } catch (error) {
        why = error;
        failures += 1;
        if (error.retry) continue;
        break;
      }
      if (signal.aborted) this.call.hangUp();
      else this.#changed("live", null);
      calls += 1;
      why = await this.call.ended;
      this.call = null;
      failures = 1;
      if (!why?.retry) break;
    }
    this.#leaving = null;
    this.#changed("idle", signal.aborted ? null : why);
  }

  /** End the call, or stop reconnecting. */
  hangUp() {
    this.#leaving?.abort();
    this.call?.hangUp();
  }
}

/** Wait, unless aborted. */
function waited(ms, leaving) {
  return new Promise((done) => {
    setTimeout(done, ms);
    leaving.addEventListener("abort", done, { once: true });
  });
}
