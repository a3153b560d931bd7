import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createFaultPicker, type PickFault } from './faults.ts'
import { createRecorder, type RecordedRequest, type Recorder, readRequest } from './recorder.ts'
import { buildResponse, sendScript } from './response-script.ts'

export type { RecordedRequest } from './recorder.ts'

export interface SandboxOptions {
  /** Default: 127.0.0.1. */
  readonly host?: string
  /** Default: 0, which selects a free port. */
  readonly port?: number
  /** How many of the last requests to keep for tests. Default: 0, so that no prompt stays in memory. */
  readonly record?: number
}

export interface Sandbox {
  /** For example `http://127.0.0.1:4010`; the base URL for OpenAI's format is `${url}/openai/v1`. */
  readonly url: string
  /** The last requests, oldest first, at most `record` of them. */
  readonly requests: readonly RecordedRequest[]
  /** Resolves with the first request that arrives after this call and satisfies the predicate. */
  next(predicate?: (request: RecordedRequest) => boolean): Promise<RecordedRequest>
  /**
   * Sets the fault for requests without an applicable marker. `text` has the syntax of a marker's content
   * (`status=500`); an empty text removes the fault. Throws if `text` is invalid.
   */
  setFault(text: string): void
  /** Stops listening and closes open connections immediately. */
  close(): Promise<void>
}

/** Starts a local server that imitates the model providers and injects the faults that messages ask for. */
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
  // The address of a TCP server is always an `AddressInfo`.
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

interface ServerDeps {
  readonly recorder: Recorder
  readonly pickFault: PickFault
}

/** Reads, records and answers a request. Never rejects: errors here mean that the client disconnected. */
async function handleRequest(
  message: IncomingMessage,
  response: ServerResponse,
  { recorder, pickFault }: ServerDeps,
): Promise<void> {
  try {
    const { received, text } = await readRequest(message)
    const setOutcome = recorder.record(received)
    const client = new AbortController()
    response.once('close', () => {
      setOutcome(response.writableFinished ? 'finished' : 'aborted')
      if (!response.writableFinished) client.abort()
    })
    // The hash gives equal requests equal reply ids.
    const script = buildResponse(received, { id: hashText(text), created: unixSeconds() }, pickFault)
    await sendScript(script, response, client.signal)
    // The sandbox dropped the connection itself, so the client did not abort.
    if (script.ending === 'cut') setOutcome('finished')
  } catch {
    response.destroy()
  }
}

function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24)
}

function unixSeconds(): number {
  return Math.floor(Date.now() / 1000)
}
