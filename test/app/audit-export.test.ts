import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { routingRuleBody } from '../support/bodies.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { rawResponse, startRawProvider } from '../support/raw-provider.ts'
import { startSignedWebhook } from '../support/signed-webhook.ts'
import { waitUntil } from '../support/wait.ts'

const AUDIT_EXPORT_SECRET = 'a-secret-for-the-export'

interface Batch {
  readonly log: string
  readonly entries: readonly { readonly position: number; readonly kind: string; readonly event: string }[]
}

const startWebhook = () => startSignedWebhook<Batch>(AUDIT_EXPORT_SECRET)

async function writeConfig(audit: object): Promise<string> {
  const file = path.join(await makeFolder(), 'settings.yaml')
  await writeFile(file, JSON.stringify({ audit: { export: audit } }))
  return file
}

/** What an export must have, at least once, of the gateway's events so far. */
async function expectedPositions(gateway: RunningGateway): Promise<readonly number[]> {
  const { body } = await gateway.call('GET', '/admin/audit?limit=500', undefined, AS_ADMIN)
  return body.data.map(({ position }: { position: number }) => position).toReversed()
}

describe('the export of the audit trail', () => {
  it('posts signed batches to a webhook, loses nothing while it is away, and resumes after a restart', async () => {
    const hook = await startWebhook()
    const environment = { CONFIG: await writeConfig({ webhook_url: hook.url }), AUDIT_EXPORT_SECRET }
    const dataDir = await makeFolder()
    const received = () => hook.bodies.flatMap(({ entries }) => entries.map(({ position }) => position))
    const arrived = (count: number) => waitUntil(() => new Set(received()).size >= count)

    const first = await startGateway(environment, { dataDir })
    await newUser(first)
    const before = await expectedPositions(first)
    await arrived(before.length)

    hook.state.status = 503
    const failedFrom = hook.state.calls
    const create = { kind: 'routing', op: 'create', data: routingRuleBody() }
    const operations = Array.from({ length: 130 }, () => create)
    expect((await first.call('POST', '/v1/rules/batch', { operations })).status).to.equal(200)
    await waitUntil(() => hook.state.calls > failedFrom)
    expect(new Set(received()).size).to.equal(before.length)
    await first.stop()

    hook.state.status = 200
    const second = await startGateway(environment, { dataDir })
    await newUser(second)
    const all = await expectedPositions(second)
    await arrived(all.length)
    expect([...new Set(received())]).to.deep.equal(all)
    expect(received().filter((position) => position === before[0])).to.have.length(1)
    expect(Math.max(...hook.bodies.map(({ entries }) => entries.length))).to.equal(100)
    expect(hook.bodies.every(({ log }) => log.startsWith('log_'))).to.equal(true)
    expect(hook.state.unsigned).to.equal(0)
    expect(JSON.stringify(hook.bodies)).not.to.match(/[0-9a-f]{64}/)
    expect(first.stderr()).to.contain('audit export failed; retrying').and.not.to.contain('token=hidden')
    await second.stop()
    hook.close()
  })

  it('appends JSON lines to a file per day in a folder', async () => {
    const folder = path.join(await makeFolder(), 'audit')
    const gateway = await startGateway({ CONFIG: await writeConfig({ folder }) })
    await newUser(gateway)
    const expected = await expectedPositions(gateway)
    const read = async () => {
      const names = await readdir(folder).catch(() => [])
      const texts = await Promise.all(names.map((name) => readFile(path.join(folder, name), 'utf8')))
      return texts.join('').trimEnd().split('\n')
    }
    await waitUntil(async () => (await read()).length === expected.length)
    const entries = (await read()).map((line) => JSON.parse(line))
    expect(entries.map(({ position }) => position)).to.deep.equal(expected)
    expect(entries.at(-1)).to.deep.include({ kind: 'key', event: 'created' })
    for (const name of await readdir(folder)) expect(name).to.match(/^audit-\d{4}-\d\d-\d\d\.jsonl$/)
    await gateway.stop()
  })

  it('sends each batch once to a webhook that responds with 100 Continue before', async () => {
    const provider = await startRawProvider()
    const received: number[] = []
    provider.respond(({ socket, body }) => {
      for (const { position } of body.entries) received.push(position)
      socket.write(Buffer.concat([Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'), rawResponse('')]))
    })
    const environment = { CONFIG: await writeConfig({ webhook_url: provider.url }), AUDIT_EXPORT_SECRET }
    const gateway = await startGateway(environment)
    await newUser(gateway)
    const expected = await expectedPositions(gateway)
    await waitUntil(() => received.length >= expected.length)
    expect(received).to.deep.equal(expected)
    await gateway.stop()
    provider.close()
  })

  it('needs a secret for a webhook', async () => {
    const CONFIG = await writeConfig({ webhook_url: 'https://example.com/hook' })
    const error = await startGateway({ CONFIG }).catch((thrown: Error) => thrown)
    expect((error as Error).message).to.contain('set AUDIT_EXPORT_SECRET')
  })
})
