import { expect } from 'chai'
import { pino } from 'pino'
import {
  EventLogUnavailableError,
  type Exchange,
  GatewayError,
  type JsonObject,
} from '../../../../core/contract/index.ts'
import type { ResponsesCall } from '../../../../core/dialects/responses/call.ts'
import type { ResponseEvent } from '../../../../core/events/domain-events.ts'
import { createResponseRecorder } from '../../../../plugins/responses/store.ts'
import { presenceOf, staying } from '../../../support/presence.ts'

const SEED = 'abcdefghijklmnopqrstuvwx'

const call: ResponsesCall = {
  body: { input: 'Now', instructions: 'a secret', previous_response_id: 'resp_before' },
  responseKey: SEED,
  createdAt: 1,
  form: 'interface',
  inputCount: 1,
  earlierCount: 2,
}

// As far as keepers look.
const exchange = {
  id: `req_${SEED}`,
  account: { userId: 7 },
  client: staying,
  request: {
    messages: [
      { role: 'system', content: 'a [redacted]' },
      { role: 'user', content: 'Before' },
      { role: 'assistant', content: 'Yes' },
      { role: 'user', content: 'Now' },
    ],
  },
} as unknown as Exchange

const completed = {
  id: `resp_${SEED}`,
  status: 'completed',
  store: true,
  completed_at: 2,
  metadata: { team: 'red' },
}

describe('keeping responses', () => {
  const saved: ResponseEvent[] = []
  const open = (save = async (_: string, event: ResponseEvent) => void saved.push(event)) => {
    saved.length = 0
    const store = { save, find: async () => undefined, remove: async () => undefined }
    return createResponseRecorder(store, pino({ level: 'silent' }))
  }

  it('keeps the response with what the call itself said', async () => {
    const answered = await open().persisterFor(exchange, call)(completed, [[0, 5]])
    expect(answered).to.equal(completed)
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

  it('keeps nothing with store:false', async () => {
    const response = { ...completed, store: false }
    expect(await open().persisterFor(exchange, call)(response)).to.equal(response)
    await open().recordFailure(exchange, { ...call, body: { ...call.body, store: false } }, new Error('x'))
    expect(saved).to.deep.equal([])
  })

  it('says so in the answer when the log is away', async () => {
    const keep = open(() => Promise.reject(new EventLogUnavailableError('away'))).persisterFor(exchange, call)
    const answered: JsonObject = await keep({
      ...completed,
      metadata: { team: 'red', warnings: [{ code: 'plan' }] },
    })
    expect(answered).to.include({ status: 'completed', store: false })
    expect(answered.metadata).to.deep.equal({
      team: 'red',
      warnings: [
        { code: 'plan' },
        {
          code: 'not_stored',
          message: 'The response could not be stored: it cannot be replayed or continued.',
        },
      ],
    })
  })

  it('notes a failure without any text of the request', async () => {
    await open().recordFailure(exchange, call, new GatewayError('firewall_blocked', 'Blocked.'))
    const [event] = saved
    expect(event?.type).to.equal('ResponseFailed')
    expect(event?.data.input).to.deep.equal([])
    expect(event?.data.response).to.deep.include({ status: 'failed', instructions: null })
    expect(event?.data.response.error).to.deep.equal({ code: 'firewall_blocked', message: 'Blocked.' })
    expect(JSON.stringify(event)).not.to.match(/secret|redacted|Now/)
  })

  it('notes a client that left as cancelled, and never rejects', async () => {
    const left = { ...exchange, client: presenceOf(AbortSignal.abort()) }
    await open().recordFailure(left, call, new Error('the client left'))
    expect(saved[0]?.data.response).to.include({ status: 'cancelled', error: null })
    await open(() => Promise.reject(new EventLogUnavailableError('away'))).recordFailure(
      left,
      call,
      new Error('x'),
    )
  })
})
