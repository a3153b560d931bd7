import path from 'node:path'
import { expect } from 'chai'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { logged } from '../support/gateway-log.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

const BLOCK = firewallRuleBody({ name: 'No secrets', pattern: 'secret', action: 'block' })

const send = ({ call }: RunningGateway, text: string, more: object = {}) =>
  call('POST', '/v1/chat/completions', { ...chatBody(text), ...more })

const list = async ({ call }: RunningGateway) => (await call('GET', '/v1/requests')).body.data

/** Keeps the ledger of a gateway from writing until the result is called. */
function holdLedger({ dataDir }: RunningGateway): () => void {
  const database = new SqliteDatabase(path.join(dataDir, 'ledger.db'))
  database.exec('BEGIN IMMEDIATE')
  return () => {
    database.exec('ROLLBACK')
    database.close()
  }
}

describe('a ledger that is slow', () => {
  let gateway: RunningGateway

  afterEach(() => gateway?.stop())

  async function start(evidence: string): Promise<void> {
    gateway = await startGatewayOnFiles(await withSettings(`${UNLIMITED}ledger: { evidence: ${evidence} }\n`))
    expect((await gateway.call('POST', '/v1/firewall-rules', BLOCK)).status).to.equal(201)
    expect((await send(gateway, 'a secret')).status).to.equal(403)
    expect(await list(gateway)).to.have.length(1)
  }

  const expectUnrecorded = async (text: string, more: object = {}) => {
    const { status, headers, body } = await send(gateway, text, more)
    expect(status).to.equal(503)
    expect(headers.get('x-error-code')).to.equal('ledger_unavailable')
    expect(headers.get('retry-after')).not.to.equal(null)
    expect(JSON.stringify(body)).not.to.contain('No secrets')
  }

  it('with required evidence, refuses with 503 what it would refuse with 403 and cannot record', async () => {
    await start('required')
    const release = holdLedger(gateway)
    await expectUnrecorded('a secret')
    // The ledger counts as away now, and nothing waits for it.
    await expectUnrecorded('another secret', { stream: true })
    await expectUnrecorded('hello')
    release()
    await logged(gateway, 'request ledger available again')
    expect((await send(gateway, 'a secret')).status).to.equal(403)
    const records = await list(gateway)
    expect(records).to.have.length(5)
    const [, , streamed, first] = records
    // The write that took too long may have ended after the answer.
    expect(first.status).to.be.oneOf([403, 503])
    expect(streamed.status).to.equal(503)
    expect(streamed.error.code).to.equal('ledger_unavailable')
    for (const { x_request_id: id } of [first, streamed]) {
      const { body } = await gateway.call('GET', `/v1/requests/${id}`)
      expect(JSON.stringify(body)).to.contain('No secrets')
    }
  })

  it('with required evidence, answers other errors only once they are recorded', async () => {
    await start('required')
    const release = holdLedger(gateway)
    await expectUnrecorded('hello', { model: 'no-such-model' })
    release()
    await logged(gateway, 'request ledger available again')
  })

  it('with optional evidence, a refusal stays a refusal', async () => {
    await start('optional')
    const release = holdLedger(gateway)
    expect((await send(gateway, 'a secret')).status).to.equal(403)
    release()
    await logged(gateway, 'request ledger available again')
    const records = await list(gateway)
    expect(records.map(({ status }: { status: number }) => status)).to.deep.equal([403, 403])
  })
})
