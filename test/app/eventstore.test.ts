import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { firewallRuleBody } from '../support/bodies.ts'
import { captureOutput } from '../support/captured-output.ts'
import { runCommand } from '../support/command.ts'
import { type EventStore, startEventStore } from '../support/eventstore/server.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { patternsOf } from '../support/rule-patterns.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'

describe('a gateway on EventStoreDB, when the server is unavailable', () => {
  let file: string
  let server: EventStore
  let environment: Record<string, string>
  let gateway: RunningGateway
  let keyOfOtherNode: string

  before(async () => {
    file = path.join(await makeFolder(), 'events.db')
    server = await startEventStore({ file })
    environment = { ...(await withSettings(UNLIMITED)), EVENTSTORE_URL: server.connectionString }
    gateway = await startGateway(environment)
  })

  after(async () => {
    await gateway.stop()
    await server.stop()
  })

  /** Starts the server again, on the same port with the same events. */
  const restart = async () => {
    server = await startEventStore({ port: server.port, file })
  }

  const readiness = async () => (await gateway.call('GET', '/readyz')).body.event_log
  const becomes = async (state: string) => {
    await waitUntil(async () => (await readiness()) === state)
  }

  it('serves with the keys and rules that it has, refuses changes, and recovers', async () => {
    const { body: created } = await gateway.call('POST', '/v1/firewall-rules', rule('known-word', 'block'))
    await server.stop()
    await becomes('away')

    expect((await gateway.call('GET', '/readyz')).status).to.equal(200)
    expect((await ask(gateway, 'hello')).status).to.equal(200)
    expect((await ask(gateway, 'known-word')).status).to.equal(403)
    expect((await ask(gateway, 'hello', { authorization: 'Bearer tr_unknown' })).status).to.equal(401)
    expect((await gateway.call('GET', '/v1/firewall-rules')).body.data).to.have.length(1)

    const changes = [
      gateway.call('POST', '/v1/firewall-rules', rule('new', 'warn')),
      gateway.call('PATCH', `/v1/firewall-rules/${created.data.id}`, { action: 'warn' }),
      gateway.call('DELETE', `/v1/firewall-rules/${created.data.id}`),
      gateway.call('POST', '/v1/rules/batch', {
        operations: [{ kind: 'firewall', op: 'delete', id: created.data.id }],
      }),
      gateway.call('POST', '/admin/users', { name: 'Ada', plan: 'free' }, AS_ADMIN),
      gateway.call('PATCH', '/admin/users/1', { plan: 'free' }, AS_ADMIN),
      gateway.call('POST', '/admin/users/1/keys', undefined, AS_ADMIN),
    ]
    for (const { status, headers, body } of await Promise.all(changes)) {
      expect(status).to.equal(503)
      expect(headers.get('retry-after')).to.equal('1')
      expect(body.error.message).to.contain('Nothing was changed')
    }

    await restart()
    await becomes('following')
    expect((await gateway.call('POST', '/v1/firewall-rules', rule('after', 'warn'))).status).to.equal(201)
    expect(await sortedPatterns(gateway)).to.deep.equal(['after', 'known-word'])
  })

  it('answers all waiting requests when the server does not respond', async () => {
    // Two timeouts of the event log, of 4.5 s each, answer all requests; one for each would take 90 s.
    server.delay(60_000)
    const [{ id }] = (await gateway.call('GET', '/v1/firewall-rules')).body.data
    const change = (n: number) => gateway.call('PATCH', `/v1/firewall-rules/${id}`, { priority: n })

    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => change(n)))

    for (const { status, headers } of answers) {
      expect(status).to.equal(503)
      expect(headers.get('retry-after')).to.equal('1')
    }
    const messages = answers.map(({ body }) => body.error.message)
    expect(messages.filter((message) => message.includes('may or may not have been saved'))).to.have.length(1)
    expect(messages.filter((message) => message.includes('Nothing was changed'))).to.have.length(19)
    server.delay(0)
  })

  it('starts when the server is available', async () => {
    await server.stop()
    let isReady = false
    const output = captureOutput()
    const starting = startGateway(environment, { demoKey: gateway.demoKey, output }).then((started) => {
      isReady = true
      return started
    })
    // The warning that the event log is unavailable.
    await output.contains('"level":40')
    expect(isReady).to.equal(false)
    await restart()
    const started = await starting

    expect((await ask(started, 'known-word')).status).to.equal(403)
    await started.wrote('event log unavailable; retrying')
    await started.stop()
    keyOfOtherNode = (await runCommand(['log', 'key'], { ...environment, DATA_DIR: started.dataDir })).stdout
    await becomes('following')
  })

  it('starts from its snapshot and the events after it', async () => {
    const dataDir = await makeFolder()
    const first = await startGateway(environment, { dataDir, demoKey: gateway.demoKey })
    await first.stop()
    expect(first.stderr()).to.contain('snapshot written')
    const { status } = await gateway.call('POST', '/v1/firewall-rules', rule('came-after', 'block'))
    expect(status).to.equal(201)
    const second = await startGateway(environment, { dataDir, demoKey: gateway.demoKey })

    expect(await sortedPatterns(second)).to.deep.equal(await sortedPatterns(gateway))
    expect((await ask(second, 'came-after')).status).to.equal(403)
    await second.stop()
    const verify = () => runCommand(['log', 'verify'], { ...environment, DATA_DIR: dataDir })
    const unknown = await verify()
    expect(unknown.code).to.equal(1)
    expect(unknown.stderr).to.contain(`was signed with an unknown key: ${keyOfOtherNode.trim()}. If it is`)
    await writeFile(path.join(dataDir, 'keys', 'other-node.pub'), keyOfOtherNode)
    const { code, stdout } = await verify()
    expect(stdout.match(/matches the events/g)).to.have.length(2)
    expect(code).to.equal(0)
  })
})

const rule = (pattern: string, action: string) => firewallRuleBody({ name: pattern, pattern, action })

function ask(gateway: RunningGateway, content: string, headers: Record<string, string> = {}) {
  return gateway.call('POST', '/v1/chat/completions', { messages: [{ role: 'user', content }] }, headers)
}

async function sortedPatterns(gateway: RunningGateway): Promise<readonly string[]> {
  return (await patternsOf(gateway)).toSorted()
}
