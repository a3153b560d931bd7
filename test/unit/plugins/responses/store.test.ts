import { expect } from 'chai'
import { pino } from 'pino'
import {
  type EndedExchange,
  EventLogUnavailableError,
  GatewayError,
  type JsonObject,
} from '../../../../core/contract/index.ts'
import type { ResponsesCall } from '../../../../core/dialects/responses/call.ts'
import type { ResponseEvent } from '../../../../core/events/domain-events.ts'
import { createSessionMemory } from '../../../../plugins/responses/session-memory.ts'
import { createResponseRecorder } from '../../../../plugins/responses/store.ts'
import { presenceOf, staying } from '../../../support/presence.ts'

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
  const saved: ResponseEvent[] = []
  const createRecorder = (save = async (_: string, event: ResponseEvent) => void saved.push(event)) => {
    saved.length = 0
    const store = { save, find: async () => undefined, remove: async () => undefined }
    return createResponseRecorder(store, createSessionMemory(), pino({ level: 'silent' }))
  }

  it('stores the response with the input of the call', async () => {
    const response = await createRecorder().persisterFor(exchange, call)(completed, [[0, 5]])
    expect(response).to.equal(completed)
    expect(saved).to.deep.equal([
      {
        type: 'ResponseCompleted',
        data: {
          userId: 7,
          form: 'interface',
          input: [{ role: 'user', content: 'Now' }],
          response: completed,
          pace: [[0, 5]],
        },
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

  it('adds a warning to the response when the event log is unavailable', async () => {
    const recorder = createRecorder(() => Promise.reject(new EventLogUnavailableError('unavailable')))
    const persist = recorder.persisterFor(exchange, call)
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
    await createRecorder().recordFailure(exchange, call, new GatewayError('firewall_blocked', 'Blocked.'))
    const [event] = saved
    expect(event?.type).to.equal('ResponseFailed')
    expect(event?.data.input).to.deep.equal([])
    expect(event?.data.response).to.deep.include({ status: 'failed', instructions: null })
    expect(event?.data.response.error).to.deep.equal({ code: 'invalid_prompt', message: 'Blocked.' })
    expect(event?.data.response.signalbox).to.have.nested.property('error.code', 'firewall_blocked')
    expect(JSON.stringify(event)).not.to.match(/secret|redacted|Now/)
  })

  it('stores a response as cancelled when the client disconnected, and never rejects', async () => {
    const aborted = { ...exchange, client: presenceOf(AbortSignal.abort()) }
    await createRecorder().recordFailure(aborted, call, new Error('client disconnected'))
    expect(saved[0]?.data.response).to.include({ status: 'cancelled', error: null })
    const failing = createRecorder(() => Promise.reject(new EventLogUnavailableError('unavailable')))
    await failing.recordFailure(aborted, call, new Error('x'))
  })
})
