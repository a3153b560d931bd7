import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { readBody } from './body.ts'
import type { PickFault } from './fault-picker.ts'
import { play } from './play.ts'
import type { Received, Recorder } from './recorder.ts'
import { respond } from './respond.ts'

export interface Means {
  readonly recorder: Recorder
  readonly pickFault: PickFault
}

/** Reads a request, records it and plays the answer. Never rejects: without its client there is nothing left to do. */
export async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  { recorder, pickFault }: Means,
): Promise<void> {
  try {
    const { text, size } = await readBody(request)
    const received = readRequest(request, text, size)
    const settle = recorder.record(received)
    const client = new AbortController()
    response.once('close', () => {
      settle(response.writableFinished ? 'finished' : 'aborted')
      if (!response.writableFinished) client.abort()
    })
    const script = respond(received, { id: hashText(text), created: readClock() }, pickFault)
    await play(script, response, client.signal)
    if (script.ending === 'cut') settle('finished')
  } catch {
    response.destroy()
  }
}

function readRequest(
  { method = '', url = '/', headers }: IncomingMessage,
  text: string,
  size: number,
): Received {
  const [path = '/'] = url.split('?', 1)
  return { method, path, headers, body: readJson(text), size }
}

/** The parsed body, or the text itself where it is not JSON. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24)
}

function readClock(): number {
  return Math.floor(Date.now() / 1000)
}
