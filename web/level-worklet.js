// Runs in the audio thread: posts the level of its input, root mean square from 0 to 1, about every 10 ms.

const BLOCKS = 4; // of 128 samples: 10.7 ms at 48 kHz

class Level extends AudioWorkletProcessor {
  #sum = 0;
  #samples = 0;
  #blocks = 0;

  process([input]) {
    const samples = input[0];
    if (samples) {
      for (const sample of samples) this.#sum += sample * sample;
      this.#samples += samples.length;
    }
    this.#blocks += 1;
    if (this.#blocks === BLOCKS) {
      const level = this.#samples > 0 ? Math.sqrt(this.#sum / this.#samples) : 0;
      this.port.postMessage({ level, atS: currentTime });
      this.#sum = this.#samples = this.#blocks = 0;
    }
    return true;
  }
}

registerProcessor("level", Level);
