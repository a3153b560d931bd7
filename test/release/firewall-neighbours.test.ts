import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { firewallRuleBody, routingRuleBody } from '../support/bodies.ts'
import { prose } from '../support/evasion.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

/** Half of the default, so that the patterns below need not run for long to exceed it. */
const CPU_MS = 250

/** A pattern that RE2 runs for seconds on this text, several times the limit, and cannot be interrupted. */
const STUCK_PATTERN = '/[ab]{1000}[ab]{1000}c/'
const STUCK_LENGTH = 200_000

/** A pattern with catastrophic backtracking, which is interrupted. */
const RUNAWAY_PATTERN = '(a+)+(?![a!])'

const rule = (more: object) => firewallRuleBody({ name: 'r', type: 'regex', action: 'block', ...more })
const prompt = (content: string) => ({ messages: [{ role: 'user', content }] })
const noise = (length: number) =>
  Array.from({ length: length / 10 }, (_, n) => ((n * 2654435761) >>> 22).toString(2).padStart(10, '0'))
    .join('')
    .replaceAll('0', 'a')
    .replaceAll('1', 'b')

describe('a user whose patterns take long', () => {
  let gateway: RunningGateway

  before(async () => {
    const firewall = `{ use: firewall, before: routing, options: { cpu_ms: ${CPU_MS} } }`
    const plugins = `plugins: { remove: [firewall], add: [${firewall}] }\n`
    gateway = await startGateway(await withSettings(`${UNLIMITED}${plugins}`))
  })
  after(() => gateway?.stop())

  const chat = (user: TestUser, content: string) => user.call('POST', '/v1/chat/completions', prompt(content))

  async function makeUser(...rules: readonly object[]): Promise<TestUser> {
    const user = await newUser(gateway)
    for (const each of rules) {
      expect((await user.call('POST', '/v1/firewall-rules', rule(each))).status).to.equal(201)
    }
    return user
  }

  /** Users whose requests need a pattern worker. */
  async function makeNeighbours(): Promise<readonly (() => Promise<void>)[]> {
    const cards = await makeUser({ pattern: '(?<!\\d)(?:\\d[ -]?){13,16}(?!\\d)' })
    const longList = await makeUser({
      pattern: Array.from({ length: 150 }, (_, n) => `classified document ${n}`).join('|'),
    })
    const text = prose(16_000)
    return [cards, longList].map((user) => async () => {
      expect((await chat(user, text)).status).to.equal(200)
      const { status, body } = await chat(user, `${text} 4111 1111 1111 1111, classified document 77 ${text}`)
      expect(status).to.equal(403)
      expect(body.error.message).to.equal('Request blocked by firewall rule "r".')
    })
  }

  it('does not stop the requests of others while RE2 is stuck', async () => {
    const neighbours = await makeNeighbours()
    const abuser = await makeUser({ pattern: STUCK_PATTERN, action: 'warn' }, { pattern: 'harmless' })
    const stuck = chat(abuser, noise(STUCK_LENGTH))
    let isOver = false
    const over = stuck.then(({ status, body }) => {
      isOver = true
      expect(status).to.equal(200)
      expect(JSON.stringify(body.metadata.warnings)).to.contain('was not evaluated')
    })
    let rounds = 0
    while (!isOver || rounds < 5) {
      await Promise.all(neighbours.map((ask) => ask()))
      rounds += 1
      await sleep(100)
    }
    await over
  })

  it('does not stop the requests of others with runaway patterns', async () => {
    const neighbours = await makeNeighbours()
    const abuser = await makeUser({ pattern: RUNAWAY_PATTERN })
    const runaways = Array.from({ length: 3 }, () => chat(abuser, `${'a'.repeat(60)}!`))
    for (let round = 0; round < 5; round++) await Promise.all(neighbours.map((ask) => ask()))
    for (const { status, headers, body } of await Promise.all(runaways)) {
      expect(status).to.equal(403)
      expect(headers.get('x-error-code')).to.equal('firewall_timeout')
      expect(body.error.message).to.contain('exceeded the time limit')
    }
  })

  it('gets no more than their own requests refused with many long texts in contains', async () => {
    const neighbours = await makeNeighbours()
    const abuser = await newUser(gateway)
    const operations = Array.from({ length: 320 }, (_, n) => ({
      kind: 'routing',
      op: 'create',
      data: routingRuleBody({ match_json: { contains: `${'x'.repeat(990)}${n}` } }),
    }))
    expect((await abuser.call('POST', '/v1/rules/batch', { operations })).status).to.equal(200)
    const heavy = Array.from({ length: 3 }, () => chat(abuser, 'x'.repeat(160_000)))
    for (let round = 0; round < 5; round++) await Promise.all(neighbours.map((ask) => ask()))
    for (const { status } of await Promise.all(heavy)) expect(status).to.be.below(500)
  })
})
