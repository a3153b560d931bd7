import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { type Answer, type RunningGateway, startGateway } from '../support/gateway.ts'
import { scrapeUntil } from '../support/metrics.ts'

const DELAY_MS = 400
const DELAYED = `Hello [[sandbox:first-byte=${DELAY_MS}]]`

const overheadOf = ({ headers }: Pick<Answer, 'headers'>) => {
  const value = headers.get('x-signalbox-overhead-ms') ?? 'none'
  expect(value).to.match(/^\d+\.\d$/)
  return Number(value)
}

describe("the gateway's own time", () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  async function measure<Answered>(ask: () => Promise<Answered>) {
    const startedAt = performance.now()
    const answer = await ask()
    return { answer, ms: performance.now() - startedAt }
  }

  for (const stream of [false, true])
    it(`leaves out the wait for a provider's ${stream ? 'stream' : 'reply'}`, async () => {
      const body = JSON.stringify({ ...chatBody(DELAYED), stream })
      const authorization = `Bearer ${gateway.demoKey}`
      const { answer, ms } = await measure(async () => {
        const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
          ...{ method: 'POST', body },
          headers: { authorization, 'content-type': 'application/json' },
        })
        await answer.text()
        return answer
      })
      expect(answer.status).to.equal(200)
      expect(ms).to.be.at.least(DELAY_MS)
      expect(overheadOf(answer))
        .to.be.above(0)
        .and.at.most(ms - DELAY_MS + 1)
    })

  it('leaves out failed calls and the delay before a retry', async () => {
    const body = chatBody('Hello [[sandbox:status=503 times=9]]')
    const { answer, ms } = await measure(() => gateway.call('POST', '/v1/chat/completions', body))
    expect(answer.status).to.be.at.least(500)
    // A fixed model is retried after 100 ms.
    expect(ms).to.be.at.least(100)
    expect(overheadOf(answer)).to.be.at.most(ms - 99)
  })

  it('leaves out a body that arrives slowly', async () => {
    const text = JSON.stringify(chatBody('Hello'))
    const { answer, ms } = await measure(async () => {
      const sent = request(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${gateway.demoKey}`,
          'content-type': 'application/json',
          'content-length': text.length,
        },
      })
      const answered = new Promise<Answer>((resolve, reject) => {
        sent.on('error', reject).on('response', (response) => {
          const headers = new Headers({
            'x-signalbox-overhead-ms': String(response.headers['x-signalbox-overhead-ms']),
          })
          response.resume().on('end', () => resolve({ status: response.statusCode ?? 0, headers } as Answer))
        })
      })
      sent.write(text.slice(0, 10))
      // The body takes this long.
      await sleep(DELAY_MS)
      sent.end(text.slice(10))
      return answered
    })
    expect(answer.status).to.equal(200)
    expect(overheadOf(answer)).to.be.at.most(ms - DELAY_MS + 1)
  })

  it('is told with errors, too, and by every inference endpoint', async () => {
    const invalid = await gateway.call('POST', '/v1/chat/completions', { model: 'gpt-4o' })
    expect(invalid.status).to.equal(400)
    overheadOf(invalid)
    const refused = await gateway.call('POST', '/v1/messages', {}, { authorization: 'Bearer none' })
    expect(refused.status).to.equal(401)
    overheadOf(refused)
    overheadOf(
      await gateway.call('POST', '/v1/embeddings', { model: 'text-embedding-3-small', input: 'Hello' }),
    )
    const models = await gateway.call('GET', '/v1/models')
    expect(models.headers.has('x-signalbox-overhead-ms')).to.equal(false)
  })

  it('is counted once per answer by the metric', async () => {
    const counted = (n: number) =>
      scrapeUntil(gateway, ({ sum }) => sum('signalbox_overhead_seconds_count') === n)
    const { sum } = await scrapeUntil(gateway, ({ sum }) => sum('signalbox_overhead_seconds_count') > 0)
    const before = sum('signalbox_overhead_seconds_count')
    const seconds = sum('signalbox_overhead_seconds_sum')
    const answer = await gateway.call('POST', '/v1/chat/completions', chatBody(DELAYED))
    const after = (await counted(before + 1)).sum('signalbox_overhead_seconds_sum')
    expect((after - seconds) * 1000).to.be.closeTo(overheadOf(answer), 0.06)
  })
})
