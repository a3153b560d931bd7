import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { parseJson } from '../../core/util/json.ts'

export const MAX_BODY_BYTES = 32 * 1024 * 1024

/** A request whose body was read completely. */
export interface ReceivedRequest {
  readonly method: string
  /** The URL path without the query string. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The parsed JSON body, or its text if it is not JSON. */
  readonly body: unknown
  /** The size of the body in bytes. */
  readonly size: number
}

/** Reads a request to its end. Rejects if the client disconnects first. */
export async function readRequest(
  message: IncomingMessage,
): Promise<{ readonly received: ReceivedRequest; readonly text: string }> {
  const { text, size } = await readRequestBody(message)
  const { method = '', url = '/', headers } = message
  const [path = '/'] = url.split('?', 1)
  return { received: { method, path, headers, body: parseJsonOrText(text), size }, text }
}

interface RequestBody {
  /** Empty if the body exceeds `MAX_BODY_BYTES`. */
  readonly text: string
  /** In bytes. */
  readonly size: number
}

/** Reads oversized bodies to their end, without buffering: some clients read no response before that. */
function readRequestBody(message: IncomingMessage): Promise<RequestBody> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = []
    let size = 0
    message.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= MAX_BODY_BYTES) chunks.push(chunk)
      else chunks = []
    })
    message.once('end', () => resolve({ text: Buffer.concat(chunks).toString(), size }))
    message.once('error', reject)
  })
}

function parseJsonOrText(text: string): unknown {
  const value = parseJson(text)
  return value === undefined ? text : value
}

/** How a request ended: `aborted` if the client disconnected before the end of the response. */
type RequestOutcome = 'finished' | 'aborted'

/** A received request and its outcome. */
export interface RecordedRequest extends ReceivedRequest {
  /** Becomes true when the client disconnects. */
  readonly isAborted: boolean
  /** Resolves when the request has ended. */
  readonly closed: Promise<RequestOutcome>
}

export interface Recorder {
  readonly requests: readonly RecordedRequest[]
  next(predicate?: (request: RecordedRequest) => boolean): Promise<RecordedRequest>
  /** Returns a function that sets the outcome; calls after the first have no effect. */
  record(received: ReceivedRequest): (outcome: RequestOutcome) => void
}

/** Keeps the last `limit` requests and resolves pending `next` calls with new ones. */
export function createRecorder(limit: number): Recorder {
  const requests: RecordedRequest[] = []
  const waiters = new Set<(request: RecordedRequest) => void>()
  return {
    requests,
    next(predicate = () => true) {
      return new Promise((resolve) => {
        waiters.add(function resolveIfMatching(request) {
          if (!predicate(request)) return
          waiters.delete(resolveIfMatching)
          resolve(request)
        })
      })
    },
    record(received) {
      if (limit === 0 && waiters.size === 0) return () => {}
      const { request, setOutcome } = createRecordedRequest(received)
      requests.push(request)
      if (requests.length > limit) requests.shift()
      for (const waiter of waiters) waiter(request)
      return setOutcome
    },
  }
}

function createRecordedRequest(received: ReceivedRequest) {
  let outcome: RequestOutcome | undefined
  let setOutcome = (_outcome: RequestOutcome) => {}
  const closed = new Promise<RequestOutcome>((resolve) => {
    setOutcome = (value) => {
      outcome ??= value
      resolve(outcome)
    }
  })
  const request: RecordedRequest = {
    ...received,
    closed,
    get isAborted() {
      return outcome === 'aborted'
    },
  }
  return { request, setOutcome }
}
