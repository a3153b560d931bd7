import { expect } from 'chai'
import { type Answer, AS_ADMIN, type RunningGateway, startGateway } from './gateway.ts'
import { createRandom, type Random } from './random.ts'
import { ROUNDS } from './rounds.ts'

type Fields = Readonly<Record<string, unknown>>

/** What the tests of a resource need to know about it. All else follows from what all resources have. */
export interface TestedResource {
  /** Such as `/admin/groups`. */
  readonly path: string
  /** Singular, as the history names it. */
  readonly name: string
  /** Returns a valid new one: all its fields, some at random. */
  create(random: Random): Fields
  /** Returns a valid change of a field or several. */
  change(random: Random): Fields
  /** Bodies that are not valid, for new ones and for changes. */
  readonly invalid: readonly Fields[]
  /** Fields that are shown only when it is created. */
  readonly shownOnce?: readonly string[]
}

/** An entity as the last answer has shown it, and each of its earlier forms by the log position after it. */
interface Known {
  readonly path: string
  shown: Fields | null
  etag: string
  readonly past: { readonly position: number; readonly shown: Fields | null }[]
}

/**
 * Declares the tests of what all resources promise: random changes are compared with a model, so that every
 * read, list, history and conditional change must agree with the answers before it.
 */
export function describeResource(tested: TestedResource): void {
  const { path, name, shownOnce = [] } = tested

  describe(`what operators manage at ${path}`, () => {
    let gateway: RunningGateway
    before(async () => {
      gateway = await startGateway()
    })
    after(() => gateway.stop())

    const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      gateway.call(method, path, body, { ...AS_ADMIN, ...headers })

    async function expectRefusal(answer: Promise<Answer>, status: number): Promise<void> {
      const { status: actual, body, headers } = await answer
      expect(actual, JSON.stringify(body)).to.equal(status)
      expect(body.error.message, 'the message').to.be.a('string').and.not.equal('')
      expect(headers.get('x-error-code'), 'the code').to.be.a('string')
    }

    async function create(body: Fields): Promise<Known> {
      const answer = await call('POST', path, body)
      expect(answer.status, JSON.stringify(answer.body)).to.equal(201)
      const shown: Fields = { ...answer.body.data }
      for (const field of shownOnce) delete (shown as Record<string, unknown>)[field]
      expect(shown).to.deep.include(body)
      const { id } = shown
      return { path: `${path}/${id}`, shown, etag: etagOf(answer), past: [] }
    }

    const etagOf = ({ headers }: Answer): string => {
      expect(headers.get('etag')).to.match(/^"[\w-]+"$/)
      return headers.get('etag') ?? ''
    }

    const historyOf = async (known: Known) => (await call('GET', `${known.path}/history`)).body.data

    async function listAll(limit: number): Promise<readonly Fields[]> {
      const all: Fields[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page: Answer = await call('GET', `${path}?limit=${limit}${cursor && `&cursor=${cursor}`}`)
        expect(page.body.data.length).to.be.at.most(limit)
        all.push(...page.body.data)
        cursor = page.body.next_cursor
      }
      return all
    }

    /** Makes one random change, and returns what it was about. */
    async function changeOne(random: Random, all: Known[]): Promise<Known> {
      const alive = all.filter(({ shown }) => shown !== null)
      const known = random.pick(alive.length > 0 ? alive : [await create(tested.create(random))])
      if (!all.includes(known)) all.push(known)
      const action = random.pick(['change', 'change', 'create', 'create', 'delete', 'stale'] as const)
      if (action === 'create') {
        const created = await create(tested.create(random))
        all.push(created)
        return created
      }
      if (action === 'delete') {
        const answer = await call('DELETE', known.path, undefined, { 'if-match': known.etag })
        expect(answer.body).to.deep.equal({ success: true })
        known.shown = null
      } else if (action === 'stale') {
        const conditions = [
          { 'if-match': '"another"' },
          { 'if-none-match': '*' },
          { 'if-none-match': known.etag },
        ]
        for (const condition of conditions as readonly Record<string, string>[]) {
          await expectRefusal(call('PATCH', known.path, tested.change(random), condition), 412)
          await expectRefusal(call('DELETE', known.path, undefined, condition), 412)
        }
      } else {
        const change = tested.change(random)
        const answer = await call('PATCH', known.path, change, { 'if-match': known.etag })
        expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
        const { updated_at: before, ...rest } = known.shown ?? {}
        const { updated_at: after, ...shown } = answer.body.data
        expect(shown).to.deep.equal({ ...rest, ...change })
        const isChanged = Object.entries(change).some(([field, value]) => !isSame(rest[field], value))
        expect(etagOf(answer) !== known.etag, 'a new ETag').to.equal(isChanged)
        if (!isChanged) expect(after).to.equal(before)
        known.etag = etagOf(answer)
        known.shown = answer.body.data
      }
      return known
    }

    it('agree with a model in every read, list and history', async () => {
      const random = createRandom(20_261_126)
      const all: Known[] = []
      for (let step = 0; step < ROUNDS.resourceChanges; step++) {
        const known = await changeOne(random, all)
        const read = await call('GET', known.path)
        if (known.shown === null) expect(read.status).to.equal(404)
        else {
          expect([read.body.data, etagOf(read)]).to.deep.equal([known.shown, known.etag])
          const unchanged = await call('GET', known.path, undefined, { 'if-none-match': known.etag })
          expect(unchanged.status).to.equal(304)
        }
        const newest = (await historyOf(known)).at(-1)
        expect(newest).to.include({ kind: name })
        expect(newest.after).to.deep.equal(known.shown)
        if (known.past.at(-1)?.position !== newest.position)
          known.past.push({ position: newest.position, shown: known.shown })
      }
      const alive = all.flatMap(({ shown }) => (shown === null ? [] : [shown]))
      expect(alive.length).to.be.at.least(2)
      for (const limit of [2, 1000]) {
        const listed = await listAll(limit)
        const ids = new Set(alive.map(({ id }) => id))
        expect(listed.filter(({ id }) => ids.has(id))).to.have.deep.members(alive)
      }
      for (const { path, past } of all) {
        const history = (await call('GET', `${path}/history`)).body.data
        for (const [index, { before, revision }] of history.entries())
          expect([revision, before]).to.deep.equal([index + 1, history[index - 1]?.after ?? null])
        for (const { position, shown } of past) {
          const then = await call('GET', `${path}?as_of=${position}`)
          if (shown === null) expect(then.status).to.equal(404)
          else expect(then.body.data).to.deep.equal(shown)
        }
      }
    })

    it('are created once for an Idempotency-Key, and answered as they were', async () => {
      const random = createRandom(7)
      const headers = { 'idempotency-key': `${name}-once` }
      const body = tested.create(random)
      const first = await call('POST', path, body, headers)
      await call('PATCH', `${path}/${first.body.data.id}`, tested.change(random))
      const again = await call('POST', path, body, headers)
      expect(again.headers.get('idempotent-replayed')).to.equal('true')
      expect([again.status, again.body]).to.deep.equal([201, first.body])
      await expectRefusal(call('POST', path, { ...body, name: 'Another' }, headers), 422)
    })

    it('keep who made a change, and why', async () => {
      const known = await create(tested.create(createRandom(8)))
      await call('PATCH', known.path, { name: 'Because' }, { 'x-change-reason': 'Ticket 4711' })
      const newest = (await historyOf(known)).at(-1)
      expect(newest).to.include({ reason: 'Ticket 4711' })
      expect(newest.actor).to.include({ type: 'root' })
    })

    it('refuse what is not valid, and what does not exist', async () => {
      const known = await create(tested.create(createRandom(9)))
      for (const body of [...tested.invalid, { nmae: 'x' }, {}]) {
        await expectRefusal(call('POST', path, body), 400)
        await expectRefusal(call('PATCH', known.path, body), 400)
      }
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        const body = method === 'PATCH' ? { name: 'x' } : undefined
        await expectRefusal(call(method, `${path}/999999`, body), 404)
      }
      await expectRefusal(call('GET', `${path}/999999/history`), 404)
      await expectRefusal(call('GET', `${known.path}?as_of=999999999`), 400)
      await expectRefusal(call('GET', `${path}?cursor=x`), 400)
      await expectRefusal(call('PATCH', known.path, { name: 'x' }, { 'if-match': 'x' }), 400)
      const { body } = await call('GET', known.path)
      expect(body.data).to.deep.equal(known.shown)
    })

    it('are the same after a restart, from a snapshot', async () => {
      const first = await startGateway()
      const body = tested.create(createRandom(10))
      const { id } = (await first.call('POST', path, body, AS_ADMIN)).body.data
      await first.call('PATCH', `${path}/${id}`, { name: 'Changed' }, AS_ADMIN)
      const before = await first.call('GET', `${path}/${id}`, undefined, AS_ADMIN)
      await first.stop()
      const next = await startGateway({}, first)
      const after = await next.call('GET', `${path}/${id}`, undefined, AS_ADMIN)
      expect([after.body, etagOf(after)]).to.deep.equal([before.body, etagOf(before)])
      expect((await next.call('GET', `${path}/${id}/history`, undefined, AS_ADMIN)).body.data).to.have.length(
        2,
      )
      await next.stop()
    })
  })
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
