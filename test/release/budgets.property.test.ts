import { expect } from 'chai'
import { budgetOf } from '../support/budgets.ts'
import { etagOf, expectRefusal, expectSequence, failingConditions } from '../support/describe-resource.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { createRandom, type Random } from '../support/random.ts'
import { ROUNDS } from '../support/rounds.ts'

type Fields = Readonly<Record<string, unknown>>

const randomBudget = (random: Random): Fields => ({
  limit_usd: random.pick([0, 0.5, 20]),
  period: random.pick(['day', 'total']),
  on_exceed: random.pick(['refuse', 'downgrade']),
  ...(random.chance(0.5) && { warn_ratio: 0.8 }),
})

const BUDGET = { limit_usd: 5, period: 'month', on_exceed: 'refuse' }

const INVALID = [{}, { ...BUDGET, limit_usd: -1 }, { ...BUDGET, period: 'year' }, { ...BUDGET, nmae: 'x' }]

/** What has a budget: the path of that of a new owner, and, if there can be several owners, of none. */
const KINDS: readonly {
  readonly name: string
  add(gateway: RunningGateway): Promise<string>
  readonly missing?: readonly string[]
  /** How the audit trail names its changes. */
  readonly audited: readonly [kind: string, prefix: string]
  /** Whether the owner's end is that of the budget, whose history stays. */
  readonly endsWithOwner?: true
}[] = [
  {
    name: 'a user',
    add: async (gateway) => budgetOf.user((await newUser(gateway)).id),
    audited: ['user', 'budget_'],
    missing: [budgetOf.user(999_999), '/admin/users/x/budget'],
    endsWithOwner: true,
  },
  {
    name: 'a key',
    add: async (gateway) => budgetOf.key((await newUser(gateway)).keyId),
    audited: ['key', 'budget_'],
    missing: [budgetOf.key('key_unknown')],
  },
  {
    name: 'a group',
    async add(gateway) {
      const { body } = await gateway.call('POST', '/admin/groups', { name: 'Support' }, AS_ADMIN)
      return budgetOf.group(body.data.id)
    },
    audited: ['group', 'budget_'],
    missing: [budgetOf.group(999_999), '/admin/groups/x/budget'],
    endsWithOwner: true,
  },
  { name: 'everything', add: async () => budgetOf.all(), audited: ['budget', ''] },
  { name: 'copies for other models', add: async () => budgetOf.shadow(), audited: ['budget', 'shadow_'] },
]

for (const { name, add, audited, missing = [], endsWithOwner } of KINDS) {
  describe(`the budget of ${name}`, () => {
    let gateway: RunningGateway
    let path: string
    beforeEach(async () => {
      gateway = await startGateway()
      path = await add(gateway)
    })
    afterEach(() => gateway.stop())

    const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      gateway.call(method, path, body, { ...AS_ADMIN, ...headers })

    const readHistory = async () => (await call('GET', `${path}/history`)).body.data

    it('agrees with a model in every read, history and conditional change', async () => {
      const random = createRandom(20_261_127)
      let terms: Fields | null = null
      let etag = ''
      const past: { readonly position: number; readonly terms: Fields | null }[] = []
      for (let step = 0; step < ROUNDS.resourceChanges; step++) {
        const before = past.length
        const action = random.pick(['set', 'set', 'repeat', 'remove', 'refuse'])
        if (action === 'set' || terms === null) {
          const wanted = randomBudget(random)
          const met = [{ 'if-match': etag }, { 'if-match': '*' }, { 'if-none-match': '"another"' }, {}]
          const condition = terms === null ? { 'if-none-match': '*' } : random.pick(met)
          const answer = await call('PUT', path, wanted, condition as Record<string, string>)
          expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
          expect(answer.body.data).to.deep.include({ ...wanted, spent_usd: 0, reserved_usd: 0 })
          expect(etagOf(answer) !== etag, 'a new ETag').to.equal(!isSame(wanted, terms))
          etag = etagOf(answer)
          if (!isSame(wanted, terms)) past.push({ position: 0, terms: wanted })
          terms = wanted
        } else if (action === 'repeat') {
          expect(etagOf(await call('PUT', path, terms))).to.equal(etag)
        } else if (action === 'remove') {
          for (const condition of [{ 'if-match': etag }, {}])
            expect((await call('DELETE', path, undefined, condition)).body).to.deep.equal({ success: true })
          ;[terms, etag] = [null, '']
          past.push({ position: 0, terms })
        } else {
          for (const condition of failingConditions(etag)) {
            await expectRefusal(call('PUT', path, randomBudget(random), condition), 412)
            await expectRefusal(call('DELETE', path, undefined, condition), 412)
          }
        }
        const read = await call('GET', path)
        if (terms === null) expect(read.status).to.equal(404)
        else {
          expect(read.body.data).to.include(terms)
          expect(etagOf(read)).to.equal(etag)
          const spent = await call('GET', path, undefined, { 'if-none-match': etag })
          expect(spent.status, 'what is spent is never unchanged').to.equal(200)
        }
        const history = await readHistory()
        expect(history).to.have.length(past.length)
        const newest = history.at(-1)
        expect(newest).to.include({ kind: 'budget', event: past.at(-1)?.terms ? 'set' : 'removed' })
        expect(newest.after).to.deep.equal(past.at(-1)?.terms)
        if (past.length > before) past[past.length - 1] = { position: newest.position, terms: newest.after }
      }
      expectSequence(await readHistory())
      for (const { position, terms } of past) {
        const then = await call('GET', `${path}?as_of=${position}`)
        if (terms === null) expect(then.status).to.equal(404)
        else expect(then.body.data).to.deep.equal(terms)
      }
    })

    it('keeps who made a change, and why', async () => {
      const reason = { 'x-change-reason': 'Ticket 4711' }
      for (const budget of [{ ...BUDGET, warn_ratio: 0.5 }, BUDGET]) await call('PUT', path, budget, reason)
      await call('DELETE', path, undefined, reason)
      for (const change of await readHistory()) {
        expect(change).to.include({ reason: 'Ticket 4711' })
        expect(change.actor).to.include({ type: 'root' })
      }
      const [kind, prefix] = audited
      const newest = (await call('GET', '/admin/audit?limit=2&objects=true')).body.data
      const { before } = newest[0]
      expect(kind === 'budget' ? before : before.budget, 'what it was').to.deep.equal(BUDGET)
      expect(newest.map((entry: Fields) => [entry.kind, entry.event])).to.deep.equal([
        [kind, `${prefix}removed`],
        [kind, `${prefix}set`],
      ])
    })

    it('refuses what is not valid, and what does not exist', async () => {
      await expectRefusal(call('GET', path), 404)
      expect(await readHistory(), 'the history of none').to.deep.equal([])
      await expectRefusal(call('PUT', path, BUDGET, { 'if-match': '*' }), 412)
      await call('PUT', path, BUDGET)
      for (const body of INVALID) await expectRefusal(call('PUT', path, body), 400)
      for (const method of ['PUT', 'DELETE'])
        await expectRefusal(call(method, path, BUDGET, { 'if-match': 'x' }), 400)
      for (const asOf of ['999999999', 'x']) await expectRefusal(call('GET', `${path}?as_of=${asOf}`), 400)
      for (const unknown of missing) {
        await expectRefusal(call('PUT', unknown, BUDGET), 404)
        for (const [method, path] of [
          ['GET', unknown],
          ['DELETE', unknown],
          ['GET', `${unknown}/history`],
          ['GET', `${unknown}?as_of=1`],
        ] as const) {
          await expectRefusal(call(method, path), 404)
          const { message } = (await call(method, path)).body.error
          expect(message).to.match(/^(User|Key|Group) \w+ was not found\.$/)
        }
      }
      expect((await call('GET', path)).body.data).to.include(BUDGET)
    })

    it('is the same after a restart, from a snapshot', async () => {
      await call('PUT', path, { ...BUDGET, limit_usd: 4 })
      const before = await call('PUT', path, BUDGET)
      const history = await readHistory()
      await gateway.stop()
      gateway = await startGateway({}, gateway)
      const after = await call('GET', path)
      expect([after.body, etagOf(after)]).to.deep.equal([before.body, etagOf(before)])
      expect(await readHistory()).to.deep.equal(history)
    })

    if (endsWithOwner) {
      it('ends with its owner', async () => {
        await call('PUT', path, BUDGET)
        const [{ position }] = await readHistory()
        await call('DELETE', path.replace('/budget', ''))
        await expectRefusal(call('GET', path), 404)
        expect((await readHistory()).at(-1)).to.deep.include({
          event: 'removed',
          before: BUDGET,
          after: null,
        })
        expect((await call('GET', `${path}?as_of=${position}`)).body.data).to.deep.equal(BUDGET)
      })
    }
  })
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
