import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { Admission, ClientConnection, Exchange } from '../../core/contract/index.ts'
import { waitUntil } from './wait.ts'

/** How long tests block the event loop, and how long they let requests wait. */
export const BLOCK_MS = 30
export const WAIT_MS = 120

/** What the plugin `clockwork` and the format `slow-telegraph` do, set by the test that runs. */
export interface Clockwork {
  admit?(request: Admission): void
  decide?(exchange: Exchange): void
  authorize?(): Promise<object>
  read?(): void
  batch?(): void
}

declare global {
  var clockwork: Clockwork | undefined
}

/** Sources of packages. `telegraph`: that of docs/plugins.md. */
export const clockworkPackages = (telegraph: string) => ({
  telegraph,
  clockwork: `import telegraph from 'telegraph'
const [adapter] = telegraph.setup().providers
async function* collect(batches) {
  const all = []
  for await (const batch of batches) {
    globalThis.clockwork?.batch?.()
    all.push(...batch)
  }
  yield all
}
export default {
  name: 'clockwork',
  contract: 3,
  setup: () => ({
    admit: (request) => globalThis.clockwork?.admit?.(request),
    decide: (exchange) => globalThis.clockwork?.decide?.(exchange),
    async reply({ headers }, next) {
      const reply = await next()
      if (headers['x-collect'] === undefined) return reply
      const { value: events } = await collect(reply.batches).next()
      return { type: 'stream', batches: (async function* () { yield events })() }
    },
    providers: [{
      ...adapter,
      format: 'slow-telegraph',
      authorize: async () => (await globalThis.clockwork?.authorize?.()) ?? {},
      createStreamReader() {
        const reader = adapter.createStreamReader()
        const read = (record) => {
          globalThis.clockwork?.read?.()
          return reader.read(record)
        }
        return { ...reader, read }
      },
    }],
  }),
}`,
})

/** Blocks the event loop, and returns for how long. */
export function block(ms = BLOCK_MS): number {
  const startedAt = performance.now()
  while (performance.now() < startedAt + ms);
  return performance.now() - startedAt
}

/** Waits, and returns for how long. */
export async function pause(ms = WAIT_MS): Promise<number> {
  const startedAt = performance.now()
  await sleep(ms)
  return performance.now() - startedAt
}

type Waits = Pick<ClientConnection, 'waiting'>

/** Resolves when the gateway waits for somebody else on behalf of the request. */
export async function untilWaiting({ waiting }: Waits): Promise<void> {
  const isWaiting = () => {
    const now = performance.now()
    return waiting !== undefined && waiting.totalMs(now + 1000) - waiting.totalMs(now) > 500
  }
  await waitUntil(isWaiting)
}

/** The header of an answer. */
export function ownTimeOf({ headers }: { readonly headers: Headers }): number {
  const value = headers.get('x-signalbox-overhead-ms') ?? 'none'
  expect(value).to.match(/^\d+\.\d$/)
  return Number(value)
}

/** Of the rounding to one decimal. */
const TOLERANCE_MS = 0.06

interface Measured {
  readonly totalMs: number
  /** As the plugin measured it. */
  readonly blockedMs?: number
  /** As those measured it for whom the gateway waited. */
  readonly waitedMs?: number
}

/**
 * What the gateway says lies between what others have measured: it was at least busy while a plugin blocked
 * it, and at most while it did not wait. Both hold however busy the machine is.
 */
export function expectOwnTime(ownMs: number, { totalMs, blockedMs = 0, waitedMs = 0 }: Measured): void {
  expect(ownMs).to.be.at.least(blockedMs - TOLERANCE_MS)
  expect(ownMs).to.be.at.most(totalMs - waitedMs + TOLERANCE_MS)
}

export async function timed<Answered>(ask: () => Promise<Answered>) {
  const startedAt = performance.now()
  const answer = await ask()
  return { answer, totalMs: performance.now() - startedAt }
}
