import { expect } from 'chai'
import type { Account, EndedExchange } from '../../../../core/contract/index.ts'
import { decideAgain } from '../../../../core/pipeline/decide-again.ts'
import { BUDGET_DEFAULTS } from '../../../../plugins/budget/plugin.ts'
import type { StoredRecord } from '../../../../plugins/ledger/store/queries.ts'
import { firstIdAt } from '../../../../plugins/ledger/store/record-id.ts'
import { LimitsReplay } from '../../../../plugins/what-if/limits-replay.ts'
import { ledgerRecord } from '../../../support/ledger-records.ts'
import { model } from '../../../support/models.ts'

const START = Date.UTC(2026, 2, 1, 12)
const NO_LIMITS = { free: null, paid: null }
const TARGET = { provider: 'openai', model: 'gpt-4o', entry: model('gpt-4o', 'openai', { max_output: 100 }) }
const TOKENS = { input: 10, cached: 0, cacheWrite: 0, output: 10, reasoning: 0 }
const USD = 1_000_000_000

const RULES = { ownerId: 1, routing: [], firewall: [], tool: [], position: 0 }

async function exchangeOf(limits: Partial<Account>): Promise<EndedExchange> {
  const account: Account = { userId: 1, name: 'Ada', plan: 'paid', keyId: 'k', position: 1, ...limits }
  const request = { messages: [{ role: 'user' as const, content: 'Hello' }], max_tokens: 50 }
  const call = { account, requestId: 'req_1' }
  const caller = { account, policies: [], policyPosition: 0, rules: RULES }
  const gateway = { decide: async () => undefined }
  const { exchange } = await decideAgain({ parseRequest: () => request }, {}, call, caller, gateway)
  const route = { mode: 'balance', targets: [TARGET], isFixed: true, reason: '' }
  return Object.assign(exchange, { route }) as unknown as EndedExchange
}

function recordAt(seconds: number, changes: Partial<StoredRecord> = {}): StoredRecord {
  const time = START + seconds * 1000
  const record = ledgerRecord({ time, tokens: TOKENS, cost: 1_000_000, latencyMs: 10, ...changes })
  return { ...record, id: firstIdAt(time), feedback: [], ...changes }
}

function openReplay(spentUsd = 0) {
  return new LimitsReplay({
    budget: BUDGET_DEFAULTS,
    rateLimits: {
      requests_per_minute: NO_LIMITS,
      tokens_per_minute: NO_LIMITS,
      max_concurrent: NO_LIMITS,
      tool_calls_per_minute: NO_LIMITS,
      on_redis_failure: { free: 'refuse', paid: 'refuse' },
    },
    costOf: ({ input, output }) => (input + output) / 1000,
    ledger: { sumCosts: async () => ({ cost: spentUsd * USD }) },
  })
}

describe('limits that are replayed', () => {
  const replays: LimitsReplay[] = []
  const open = (spentUsd = 0) => {
    const replay = openReplay(spentUsd)
    replays.push(replay)
    return replay
  }
  afterEach(() => {
    for (const replay of replays.splice(0)) replay.close()
  })

  it('count tokens in the minutes of the records', async () => {
    const replay = open()
    const codes = []
    // The prompt and 50 tokens are reserved, and 20 are counted.
    for (const seconds of [0, 10, 20, 30, 61])
      codes.push(await admit(replay, { tokensPerMinute: 110 }, recordAt(seconds)))
    expect(codes).to.deep.equal([undefined, undefined, undefined, 'token_limit_exceeded', undefined])
  })

  it('count requests that overlap, and let them wait as live ones do', async () => {
    const replay = open()
    const one = { maxConcurrent: 1 }
    expect(await admit(replay, one, recordAt(0, { latencyMs: 90_000 }))).to.equal(undefined)
    expect(await admit(replay, one, recordAt(80))).to.equal('concurrency_limit_exceeded')
    expect(await admit(replay, one, recordAt(89.95))).to.equal(undefined)
  })

  it('begin with what was spent before, and begin again with each period', async () => {
    const budget = { limitUsd: 1.09, period: 'day' as const, onExceed: 'refuse' as const }
    const budgets = [{ target: { type: 'user' as const, userId: 1 }, budget }]
    const replay = open(1)
    const nextDay = 13 * 3600
    expect(await admit(replay, {}, recordAt(0), budgets)).to.equal(undefined)
    await replay.count(recordAt(1, { cost: 0.05 * USD }), budgets)
    expect(await admit(replay, {}, recordAt(2), budgets)).to.equal('budget_exceeded')
    const later = open()
    expect(await admit(later, {}, recordAt(nextDay), budgets)).to.equal(undefined)
  })

  it('count the most that a request could cost if it was not sent then', async () => {
    const budget = { limitUsd: 0.1, period: 'total' as const, onExceed: 'refuse' as const }
    const budgets = [{ target: { type: 'user' as const, userId: 1 }, budget }]
    const refused = {
      attempts: [],
      tokens: null,
      cost: 0,
      error: { code: 'budget_exceeded', status: 402 },
    }
    const replay = open()
    const exchange = await exchangeOf({})
    expect(await replay.admit(exchange, recordAt(0, refused), budgets)).to.deep.equal({
      error: undefined,
      isDowngraded: false,
      isEstimated: true,
    })
    expect(await admit(replay, {}, recordAt(60), budgets)).to.equal('budget_exceeded')
    const known = open()
    for (const seconds of [0, 60])
      expect(await admit(known, {}, recordAt(seconds), budgets)).to.equal(undefined)
  })
})

async function admit(
  replay: LimitsReplay,
  limits: Partial<Account>,
  record: StoredRecord,
  budgets: Parameters<LimitsReplay['admit']>[2] = [],
): Promise<string | undefined> {
  return (await replay.admit(await exchangeOf(limits), record, budgets)).error?.code
}
