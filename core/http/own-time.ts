import type { ClientConnection, WaitingTime } from '../contract/index.ts'

export class RequestWaits implements WaitingTime {
  #open = 0
  #since = 0
  #endedMs = 0

  begin(): void {
    if (this.#open++ === 0) this.#since = performance.now()
  }

  end(): void {
    if (this.#open === 0) return
    if (--this.#open === 0) this.#endedMs += performance.now() - this.#since
  }

  totalMs(now: number): number {
    return this.#open === 0 ? this.#endedMs : this.#endedMs + now - this.#since
  }
}

/** A request whose own time is measured. */
export interface TimedRequest {
  readonly startedAt: number
  readonly client: Pick<ClientConnection, 'waiting'>
  /** Set with the head of the response. */
  overheadMs?: number | undefined
}

export const OVERHEAD_HEADER = 'x-signalbox-overhead-ms'

/** Ends the measurement, and returns the value of the header. */
export function stopOwnTime(request: TimedRequest): string {
  const now = performance.now()
  const waitedMs = request.client.waiting?.totalMs(now) ?? 0
  request.overheadMs = Math.max(0, now - request.startedAt - waitedMs)
  return request.overheadMs.toFixed(1)
}
