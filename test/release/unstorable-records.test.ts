import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { budgetOf, readBudget, setBudget } from '../support/budgets.ts'
import { type Answer, AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { scrape } from '../support/metrics.ts'
import { installAll, listPlugins, startWithPlugins } from '../support/plugins.ts'
import { sample } from '../support/rounds.ts'

/**
 * Adds to the trace what the header `x-entry` names, in the phase that `x-phase` names, and changes the field
 * that `x-break` names when the response has ended.
 */
const SCRIBBLER = `import { GatewayError } from 'signalbox'
const entry = { kind: 'own', rule_id: 1, name: 'Own', action: 'note', outcome: 'applied' }
const cyclic = { ...entry }
cyclic.self = cyclic
const thrower = { get kind() { throw new Error('no kind') } }
const ENTRIES = {
  'a good entry': [entry],
  'an action that is a number': [{ ...entry, action: 5 }],
  'a kind that is an object': [{ ...entry, kind: {} }],
  'a rule id that is a text': [{ ...entry, rule_id: 'seven' }],
  'a BigInt': [{ ...entry, rule_id: 5n }],
  'a BigInt in another field': [{ ...entry, more: 5n }],
  'a rule id without end': [{ ...entry, rule_id: Infinity }],
  'no object': [5],
  'a null': [null],
  'a list': [[]],
  'an object with a cycle': [cyclic],
  'a huge text': [{ ...entry, name: 'x'.repeat(5_000_000) }],
  'a getter that throws': [thrower],
  'toJSON that throws': [{ ...entry, toJSON() { throw new Error('no JSON') } }],
  'a revoked proxy': [revoked()],
  'a proxy': [new Proxy(entry, { get() { throw new Error('trap') } })],
  'a million entries': Array(1_000_000).fill(entry),
  'half a surrogate pair': [{ ...entry, action: 'x\\ud800' }],
}
function revoked() {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}
const write = (phase, exchange, list) => {
  const { 'x-phase': wanted, 'x-entry': name } = exchange.headers
  if (wanted !== phase) return
  for (const each of ENTRIES[name]) list.push(each)
}
const BREAK = {
  target: (exchange) => { exchange.target = { provider: {}, model: 5n } },
  attempts: ({ attempts }) => attempts.push({ target: {}, ms: 'x' }),
  model: (exchange) => { exchange.request = { ...exchange.request, model: 5 } },
  route: (exchange) => { exchange.route = { ...exchange.route, reason: {} } },
  trace: (exchange) => { exchange.trace = 5 },
  warnings: ({ warnings }) => warnings.push({ code: 'own', message: 7n }),
  cost: (exchange) => { exchange.costUsd = NaN },
  negativeCost: (exchange) => { exchange.costUsd = -1 },
  exchange: (exchange) => { Object.defineProperty(exchange, 'route', { get() { throw new Error('gone') } }) },
}
export default {
  name: 'scribbler', contract: 3, after: ['auth'],
  setup() { return {
    decide(exchange) {
      write('decide', exchange, exchange.trace)
      if (exchange.headers['x-phase'] === 'rejected') throw new GatewayError('conflict', 'No.')
    },
    reply(exchange, next) { write('reply', exchange, exchange.trace); return next() },
    inspect(exchange) {
      write('inspect', exchange, exchange.trace)
      return {
        transform(event) {
          write('transform', exchange, exchange.trace)
          BREAK[exchange.headers['x-break-early']]?.(exchange)
          return [event]
        },
      }
    },
    rejected: (exchange) => write('rejected', exchange, exchange.trace),
    observe({ exchange }) {
      if (exchange === undefined) return
      write('observe', exchange, exchange.trace)
      BREAK[exchange.headers['x-break']]?.(exchange)
    },
  } },
}`

const NAMES = [...SCRIBBLER.matchAll(/^ {2}'([^':]+)': /gm)].map(([, name = '']) => name)
const FIELDS = [...SCRIBBLER.matchAll(/^ {2}(\w+): \(.*,$/gm)].map(([, name = '']) => name)

/** What the gateway takes as it is, or without the fields that an entry does not have. */
const VALID = [
  'a good entry',
  'a BigInt in another field',
  'an object with a cycle',
  'toJSON that throws',
  'half a surrogate pair',
]

describe('a plugin that writes into records what cannot be stored', () => {
  for (const evidence of ['optional', 'required']) {
    const names = evidence === 'optional' ? NAMES : sample(NAMES, 6)
    const fields = evidence === 'optional' ? FIELDS : sample(FIELDS, 4)
    describe(`evidence: ${evidence}`, () => {
      let gateway: RunningGateway
      before(async () => {
        const settings = `ledger: { evidence: ${evidence} }\n`
        const add = [{ use: 'scribbler', before: 'ledger' }]
        gateway = await startWithPlugins({ scribbler: SCRIBBLER }, { add }, settings)
      })
      after(() => gateway?.stop())

      const ask = (headers: Record<string, string> = {}) =>
        gateway.call('POST', '/v1/chat/completions', chatBody('hello'), headers)

      async function isRecorded({ headers }: Pick<Answer, 'headers'>) {
        const id = headers.get('x-request-id')
        const { status } = await gateway.call('GET', `/admin/requests/${id}`, undefined, AS_ADMIN)
        return status === 200
      }

      async function serves() {
        const good = await ask()
        expect(good.status, JSON.stringify(good.body)).to.equal(200)
        expect(await isRecorded(good)).to.equal(true)
      }

      for (const phase of ['decide', 'reply', 'inspect', 'transform'])
        for (const entry of phase === 'decide' ? names : NAMES.slice(0, 2))
          it(`fails its own request at most, which is recorded: ${entry}, in ${phase}`, async () => {
            const bad = await ask({ 'x-phase': phase, 'x-entry': entry })
            expect(bad.status).to.equal(VALID.includes(entry) ? 200 : 500)
            expect(await isRecorded(bad)).to.equal(true)
            if (bad.status === 500) {
              const lines = gateway.stderr().split('\n')
              const id = String(bad.headers.get('x-request-id'))
              const line = lines.find((text) => text.includes(id) && text.includes('"err"'))
              expect(line).to.contain('plugin \\"scribbler\\" failed in ')
            }
            await serves()
          })

      for (const entry of names)
        it(`leaves a refusal as it is: ${entry}, in rejected`, async () => {
          const bad = await ask({ 'x-phase': 'rejected', 'x-entry': entry })
          expect(bad.status).to.equal(409)
          expect(await isRecorded(bad)).to.equal(true)
          await serves()
        })

      for (const headers of [
        ...names.map((entry) => ({ 'x-phase': 'observe', 'x-entry': entry })),
        ...fields.map((field) => ({ 'x-break': field })),
      ])
        it(`loses at most its own record, and logs which: ${Object.values(headers)}`, async () => {
          const bad = await ask(headers)
          expect(bad.status).to.equal(200)
          await serves()
          // With required evidence, it was recorded before observers saw it.
          if (evidence === 'required' || (await isRecorded(bad))) return
          const id = bad.headers.get('x-request-id')
          await gateway.wrote(`"requestId":"${id}","reason":"`)
          const isValid = 'x-entry' in headers && VALID.includes(headers['x-entry'])
          expect(isValid).to.equal(false)
        })

      for (const field of ['target', 'model'])
        it(`refuses its request alone if evidence is required: ${field}, while it is answered`, async () => {
          const { status } = await ask({ 'x-break-early': field })
          expect(status).to.equal(evidence === 'required' ? 503 : 200)
          await serves()
        })

      it('counts what is lost, and never makes the ledger unavailable', async () => {
        const metrics = await scrape(gateway)
        expect(metrics.sum('signalbox_ledger_dropped_total', { reason: 'rejected' })).to.be.greaterThan(1)
        expect(metrics.sum('signalbox_ledger_up')).to.equal(1)
        expect(gateway.stderr()).not.to.contain('ledger unavailable')
      })
    })

    it(`records what they cost, so that a rebuilt sum has it: evidence ${evidence}`, async () => {
      const pluginFolder = await installAll({ scribbler: SCRIBBLER })
      const add = [{ use: 'scribbler', before: 'ledger' }]
      const CONFIG = await listPlugins(pluginFolder, { add }, `ledger: { evidence: ${evidence} }\n`)
      const first = await startGateway({ CONFIG }, { pluginFolder })
      await setBudget(first, budgetOf.all(), { limit_usd: 100 })
      const cases = [
        ...names.map((entry) => ({ 'x-phase': 'observe', 'x-entry': entry })),
        ...fields.flatMap((field) => [{ 'x-break': field }, { 'x-break-early': field }]),
      ]
      for (const headers of cases)
        await first.call('POST', '/v1/chat/completions', chatBody('hello', { max_tokens: 20 }), headers)
      const { spent_usd, reserved_usd } = await readBudget(first, budgetOf.all())
      expect(reserved_usd).to.equal(0)
      expect(spent_usd).to.be.above(0)
      await first.stop()
      const second = await startGateway({ CONFIG }, { ...first, pluginFolder })
      // Where observers broke the cost after the budget had counted it, the worst case counts.
      const rebuilt = (await readBudget(second, budgetOf.all())).spent_usd
      expect(rebuilt).to.be.within(spent_usd - 1e-12, spent_usd * 1.05)
      await second.stop()
    })
  }
})
