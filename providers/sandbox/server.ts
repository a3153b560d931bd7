import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readRequestBody } from './model-request.ts'
import { createRecorder, type ReceivedRequest, type RecordedRequest, type Recorder } from './recorder.ts'
import { buildResponse } from './respond.ts'
import { createFaultPicker, type PickFault, sendScript } from './response-script.ts'

export type { RecordedRequest } from './recorder.ts'

export interface SandboxOptions {
  /** 127.0.0.1 when left out. */
  readonly host?: string
  /** 0, which is also the default, picks a free one. */
  readonly port?: number
  /** How many of the last requests to keep for tests; none when left out, so that no prompt stays in memory. */
  readonly record?: number
}

export interface Sandbox {
  /** Such as `http://127.0.0.1:4010`; the base URL for OpenAI's format is `${url}/openai/v1`. */
  readonly url: string
  /** The last requests received, oldest first, as many as `record` allows. */
  readonly requests: readonly RecordedRequest[]
  /** The first request that arrives after this call and satisfies the predicate. */
  next(predicate?: (request: RecordedRequest) => boolean): Promise<RecordedRequest>
  /** What befalls requests without a marker from now on, in the words of one; nothing when the text is empty. */
  setFault(words: string): void
  /** Stops listening and ends open connections at once. */
  close(): Promise<void>
}

/** Starts a local server that answers like a model provider, and misbehaves when a message asks for it (docs/sandbox.md). */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { host = '127.0.0.1', port = 0, record = 0 } = options
  const recorder = createRecorder(record)
  const faults = createFaultPicker()
  const server = createServer(
    { headersTimeout: 10_000, requestTimeout: 60_000, keepAliveTimeout: 30_000 },
    (request, response) => void handleRequest(request, response, { recorder, pickFault: faults.pick }),
  )
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  // A TCP server always reports an address of this shape.
  const address = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    requests: recorder.requests,
    next: recorder.next,
    setFault: faults.setFault,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export interface ServerDeps {
  readonly recorder: Recorder
  readonly pickFault: PickFault
}

/** Reads a request, records it and plays the answer. Never rejects: without its client there is nothing left to do. */
export async function handleRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { recorder, pickFault }: ServerDeps,
): Promise<void> {
  try {
    const { text, size } = await readRequestBody(request)
    const received = readRequest(request, text, size)
    const settle = recorder.record(received)
    const client = new AbortController()
    response.once('close', () => {
      settle(response.writableFinished ? 'finished' : 'aborted')
      if (!response.writableFinished) client.abort()
    })
    const script = buildResponse(received, { id: hashText(text), created: readClock() }, pickFault)
    await sendScript(script, response, client.signal)
    if (script.ending === 'cut') settle('finished')
  } catch {
    response.destroy()
  }
}

function readRequest(
  { method = '', url = '/', headers }: IncomingMessage,
  text: string,
  size: number,
): ReceivedRequest {
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
