import type { IncomingHttpHeaders } from 'node:http'

export interface ReceivedRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Parsed; the text itself where it is not JSON. */
  readonly body: unknown
  /** Of the body, in bytes. */
  readonly size: number
}

/** `aborted`: the client left before the answer ended. */
type RequestOutcome = 'finished' | 'aborted'

/** A request whose body was read, and what became of it. */
export interface RecordedRequest extends ReceivedRequest {
  /** Live: turns true when the client leaves. */
  readonly isAborted: boolean
  readonly closed: Promise<RequestOutcome>
}

export interface Recorder {
  readonly requests: readonly RecordedRequest[]
  next(predicate?: (request: RecordedRequest) => boolean): Promise<RecordedRequest>
  /** Gives the function that notes the outcome; only its first call counts. */
  record(received: ReceivedRequest): (outcome: RequestOutcome) => void
}

/** Keeps the last `limit` requests and hands new ones to whoever waits for them. */
export function createRecorder(limit: number): Recorder {
  const requests: RecordedRequest[] = []
  const waiting = new Set<(request: RecordedRequest) => void>()
  return {
    requests,
    next(predicate = () => true) {
      return new Promise((resolve) => {
        waiting.add(function offer(request) {
          if (!predicate(request)) return
          waiting.delete(offer)
          resolve(request)
        })
      })
    },
    record(received) {
      if (limit === 0 && waiting.size === 0) return () => {}
      const { request, settle } = createEntry(received)
      requests.push(request)
      if (requests.length > limit) requests.shift()
      for (const offer of waiting) offer(request)
      return settle
    },
  }
}

function createEntry(received: ReceivedRequest) {
  let outcome: RequestOutcome | undefined
  let settle = (_outcome: RequestOutcome) => {}
  const closed = new Promise<RequestOutcome>((resolve) => {
    settle = (end) => {
      outcome ??= end
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
  return { request, settle }
}
