import path from 'node:path'
import { expect } from 'chai'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import {
  resetDeployments,
  startDeployments,
  type TwoDeployments,
  withDeployments,
} from '../support/deployments.ts'
import { type Answer, AS_ADMIN, type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { requirePostgres } from '../support/postgres.ts'
import { waitUntil } from '../support/wait.ts'

/** Makes the tables of a ledger those of before deployments. */
const OLDER = [
  'alter table requests drop column deployment',
  'drop index requests_by_session',
  'alter table requests drop column session',
  'drop table tool_calls',
  'drop table sessions',
  'drop table export_clock',
  'drop table export_parts',
  'drop table export_targets',
  "delete from kysely_migration where name >= '1.1-deployments'",
]

describe('a ledger of before deployments', function () {
  this.timeout(180_000)
  let both: TwoDeployments
  before(async () => {
    both = await startDeployments()
  })
  beforeEach(() => resetDeployments(both))
  after(() => both.close())

  it('is migrated on SQLite', async () => {
    await expectMigrated({}, async ({ dataDir }) => {
      const database = new SqliteDatabase(path.join(dataDir, 'ledger.db'))
      for (const statement of OLDER) database.exec(statement)
      database.close()
    })
  })

  it('is migrated on PostgreSQL, by two processes at once', async function () {
    const server = await requirePostgres(this)
    await expectMigrated({ LEDGER_URL: server.url }, async () => {
      const { rows } = await server.query("select schemaname from pg_tables where tablename = 'requests'")
      await server.query(`set search_path = "${rows[0].schemaname}"; ${OLDER.join('; ')}`)
    })
    await server.stop()
  })

  async function expectMigrated(
    environment: Record<string, string>,
    makeOlder: (gateway: RunningGateway) => Promise<void>,
  ): Promise<void> {
    const deployed = { ...(await withDeployments(both, { isSpareUsed: true })), ...environment }
    const { EAST_KEY: _, WEST_KEY: __, ...plain } = deployed
    const first = await startGatewayOnFiles({ ...plain, OPENAI_API_KEY: 'a-key' })
    const { dataDir, demoKey } = first
    const before = await ask(first, 'spare/some-model')
    expect(before.headers.has('x-deployment')).to.equal(false)
    await waitUntil(async () => (await listOf(first)).length === 1)
    await first.stop()
    await makeOlder(first)

    const nodes = await Promise.all([1, 2].map(() => startGatewayOnFiles(deployed, { dataDir, demoKey })))
    const answers: Answer[] = []
    for (const node of nodes) answers.push(await ask(node, 'gpt-4o'))
    const [node] = nodes as [RunningGateway]
    await waitUntil(async () => (await listOf(node)).length === 3)
    const shown = (await listOf(node)).map(({ x_request_id, deployment }) => [x_request_id, deployment])
    const expected = [before, ...answers].map(({ headers }) => [
      headers.get('x-request-id'),
      headers.get('x-deployment'),
    ])
    expect(shown).to.have.deep.members(expected)
    for (const [, place] of expected.slice(1)) expect(place).to.be.oneOf(['east', 'west'])
    const csv = await fetch(`${node.url}/admin/requests?format=csv`, { headers: AS_ADMIN })
    const [header = '', ...lines] = (await csv.text()).trimEnd().split('\r\n')
    expect(header.split(',').slice(-2)).to.deep.equal(['deployment', 'session_id'])
    const places = lines.map((line) => line.split(',').at(-2) || null)
    expect(places).to.deep.equal(shown.map(([, place]) => place))
    for (const each of nodes) await each.stop()
  }
})

const ask = async (gateway: RunningGateway, model: string) => {
  const body = { model, messages: [{ role: 'user', content: 'Hello' }] }
  const answer = await gateway.call('POST', '/v1/chat/completions', body)
  expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
  return answer
}

async function listOf(
  gateway: RunningGateway,
): Promise<{ x_request_id: string; deployment: string | null }[]> {
  return (await gateway.call('GET', '/admin/requests', undefined, AS_ADMIN)).body.data
}
