import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { makeFolder } from '../support/folders.ts'
import { type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { INSPECTED, openHeap } from '../support/heap.ts'
import { providersAt } from '../support/providers.ts'
import { ROUNDS } from '../support/rounds.ts'
import { writeSettings } from '../support/settings-file.ts'
import { constant, createResponse, idIn, model, replay } from '../support/stored-responses.ts'
import { post } from '../support/streams.ts'

const STREAMS = ROUNDS.storedStreams

const hasEnded = (text: string, stream: boolean) =>
  stream ? text.includes('event: response.completed\n') && text.endsWith('\n\n') : text.endsWith('}')

describe('stored responses', () => {
  let sandbox: Sandbox

  before(async () => {
    sandbox = await startSandbox()
  })
  after(() => sandbox.close())

  it('survive restarts and kills', async function () {
    this.timeout(180_000)
    const dataDir = await makeFolder()
    const answered = new Map<string, { text: string; stream: boolean }>()
    let demoKey: string | undefined
    for (const signal of ROUNDS.responseStops) {
      const gateway = await startGatewayProcess(providersAt(sandbox), {
        dataDir,
        ...(demoKey && { demoKey }),
      })
      demoKey = gateway.demoKey
      await expectAll(gateway, answered)
      await stopWhileAnswering(gateway, signal, answered)
    }
    const gateway = await startGatewayOnFiles(providersAt(sandbox), { dataDir, demoKey: demoKey ?? '' })
    await expectAll(gateway, answered)
    await gateway.stop()
    expect(answered.size).to.be.at.least(20 * ROUNDS.responseStops.length)
  })

  async function expectAll(
    gateway: RunningGateway,
    answered: ReadonlyMap<string, { text: string; stream: boolean }>,
  ) {
    for (const [id, { text, stream }] of answered)
      expect(constant((await replay(gateway, id, stream)).text), id).to.equal(constant(text))
  }

  /** Sends the signal while eight clients receive responses. */
  async function stopWhileAnswering(
    gateway: GatewayProcess,
    signal: NodeJS.Signals,
    answered: Map<string, { text: string; stream: boolean }>,
  ) {
    const enough = answered.size + 20
    let stopped: Promise<unknown> | undefined
    const work = async (client: number) => {
      for (let n = 0; stopped === undefined; n++) {
        const stream = n % 2 === 0
        const body = { model, input: `client ${client} call ${n}`, stream }
        const text = await readAll(gateway, body)
        if (hasEnded(text, stream)) answered.set(idIn(text), { text, stream })
        if (answered.size >= enough) stopped ??= gateway.stop(signal)
      }
    }
    await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(work))
    await stopped
  }

  /** The text of a response as far as it arrived. */
  async function readAll(gateway: GatewayProcess, body: object): Promise<string> {
    let text = ''
    try {
      const response = await post(gateway, '/v1/responses', body)
      const decoder = new TextDecoder()
      for await (const bytes of response.body ?? []) text += decoder.decode(bytes, { stream: true })
    } catch {
      // The gateway was killed in mid-stream.
    }
    return text
  }
})

describe(`${STREAMS} streamed responses at once`, () => {
  it('are all stored, and leak no memory', async function () {
    this.timeout(180_000)
    const sandbox = await startSandbox()
    const plugins = ['auth', 'plan', 'responses', 'firewall', 'routing', 'dispatch', 'decorate']
    const CONFIG = await writeSettings(JSON.stringify({ plugins }))
    const gateway = await startGatewayProcess({
      ...providersAt(sandbox),
      ...INSPECTED,
      CONFIG,
      LOG_LEVEL: 'warn',
    })
    const heap = await openHeap(gateway.stderr())
    const wave = (count: number) =>
      Promise.all(
        Array.from({ length: count }, (_, n) =>
          createResponse(gateway, { input: `Number ${n} [[sandbox:token-delay=20]]`, stream: true }),
        ),
      )

    await wave(STREAMS)
    const before = await heap.weigh()
    const answers = await wave(STREAMS)
    const after = await heap.weigh()

    expect(after - before).to.be.lessThan(5)
    for (const { text } of answers) {
      const { status, text: again } = await replay(gateway, idIn(text), true)
      expect(status).to.equal(200)
      expect(constant(again)).to.equal(constant(text))
    }
    heap.close()
    await gateway.stop()
    await sandbox.close()
  })
})
