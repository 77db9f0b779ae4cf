// The browser's share of the response time, from WebRTC's statistics. Pure except for `statistics`.
// Fields: W3C "Identifiers for WebRTC's Statistics API" (inbound-rtp, media-playout, candidate-pair).

/** Cumulative counters; the mean of an interval is the difference of two readings. */
export function reading(reports) {
  const counted = { jitterS: 0, emitted: 0, outputS: 0, played: 0, concealed: 0, lost: 0, roundTripS: null };
  for (const report of reports) {
    if (report.type === "inbound-rtp" && report.kind === "audio") {
      counted.jitterS += report.jitterBufferDelay ?? 0;
      counted.emitted += report.jitterBufferEmittedCount ?? 0;
      counted.concealed += report.concealedSamples ?? 0;
      counted.lost += report.packetsLost ?? 0;
    } else if (report.type === "media-playout") {
      counted.outputS += report.totalPlayoutDelay ?? 0;
      counted.played += report.totalSamplesCount ?? 0;
    } else if (report.type === "candidate-pair" && report.nominated && report.state === "succeeded") {
      counted.roundTripS = report.currentRoundTripTime ?? null;
    }
  }
  return counted;
}

/** Mean delays in milliseconds between two readings; null if nothing was played in between. */
export function share(before, after) {
  const mean = (sum, count) =>
    after[count] > before[count] ? (1000 * (after[sum] - before[sum])) / (after[count] - before[count]) : null;
  return {
    jitterMs: mean("jitterS", "emitted"),
    outputMs: mean("outputS", "played"),
    lineMs: after.roundTripS === null ? null : (1000 * after.roundTripS) / 2,
  };
}

/** The `voiceagent.playout` event for the server, shown in the call inspector later. */
export function playoutEvent(turnId, { lineMs, jitterMs, outputMs }, heardMs) {
  const known = { line_ms: lineMs, jitter_ms: jitterMs, output_ms: outputMs, heard_ms: heardMs };
  for (const [name, ms] of Object.entries(known)) known[name] = Number.isFinite(ms) && ms >= 0 ? ms : null;
  return { type: "voiceagent.playout", turn_id: turnId, ...known };
}

/** Current statistics of a connection. */
export async function statistics(connection) {
  return reading([...(await connection.getStats()).values()]);
}
