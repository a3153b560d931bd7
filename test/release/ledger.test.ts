import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { findLeaks, place } from '../support/leaks.ts'
import { type RunningPostgres, requirePostgres } from '../support/postgres.ts'
import { ROUNDS } from '../support/rounds.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

const BLOCK = firewallRuleBody({ name: 'No secrets', pattern: 'secret', action: 'block' })

const askFor = (gateway: RunningGateway, content: string) =>
  gateway.call('POST', '/v1/chat/completions', chatBody(content))

describe('the ledger of a gateway that is killed', () => {
  for (const workers of [1, 2]) {
    it(`has every refusal that was answered, with ${workers} worker(s)`, async function () {
      this.timeout(60_000 + ROUNDS.ledgerKills * 15_000)
      const dataDir = await makeFolder()
      const refused: string[] = []
      let demoKey: string | undefined
      for (let round = 0; round < ROUNDS.ledgerKills; round++) {
        const options = { dataDir, ...(demoKey !== undefined && { demoKey }) }
        const gateway = await startGatewayProcess({ WORKERS: String(workers) }, options)
        demoKey = gateway.demoKey
        if (round === 0)
          expect((await gateway.call('POST', '/v1/firewall-rules', BLOCK)).status).to.equal(201)
        await killWhileRefusing(gateway, round, refused)
      }
      const gateway = await startGatewayOnFiles({}, { dataDir, demoKey: demoKey ?? '' })
      expect(refused.length).to.be.greaterThan(10 * ROUNDS.ledgerKills)
      const { body } = await gateway.call(
        'GET',
        '/admin/requests?limit=1000&action=block',
        undefined,
        AS_ADMIN,
      )
      const recorded = body.data.map(({ x_request_id }: { x_request_id: string }) => x_request_id)
      expect(recorded).to.include.members(refused)
      expect(new Set(recorded).size).to.equal(recorded.length)
      const { body: usage } = await gateway.call('GET', '/admin/usage?group_by=rule', undefined, AS_ADMIN)
      expect(usage.data[0].requests).to.equal(recorded.length)
      await gateway.stop()
    })
  }
})

/** Kills the gateway under four callers of whom every other request is refused. */
async function killWhileRefusing(gateway: GatewayProcess, round: number, refused: string[]): Promise<void> {
  let left = 20 + (round % 7)
  let killed: Promise<unknown> | undefined
  const ask = async (caller: number) => {
    for (let n = caller; killed === undefined; n++) {
      const content = n % 2 === 0 ? 'a secret' : 'hello'
      const answer = await askFor(gateway, content).catch(() => undefined)
      if (answer === undefined) return
      if (answer.status !== 403) continue
      refused.push(answer.headers.get('x-request-id') ?? '')
      if (--left === 0) killed = gateway.stop('SIGKILL')
    }
  }
  await Promise.all([0, 1, 2, 3].map(ask))
  await killed
}

describe('the ledger of two workers in PostgreSQL', () => {
  let server: RunningPostgres

  before(async function () {
    server = await requirePostgres(this)
  })

  after(() => server?.stop())

  it('finds there what any worker answered, with its prompts and no text of them', async () => {
    const gateway = await startGatewayProcess({
      ...(await withSettings(`${UNLIMITED}ledger: { record_prompts: full }\n`)),
      ...{ LEDGER_URL: server.url, WORKERS: '2', RECORD_KEY: randomBytes(32).toString('hex') },
    })
    const text = 'Fourteen-magenta-otters-audit-the-observatory'
    const [first] = await Promise.all(Array.from({ length: 10 }, () => askFor(gateway, text)))
    const path = `/admin/requests/${first!.headers.get('x-request-id')}/prompt`
    const { body } = await gateway.call('GET', path, undefined, AS_ADMIN)
    expect(body.data.request.messages[0].content).to.equal(text)
    const evaluated = await gateway.call('POST', '/admin/what-if', { file: {} }, AS_ADMIN)
    expect(evaluated.body.data.reproduced, JSON.stringify(evaluated.body)).to.include({
      same: 10,
      different: 0,
    })
    const { rows } = await server.query(
      "select table_schema from information_schema.tables where table_name = 'prompts'",
    )
    const stored = await Promise.all(
      rows.map(({ table_schema }) => server.query(`select data from "${table_schema}".prompts`)),
    )
    const texts = stored.flatMap((result) => result.rows.map(({ data }) => data.toString('latin1')))
    expect(texts).to.have.length(10)
    expect(
      findLeaks(
        { text },
        [...texts, gateway.stderr()].map((t) => place('row or log', t)),
      ),
    ).to.deep.equal([])

    for (let n = 0; n < 10; n++) {
      const { headers } = await askFor(gateway, 'hello')
      const { status } = await gateway.call('GET', `/v1/requests/${headers.get('x-request-id')}`)
      expect(status).to.equal(200)
    }
    const { body: usage } = await gateway.call('GET', '/v1/usage')
    expect(usage.data[0].requests).to.equal(20)
    expect(await gateway.stop()).to.equal(0)
  })
})
