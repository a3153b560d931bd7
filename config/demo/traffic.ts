import { type Account, GatewayError, type Host } from '../../core/contract/index.ts'
import { decideAgain } from '../../core/pipeline/decide-again.ts'
import type { CallerSource } from '../../core/pipeline/inference.ts'
import { requestIdAt, timeOfRequestId, toBase62 } from '../../core/util/ids.ts'
import type { Random } from '../../core/util/random.ts'
import { createRequestParsers } from '../../plugins/audit/simulation.ts'
import type { LedgerRecord } from '../../plugins/ledger/store/record.ts'
import { type PromptSettings, toLedgerRecord, toRecordedPrompt } from '../../plugins/ledger/to-record.ts'
import type { OpenState } from '../gateway/state.ts'
import { loadAt } from './plan-demo.ts'
import { buildDemoRequest, TOPICS } from './prompts.ts'
import { addDemoReply } from './reply.ts'
import type { DemoUser } from './users.ts'

/** Of all requests. */
const RATE_LIMITED = 0.006
const ABORTED = 0.008

/** What requests are decided about with. */
export interface TrafficServices extends Pick<OpenState, 'groups'> {
  readonly decide: Host['decide']
  readonly costOf: Host['costOf']
  readonly callers: CallerSource
  /** Names of models that requests ask for by name. */
  readonly models: readonly string[]
  readonly prompts: PromptSettings
}

export type DemoTraffic = (
  time: number,
  user: DemoUser,
  account: Account,
  headers: Readonly<Record<string, string>>,
) => Promise<LedgerRecord>

/**
 * Returns a function that makes the record of a request. The rules of that time decide about it, with the
 * code that decides about live requests; only the reply of the model is made up.
 */
export function createDemoTraffic(services: TrafficServices, random: Random): DemoTraffic {
  const { groups, costOf, callers, prompts } = services
  const parsers = createRequestParsers(async () => undefined)
  return async (time, { topic: topicName, models }, account, headers) => {
    const topic = TOPICS[topicName]
    const model = random.weighted(models).name ?? random.pick(services.models)
    const { endpoint, path, body } = buildDemoRequest(topic, model, random)
    const id = demoRequestId(time, random)
    const request = {
      id,
      account,
      groups: groups.groupsOf(account.userId),
      endpoint: path,
      traceId: undefined,
    }
    const ended = { isAborted: false, startedAt: 0, prompt: null }
    if (random.chance(RATE_LIMITED)) {
      const error = new GatewayError('rate_limit_exceeded', 'Rate limit exceeded: 60 requests per minute.')
      return toLedgerRecord({ ...request, ...ended, ...failed(error), endedAt: 1, exchange: undefined })
    }
    const [call, caller] = [{ account, requestId: id, headers }, callers.snapshot(account)]
    const { exchange, error: refusal } = await decideAgain(parsers[endpoint], body, call, caller, services)
    Object.assign(exchange, { admittedAt: 0, readAt: 1 })
    const prompt = toRecordedPrompt(exchange, refusal === undefined, prompts)
    const decided = { ...request, ...ended, exchange, prompt }
    if (refusal !== undefined)
      return toLedgerRecord({ ...decided, ...failed(refusal), endedAt: 1 + random.integer(4) })
    const load = 0.7 + 0.3 * loadAt(time)
    const { error, latencyMs } = addDemoReply(exchange, topic, load, random, costOf)
    const isAborted = error === undefined && body.stream === true && random.chance(ABORTED)
    return toLedgerRecord({ ...decided, ...failed(error), isAborted, endedAt: latencyMs })
  }
}

/** The id of a request, or of a call of a tool. */
export function demoRequestId(time: number, random: Random): string {
  return requestIdAt(time, toBase62(Uint8Array.from({ length: 17 }, () => random.integer(256))))
}

function failed(error: GatewayError | undefined) {
  return { error, status: error?.status ?? 200 }
}

/** When a request arrived, as a Unix time in milliseconds. */
export function timeOfRecord({ requestId }: LedgerRecord): number {
  return timeOfRequestId(requestId) ?? 0
}
