// EventSource cannot send an Authorization header, so the stream is read with fetch.
const MAX_EVENTS = 200;
const RETRY_MS = 2_000;

const form = document.querySelector('form');
const button = document.querySelector('button');
const status = document.querySelector('[role=status]');
const list = document.querySelector('ol');

/** The connection that the user wants, if any. */
let wanted;

form.addEventListener('submit', (event) => {
  event.preventDefault();
  if (wanted) {
    wanted.abort();
    return;
  }
  wanted = new AbortController();
  button.textContent = 'Disconnect';
  follow(form.elements.token.value.trim(), wanted.signal).then((end) => {
    wanted = undefined;
    button.textContent = 'Connect';
    status.textContent = end;
  });
});

/** Reads the stream until the user or the service ends it, and resumes it if the connection breaks. */
async function follow(token, signal) {
  let lastEventId = '';
  while (!signal.aborted) {
    try {
      const headers = { Authorization: `Bearer ${token}`, 'Last-Event-ID': lastEventId };
      const response = await fetch('../events', { headers, signal, cache: 'no-store' });
      if (response.ok) {
        status.textContent = 'Connected';
        for await (const event of eventsOf(response.body)) {
          if (event.data) show(event);
          lastEventId = event.id ?? lastEventId;
        }
      } else if (response.status < 500 && response.status !== 429) {
        return `${response.status}: ${(await response.json()).detail}`;
      }
    } catch {
      // The connection broke.
    }
    if (signal.aborted) break;
    status.textContent = 'Connecting again';
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
  return 'Not connected';
}

/** The fields of each block of a stream of server-sent events. */
async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (text + value).split('\n\n');
    text = blocks.pop();
    for (const block of blocks) {
      yield Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s, 2)));
    }
  }
}

/** Shows an event above the others. Its texts are not trusted: they are shown as text, never as HTML. */
function show({ event, data }) {
  const item = document.createElement('li');
  const { timestamp, data: record } = JSON.parse(data);
  const head = document.createElement('strong');
  head.textContent = event;
  const body = document.createElement('pre');
  body.textContent = JSON.stringify(record, null, 2);
  item.append(head, ` ${timestamp}`, body);
  list.prepend(item);
  if (list.childElementCount > MAX_EVENTS) list.lastElementChild.remove();
}
