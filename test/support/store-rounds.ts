import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { firewallRuleBody } from './bodies.ts'
import type { Answer, RunningGateway } from './gateway.ts'
import { waitUntil } from './wait.ts'

const RULES = '/v1/firewall-rules'

/** What became of the changes that clients made while something failed again and again. */
export interface RoundCounts {
  readonly acknowledged: number
  /** Requests that failed, of changes that were repeated, too. */
  readonly failures: number
  /** Refused with the promise that nothing was changed. */
  readonly refused: number
  /** Refused without that promise. */
  readonly doubtful: number
  /** Acknowledged, but not in the log. */
  readonly lost: number
  /** In the log more than once. */
  readonly doubled: number
  /** In the log, although "nothing was changed". */
  readonly falselyRefused: number
  /** In the log, although nobody made them. */
  readonly unknown: number
}

/** A user's calls, to whichever gateway. */
export type CallAs = (gateway: RunningGateway, ...call: Parameters<RunningGateway['call']>) => Promise<Answer>

export interface Rounds {
  /** The gateways that clients call now. */
  readonly gateways: () => readonly RunningGateway[]
  readonly callAs: CallAs
  readonly rounds: number
  /** Lets something fail, and resolves when it works again. `failing` resolves once changes have failed. */
  readonly disturb: (round: number, failing: () => Promise<void>) => Promise<void>
  /** Starts a gateway that knows nothing but the log. */
  readonly startObserver: () => Promise<RunningGateway>
  /** Repeats a change until it is acknowledged, always with the same `Idempotency-Key`. */
  readonly repeats?: boolean
}

/** Changes that must be acknowledged before and after each disturbance. */
const CHANGES_BETWEEN = 12
const WRITERS = 8
/** Less would keep the processor busy with refusals while the store is away. */
const RETRY_MS = 50
/** Changes that are made during a disturbance, which may last long on a busy machine. */
const CHANGES_DURING = 60

/**
 * Lets eight clients create rules while something fails again and again, and then compares what they were
 * told with the rules of a gateway that reads the log from its beginning.
 */
export async function runRounds(options: Rounds): Promise<RoundCounts> {
  const { gateways, callAs, rounds, disturb, startObserver, repeats = false } = options
  const acknowledged = new Set<string>()
  const refused = new Set<string>()
  const doubtful = new Set<string>()
  let isWriting = true
  let failures = 0
  let allowed = 0

  async function create(pattern: string, attempt: number, headers: Record<string, string>) {
    const nodes = gateways()
    const gateway = nodes[attempt % nodes.length]
    if (gateway === undefined) return undefined
    const rule = firewallRuleBody({ name: pattern, pattern, action: 'warn' })
    return callAs(gateway, 'POST', RULES, rule, headers).catch(() => undefined)
  }

  async function change(pattern: string, writer: number): Promise<void> {
    const headers = repeats ? { 'idempotency-key': randomUUID() } : {}
    for (let attempt = 0; ; attempt++) {
      const answer = await create(pattern, writer + attempt, headers)
      if (answer?.status === 201) return void acknowledged.add(pattern)
      if (answer !== undefined && answer.status !== 503)
        throw new Error(`${pattern}: ${answer.status} ${JSON.stringify(answer.body)}`)
      failures += 1
      await sleep(RETRY_MS)
      if (repeats) continue
      const isRefused = answer?.body.error.message.includes('Nothing was changed') ?? false
      return void (isRefused ? refused : doubtful).add(pattern)
    }
  }

  const run = randomUUID().slice(0, 8)
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    for (let n = 0; isWriting; n++) {
      await change(`${run} ${writer} ${n}`, writer)
      while (isWriting && acknowledged.size >= allowed) await sleep(5)
    }
  })
  const failed = Promise.all(writers)
  const moreChanges = () => {
    const target = acknowledged.size + CHANGES_BETWEEN
    allowed = target + CHANGES_DURING
    return Promise.race([failed, waitUntil(() => acknowledged.size >= target)])
  }
  for (let round = 0; round < rounds; round++) {
    await moreChanges()
    const before = failures
    await disturb(round, () =>
      Promise.race([failed, waitUntil(() => failures > before)]).then(() => undefined),
    )
  }
  await moreChanges()
  isWriting = false
  await failed

  const observer = await startObserver()
  const { body } = await callAs(observer, 'GET', RULES)
  const patterns: string[] = body.data
    .map(({ pattern }: { pattern: string }) => pattern)
    .filter((pattern: string) => pattern.startsWith(run))
  await observer.stop()
  const inLog = new Set(patterns)
  const count = (set: ReadonlySet<string>, has: (pattern: string) => boolean) => [...set].filter(has).length
  return {
    acknowledged: acknowledged.size,
    failures,
    refused: refused.size,
    doubtful: doubtful.size,
    lost: count(acknowledged, (pattern) => !inLog.has(pattern)),
    doubled: patterns.length - inLog.size,
    falselyRefused: count(refused, (pattern) => inLog.has(pattern)),
    unknown: count(inLog, (pattern) => ![acknowledged, doubtful, refused].some((told) => told.has(pattern))),
  }
}
