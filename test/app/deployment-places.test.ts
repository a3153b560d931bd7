import { expect } from 'chai'
import {
  resetDeployments,
  startDeployments,
  type TwoDeployments,
  withDeployments,
} from '../support/deployments.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { chunk, completionOf, type Script } from '../support/scripted-provider.ts'
import { waitUntil } from '../support/wait.ts'

const LIMIT = { max_concurrent: 1, tokens_per_minute: 100_000 }

describe('a place at a deployment', function () {
  this.timeout(60_000)
  let both: TwoDeployments
  let gateway: RunningGateway
  before(async () => {
    both = await startDeployments()
    const row = { balance: 'least_busy' }
    gateway = await startGateway(await withDeployments(both, { east: LIMIT, west: LIMIT, row }))
  })
  beforeEach(() => resetDeployments(both))
  after(async () => {
    await gateway.stop()
    both.close()
  })

  const send = (more: object = {}, signal?: AbortSignal) =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ model: 'gpt-4o', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }], ...more },
      }),
      ...(signal && { signal }),
    })

  const play = (script: Script) => {
    for (const provider of [both.east, both.west]) provider.play(script)
  }
  const inFlight = () => both.east.counts.inFlight + both.west.counts.inFlight

  /** Two requests at once are served, one by each deployment. */
  async function expectFree(): Promise<void> {
    await waitUntil(() => inFlight() === 0)
    let release: () => void = () => undefined
    const until = new Promise<void>((resolve) => {
      release = resolve
    })
    play({ body: completionOf(10, 40), until })
    const answers = [send(), send()]
    await waitUntil(() => inFlight() === 2)
    release()
    const places = (await Promise.all(answers)).map(({ headers }) => headers.get('x-deployment'))
    expect(places).to.have.members(['east', 'west'])
  }

  it('is free again when its client has disconnected before the reply', async () => {
    for (let round = 0; round < 3; round++) {
      const controller = new AbortController()
      play({ body: completionOf(10, 40), until: new Promise(() => undefined) })
      const answers = [send({}, controller.signal), send({}, controller.signal)]
      await waitUntil(() => inFlight() === 2)
      controller.abort()
      await Promise.allSettled(answers)
      await expectFree()
    }
  })

  it('is free again when its client has disconnected in the middle of a stream', async () => {
    for (let round = 0; round < 3; round++) {
      const controller = new AbortController()
      play({ chunks: Array.from({ length: 1000 }, () => chunk({ content: 'Hi' })), delayMs: 20 })
      const streams = await Promise.all([1, 2].map(() => send({ stream: true }, controller.signal)))
      for (const { status } of streams) expect(status).to.equal(200)
      controller.abort()
      await expectFree()
    }
  })

  it('is free again after a failure', async () => {
    play({ status: 500, body: { error: { message: 'broken' } } })
    expect((await send()).status).to.equal(502)
    await expectFree()
    play({ chunks: ['not a stream'] })
    const answer = await send({ stream: true })
    await answer.text()
    await expectFree()
  })
})
