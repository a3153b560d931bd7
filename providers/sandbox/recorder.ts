import type { ReceivedRequest } from './received-request.ts'

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
