import { expect } from 'chai'
import { type Account, type EndedExchange, GatewayError } from '../../../../core/contract/index.ts'
import { StoredReply } from '../../../../core/pipeline/usage-recorder.ts'
import { newRequestId } from '../../../../core/util/ids.ts'
import { CopyOf, RecordedFeatures } from '../../../../plugins/ledger/index.ts'
import { encodeRecords } from '../../../../plugins/ledger/store/batch-encoder.ts'
import { decodeRecords } from '../../../../plugins/ledger/store/record-batch.ts'
import { type RequestOutcome, toLedgerRecord } from '../../../../plugins/ledger/to-record.ts'

const account = { userId: 3, keyId: 'key_3', plan: 'paid' } as Account
const target = { provider: 'openai', model: 'gpt-4o' }

function outcome(changes: Partial<RequestOutcome>, exchange?: Partial<EndedExchange>): RequestOutcome {
  const base = {
    state: {},
    attempts: [],
    trace: [],
    warnings: [],
    rulesPosition: 1,
    request: { messages: [] },
    headers: {},
  }
  return {
    id: newRequestId(),
    traceId: undefined,
    account,
    endpoint: '/v1/chat/completions',
    status: 200,
    error: undefined,
    isAborted: false,
    startedAt: 100,
    endedAt: 250.4,
    prompt: null,
    groups: [],
    exchange: exchange && ({ ...base, ...exchange } as EndedExchange),
    ...changes,
  }
}

describe('toLedgerRecord', () => {
  it('has the figures of a learned router only for the model that it chose', () => {
    const router = { version: 3, probability: 0.7, propensity: 0.05 }
    const other = { provider: 'openai', model: 'gpt-4o-mini' }
    const route = { targets: [target, other], router } as unknown as NonNullable<EndedExchange['route']>
    const routerOf = (answered: typeof target) =>
      toLedgerRecord(outcome({}, { route, target: answered })).router
    expect(routerOf(target)).to.deep.equal(router)
    expect(routerOf(other)).to.deep.equal({ version: 3, probability: null, propensity: null })
  })

  it('has no words of a provider, which may repeat the input', () => {
    const attempts = [{ target, outcome: 'provider_refused', startedAt: 0, ms: 1 }]
    const message = 'openai rejected the request: my secret is too long'
    for (const [code, wireCode] of [
      ['provider_refused', 'context_length_exceeded'],
      ['model_not_found', undefined],
    ] as const) {
      const error = new GatewayError(code, message, { ...(wireCode && { wireCode }), param: 'messages[0]' })
      const record = toLedgerRecord(outcome({ status: error.status, error }, { attempts }))
      expect(record.error).to.deep.equal({
        code,
        status: error.status,
        message: `The provider rejected the request${wireCode ? ` (${wireCode})` : ''}.`,
        param: 'messages[0]',
      })
    }
  })

  it('has the own message of an error, and none of an internal one', () => {
    const unknown = new GatewayError('model_not_found', 'The model x is not known.')
    expect(toLedgerRecord(outcome({ status: 404, error: unknown }, {})).error).to.include({
      message: 'The model x is not known.',
    })
    const internal = toLedgerRecord(outcome({ status: 500, error: new Error('at /home') }))
    expect(internal.error).to.deep.equal({ code: 'internal_error', status: 500 })
    expect(toLedgerRecord(outcome({ status: 418 })).error).to.deep.equal({
      code: 'refused',
      status: 418,
    })
  })

  it('has what a router and a split did, and the features of the prompt through its encoding', () => {
    const route = {
      mode: 'balance',
      targets: [target],
      reason: 'x',
      router: { version: 2, probability: 0.75, propensity: 0.1 },
      arm: 'gpt-4o-mini',
    } as const
    const [shadowOf, exchange] = [newRequestId(), { route, state: {} }]
    CopyOf.set(exchange, { requestId: shadowOf, isOwn: false })
    RecordedFeatures.set(exchange, 'AP8H')
    const record = toLedgerRecord(outcome({}, exchange as unknown as Partial<EndedExchange>))
    expect(record).to.deep.include({ router: route.router, arm: 'gpt-4o-mini', shadowOf })
    const decoded = decodeRecords(encodeRecords([record])).recordAt(0)
    expect(decoded.features).to.equal('AP8H')
    expect(decoded).to.deep.equal(record)
  })

  it('has an exact cost, null if it is unknown, and 0 if nobody replied', () => {
    const usage = { input: 5, output: 7, cached: 2 }
    const known = toLedgerRecord(outcome({}, { target, usage, costUsd: 0.1 + 0.2 }))
    expect(known).to.include({ cost: 300_000_000, latencyMs: 150 })
    expect(known.tokens).to.deep.equal({ input: 5, cached: 2, cacheWrite: 0, output: 7, reasoning: 0 })
    expect(toLedgerRecord(outcome({}, { target, usage, costUsd: null })).cost).to.equal(null)
    const stored: Pick<EndedExchange, 'state'> = { state: {} }
    StoredReply.set(stored, true)
    const cached = toLedgerRecord(outcome({}, { target, usage, costUsd: 0, ...stored }))
    expect(cached).to.include({ cost: 0, isCacheHit: true })
    expect(toLedgerRecord(outcome({}, {})).cost).to.equal(0)
    expect(toLedgerRecord(outcome({})).cost).to.equal(0)
  })

  it('tells an abort before the reply from one in it', () => {
    const before = toLedgerRecord(outcome({ isAborted: true, status: 404 }, {}))
    expect(before).to.deep.include({ status: 499, error: { code: 'client_disconnected', status: 499 } })
    const reply = { type: 'stream' } as EndedExchange['reply']
    const during = toLedgerRecord(outcome({ isAborted: true }, { reply: reply! }))
    expect(during).to.include({ status: 200, error: null, isAborted: true })
  })
})
