// Player of a recording: left the caller, right the agent, each of which can be muted.

export class Player {
  #audio;
  #url = "";
  #sides = null;
  #again = false;

  /** moved(): called when the position or the state changes. */
  constructor(audio, moved) {
    this.#audio = audio;
    for (const event of ["play", "pause", "seeked", "ended", "loadedmetadata"]) audio.addEventListener(event, moved);
  }

  /** Load a recording; one that is still being written is reloaded at its end. */
  open(url, grows) {
    this.#again = grows;
    if (url === this.#url) return;
    this.#url = url;
    this.#audio.pause();
    if (url) this.#audio.src = url;
    else this.#audio.removeAttribute("src");
  }

  get playing() {
    return !this.#audio.paused && !this.#audio.ended;
  }

  get atS() {
    return this.#audio.currentTime;
  }

  set speed(rate) {
    this.#audio.playbackRate = rate;
  }

  /** Play from `atS` on. soundS: length of the recording so far. */
  async play(atS, soundS) {
    const known = this.#audio.duration;
    if (this.#again && !(known > atS + 0.5) && soundS > atS) this.#audio.src = this.#url;
    this.#audio.currentTime = atS;
    await this.#audio.play().catch(() => {}); // paused before it began
  }

  pause() {
    this.#audio.pause();
  }

  seek(atS) {
    this.#audio.currentTime = atS;
  }

  /** Set which sides are audible. A single one is on both ears. */
  async hear(caller, agent) {
    if (!this.#sides) {
      if (caller && agent) return;
      this.#sides = sides(this.#audio);
    }
    const both = caller && agent;
    this.#sides.context.resume();
    this.#sides.gains.forEach((row, side) =>
      row.forEach((gain, ear) => {
        const heard = side === 0 ? caller : agent;
        gain.gain.value = heard && (!both || side === ear) ? 1 : 0;
      }),
    );
  }
}

/** gains[side][ear] from each side of the recording to each ear. */
function sides(audio) {
  const context = new AudioContext();
  const splitter = context.createChannelSplitter(2);
  const merger = context.createChannelMerger(2);
  context.createMediaElementSource(audio).connect(splitter);
  const gains = [0, 1].map((side) =>
    [0, 1].map((ear) => {
      const gain = context.createGain();
      splitter.connect(gain, side);
      gain.connect(merger, 0, ear);
      return gain;
    }),
  );
  merger.connect(context.destination);
  return { context, gains };
}
