// Reads a stream of server-sent events. The browser's own EventSource hides the status of an answer and must be told
// every event's name in advance; this reader does neither.

/** The messages in a body, one by one: `{ id, event, data }`. Comments come as messages without data. */
export async function* messages(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop();
      for (const block of blocks) yield parse(block);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** One block of lines as a message. */
export function parse(block) {
  const message = { id: undefined, event: 'message', data: undefined };
  for (const line of block.split(/\r?\n/)) {
    const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line);
    if (name === 'id') message.id = value;
    else if (name === 'event') message.event = value;
    else if (name === 'data') message.data = message.data === undefined ? value : `${message.data}\n${value}`;
  }
  return message;
}
