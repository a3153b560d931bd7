import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { logged } from '../support/gateway-log.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { UNLIMITED } from '../support/settings.ts'
import { writeSettings } from '../support/settings-file.ts'
import { waitUntil } from '../support/wait.ts'
import { isAlive, workerPids } from '../support/workers.ts'

const RULE = {
  ...{ name: 'No secrets', is_enabled: true, priority: 0, scope: 'prompt' },
  ...{ type: 'substring', pattern: 'secret', action: 'block' },
}

/** No request reaches the provider: a rule blocks all of them. */
describe('two workers with a provider', () => {
  let gateway: GatewayProcess

  before(async () => {
    const CONFIG = await writeSettings(`${UNLIMITED}timeouts: { heartbeat_ms: 3000 }\n`)
    gateway = await startGatewayProcess({ CONFIG, WORKERS: '2', OPENAI_API_KEY: 'a-real-key' })
  })
  after(() => gateway?.stop())

  it('create no user, and say how to', async () => {
    await gateway.wrote('main.js users add --name Ada --plan paid')
    expect(gateway.stderr()).not.to.match(/tr_|SIGNALBOX_KEY/)
  })

  it('are replaced when they hang, and a change that waits for one is made and answered so', async () => {
    const pid = (await workerPids(gateway, 2)).get(2) ?? 0
    process.kill(pid, 'SIGSTOP')
    // Connections go to the workers in turn; the one that the hung worker got is lost.
    const create = () => gateway.call('POST', '/v1/firewall-rules', RULE, { connection: 'close' })
    const { status, body } = await Promise.any([create(), create()])
    expect(status).to.equal(201)
    expect(body.warnings).to.have.length(1)
    expect(body.warnings[0].code).to.equal('workers_replaced')
    expect(body.warnings[0].message).to.contain('The change was made. Worker 2 did not respond')

    const [killed] = await logged(gateway, 'worker missed its heartbeats; killing it', 1)
    expect(killed).to.include({ worker: 2, pid })
    expect((await workerPids(gateway, 3)).get(2)).not.to.equal(pid)
    for (let request = 0; request < 4; request++) {
      const { status } = await gateway.call('POST', '/v1/chat/completions', chatBody('secret'), {
        connection: 'close',
      })
      expect(status).to.equal(403)
    }
  })

  it('end when the primary is killed', async () => {
    const pids = [...(await workerPids(gateway, 2)).values()]
    expect(pids.every(isAlive)).to.equal(true)
    await gateway.stop('SIGKILL')
    await waitUntil(() => !pids.some(isAlive))
  })
})
