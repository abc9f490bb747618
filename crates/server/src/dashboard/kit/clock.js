// The server's time, in microseconds since 1970. Ages are measured with it, because the reader's clock may be wrong.

let ahead = 0;

/** Learns the server's time from an answer that just came. */
export function learnTime(micros) {
  ahead = micros - Date.now() * 1000;
}

/** What the server's clock shows now, as far as is known. */
export function now() {
  return Date.now() * 1000 + ahead;
}
