import { expect } from 'chai'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { Account, EndedExchange, JsonObject } from '../../../../core/contract/index.ts'
import { errorMessage } from '../../../../core/util/error-message.ts'
import { firewallError } from '../../../../plugins/firewall/refusal.ts'
import type { ResponsesCall } from '../../../../plugins/responses/call.ts'
import { createSessionMemory } from '../../../../plugins/responses/session-memory.ts'
import {
  createResponseRecorder,
  createResponseStore,
  type ResponseStore,
  type StoredResponse,
} from '../../../../plugins/responses/store.ts'
import { presenceOf, staying } from '../../../support/presence.ts'
import { waitUntil } from '../../../support/wait.ts'

const RESPONSE_KEY = 'abcdefghijklmnopqrstuvwx'

const call: ResponsesCall = {
  body: { input: 'Now', instructions: 'a secret', previous_response_id: 'resp_before' },
  clientTools: undefined,
  responseKey: RESPONSE_KEY,
  createdAt: 1,
  form: 'openai',
  plainToolForm: 'interface',
  inputCount: 1,
  earlierCount: 2,
}

/** The fields of an exchange that a recorder reads. */
const exchange = {
  id: `req_${RESPONSE_KEY}`,
  account: { userId: 7 },
  client: staying,
  headers: {},
  state: {},
  warnings: [],
  trace: [],
  rulesPosition: 3,
  request: {
    messages: [
      { role: 'system', content: 'a [redacted]' },
      { role: 'user', content: 'Before' },
      { role: 'assistant', content: 'Yes' },
      { role: 'user', content: 'Now' },
    ],
  },
} as unknown as EndedExchange

const completed = {
  id: `resp_${RESPONSE_KEY}`,
  status: 'completed',
  store: true,
  completed_at: 2,
  metadata: { team: 'red' },
}

describe('storing responses', () => {
  const saved: StoredResponse[] = []
  const createRecorder = (
    save = async (_: string, response: StoredResponse) => void saved.push(response),
  ) => {
    saved.length = 0
    return createResponseRecorder({ save }, createSessionMemory(), pino({ level: 'silent' }), new Registry())
  }
  const failing = () => Promise.reject(new Error('the ledger is away'))

  it('stores the response with the input of the call', async () => {
    const response = await createRecorder().persisterFor(exchange, call)(completed, [[0, 5]])
    expect(response).to.equal(completed)
    expect(saved).to.deep.equal([
      {
        form: 'interface',
        input: [{ role: 'user', content: 'Now' }],
        response: completed,
        pace: [[0, 5]],
      },
    ])
  })

  it('stores nothing with store: false', async () => {
    const response = { ...completed, store: false }
    expect(await createRecorder().persisterFor(exchange, call)(response)).to.equal(response)
    const unstoredCall = { ...call, body: { ...call.body, store: false } }
    await createRecorder().recordFailure(exchange, unstoredCall, new Error('x'))
    expect(saved).to.deep.equal([])
  })

  it('adds a warning to the response when the ledger is away', async () => {
    const persist = createRecorder(failing).persisterFor(exchange, call)
    const response: JsonObject = await persist({
      ...completed,
      signalbox: { provider: 'openai', warnings: [{ code: 'plan' }] },
    })
    expect(response).to.include({ status: 'completed', store: false })
    expect(response.metadata).to.deep.equal({ team: 'red' })
    expect(response.signalbox).to.deep.equal({
      provider: 'openai',
      warnings: [
        { code: 'plan' },
        {
          code: 'not_stored',
          message: 'The response could not be stored. It cannot be replayed or continued.',
        },
      ],
    })
  })

  it('stores a failure without any text of the request', async () => {
    await createRecorder().recordFailure(exchange, call, firewallError('firewall_blocked', 'Blocked.'))
    const [stored] = saved
    expect(stored?.input).to.deep.equal([])
    expect(stored?.response).to.deep.include({ status: 'failed', instructions: null })
    expect(stored?.response.error).to.deep.equal({ code: 'invalid_prompt', message: 'Blocked.' })
    expect(stored?.response.signalbox).to.have.nested.property('error.code', 'firewall_blocked')
    expect(JSON.stringify(stored)).not.to.match(/secret|redacted|Now/)
  })

  it('stores a response as cancelled when the client disconnected, and never rejects', async () => {
    const aborted = { ...exchange, client: presenceOf(AbortSignal.abort()) }
    await createRecorder().recordFailure(aborted, call, new Error('client disconnected'))
    expect(saved[0]?.response).to.include({ status: 'cancelled', error: null })
    await createRecorder(failing).recordFailure(aborted, call, new Error('x'))
  })
})

describe('the store of responses', () => {
  const row = { id: RESPONSE_KEY, user_id: 7, key_id: 'key_7', expires: 0, data: '{"form":"openai"}' }
  const accounts = { ownerOfKey: (id: string) => (id === 'key_7' ? { id: 7 } : undefined) as never }
  const author = { userId: 7, keyId: 'key_7' } as Account
  const response: StoredResponse = { form: 'openai', input: [], response: completed }
  const away = () => Promise.reject(new Error('connection refused'))
  let isAway: boolean
  let saves: number
  let store: ResponseStore
  const ledger = {
    findResponse: async () => (isAway ? away() : row),
    async saveResponse() {
      saves += 1
      if (isAway) await away()
    },
    deleteResponse: async () => (isAway ? away() : undefined),
  }

  beforeEach(() => {
    isAway = false
    saves = 0
    store = createResponseStore(ledger, accounts, 1000)
  })
  afterEach(() => store.close())

  it('shows a response to the user whose key made it', async () => {
    expect(await store.find(RESPONSE_KEY, 7)).to.deep.equal({ form: 'openai' })
    expect(await store.find(RESPONSE_KEY, 8)).to.equal(undefined)
    // The user of an older copy of the log, which has given the id to somebody else.
    row.key_id = 'key_of_another_log'
    expect(await store.find(RESPONSE_KEY, 7)).to.equal(undefined)
    row.key_id = 'key_7'
  })

  it('answers 503 while the ledger is away', async () => {
    isAway = true
    for (const call of [store.find(RESPONSE_KEY, 7), store.remove(RESPONSE_KEY)])
      expect(await call.catch((error) => error)).to.include({ status: 503, code: 'responses_unavailable' })
  })

  it('rejects immediately until a ledger that was away is back', async () => {
    isAway = true
    const save = () => store.save(RESPONSE_KEY, response, author).catch(errorMessage)
    expect(await save()).to.equal('connection refused')
    expect(await save()).to.equal('the request ledger is away: connection refused')
    expect(saves).to.equal(1)
    isAway = false
    await waitUntil(async () => (await save()) === undefined)
    expect(saves).to.equal(2)
  })
})
