import { setTimeout as delay, setImmediate } from 'node:timers/promises'

/** Prepares what first requests need, after the start and between requests. */
export interface WarmUp {
  /** Adds a step, which must take milliseconds only, and may be repeated by the first request itself. */
  add(step: () => unknown): void
  /** Runs the steps, each in an iteration of the event loop of its own. */
  start(): Promise<void>
  stop(): void
}

/** Whoever waits for the ready line is served first. */
const DELAY_MS = 20

export function createWarmUp(): WarmUp {
  const steps: (() => unknown)[] = []
  const stopping = new AbortController()
  return {
    add: (step) => void steps.push(step),
    async start() {
      await delay(DELAY_MS, undefined, { ref: false })
      for (const step of steps) {
        if (stopping.signal.aborted) return
        step()
        await setImmediate(undefined, { ref: false })
      }
    },
    stop: () => stopping.abort(),
  }
}
