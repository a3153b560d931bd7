import { expect } from 'chai'
import { type Answer, AS_ADMIN, type RunningGateway, startGateway } from './gateway.ts'
import { createRandom, type Random } from './random.ts'
import { ROUNDS } from './rounds.ts'

type Fields = Readonly<Record<string, unknown>>

/** What the tests of a resource need to know about it. All else follows from what all resources have. */
export interface TestedResource {
  /** Such as `/admin/groups`. `{parent}` stands for the id of what they are parts of. */
  readonly path: string
  /** Where they are listed and created, if not at `path`. */
  readonly listPath?: string
  /** Who calls the endpoints: by default the root, with the ADMIN_KEY. */
  readonly caller?: { readonly type: string; readonly headers: Readonly<Record<string, string>> }
  /** Singular, as the history names it. */
  readonly name: string
  /** Returns a valid new one: all its fields, some at random. */
  create(random: Random): Fields
  /** Creates what they are parts of, and returns its id. */
  addParent?(gateway: RunningGateway): Promise<number>
  /** Returns a valid change of a field or several. Without it, they can only be created and deleted. */
  change?(random: Random): Fields
  /** A valid change, if names cannot be changed. */
  readonly otherFields?: Fields
  /** Fields that a deleted one has changed, if it can still be read. */
  readonly changedByDeletion?: readonly string[]
  /** Fields that are not valid, in new ones and in changes. */
  readonly invalid: readonly Fields[]
  /** The status that refuses them: by default 400. */
  readonly invalidStatus?: number
  /** Whether each change makes a revision, even to the same values, and one without fields is allowed. */
  readonly countsAllChanges?: true
  /** Whether lists can be read as of a point in the log. */
  readonly listsThePast?: true
  /** Fields that are shown only when it is created. */
  readonly shownOnce?: readonly string[]
  /** Fields that only lists show. */
  readonly listed?: readonly string[]
}

/** An entity as the last answer has shown it, and each of its earlier forms by the log position after it. */
interface Known {
  readonly path: string
  shown: Fields | null
  isDeleted?: true
  etag: string
  readonly past: { readonly position: number; readonly shown: Fields | null }[]
}

/**
 * Declares the tests of what all resources promise: random changes are compared with a model, so that every
 * read, list, history and conditional change must agree with the answers before it.
 */
export function describeResource(tested: TestedResource): void {
  const { name, change, changedByDeletion, shownOnce = [], listed = [], invalidStatus = 400 } = tested
  const { otherFields } = tested
  const { caller = { type: 'root', headers: AS_ADMIN }, countsAllChanges = false } = tested

  async function findPaths(gateway: RunningGateway) {
    const parent = String(await tested.addParent?.(gateway))
    const { path, listPath = path } = tested
    return [path, listPath].map((template) => template.replace('{parent}', parent)) as [string, string]
  }

  describe(`what is managed at ${tested.path}`, () => {
    let gateway: RunningGateway
    let path: string
    let listPath: string
    before(async () => {
      gateway = await startGateway()
      ;[path, listPath] = await findPaths(gateway)
    })
    after(() => gateway.stop())

    const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      gateway.call(method, path, body, { ...caller.headers, ...headers })

    async function create(body: Fields): Promise<Known> {
      const answer = await call('POST', listPath, body)
      expect(answer.status, JSON.stringify(answer.body)).to.equal(201)
      const shown = without(shownOnce, answer.body.data)
      expect(shown).to.deep.include(body)
      const { id } = shown
      return { path: `${path}/${id}`, shown, etag: etagOf(answer), past: [] }
    }

    const historyOf = async (known: Known) => (await call('GET', `${known.path}/history`)).body.data

    async function listAll(limit: number, query = ''): Promise<readonly Fields[]> {
      const all: Fields[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const more = cursor && `&cursor=${cursor}`
        const page: Answer = await call('GET', `${listPath}?limit=${limit}${query}${more}`)
        expect(page.status, JSON.stringify(page.body)).to.equal(200)
        expect(page.body.data.length).to.be.at.most(limit)
        all.push(...page.body.data.map((shown: Fields) => without(listed, shown)))
        cursor = page.body.next_cursor
      }
      return all
    }

    /** Makes one random change, and returns what it was about. */
    async function changeOne(random: Random, all: Known[]): Promise<Known> {
      const alive = all.filter(({ isDeleted }) => !isDeleted)
      const known = random.pick(alive.length > 0 ? alive : [await create(tested.create(random))])
      if (!all.includes(known)) all.push(known)
      const actions = ['change', 'change', 'create', 'create', 'delete', 'stale'] as const
      const action = random.pick(change ? actions : actions.slice(2))
      if (action === 'create') {
        const created = await create(tested.create(random))
        all.push(created)
        return created
      }
      if (action === 'delete') {
        const answer = await call('DELETE', known.path, undefined, { 'if-match': known.etag })
        expect(answer.body).to.deep.equal({ success: true })
        known.isDeleted = true
        if (changedByDeletion === undefined) known.shown = null
        else await readDeleted(known, changedByDeletion)
      } else if (action === 'stale') {
        for (const condition of failingConditions(known.etag)) {
          if (change) await expectRefusal(call('PATCH', known.path, change(random), condition), 412)
          await expectRefusal(call('DELETE', known.path, undefined, condition), 412)
        }
      } else if (change) {
        const changes = change(random)
        const answer = await call('PATCH', known.path, changes, { 'if-match': known.etag })
        expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
        const { updated_at: before, ...rest } = known.shown ?? {}
        const { updated_at: after, ...shown } = answer.body.data
        expect(shown).to.deep.equal({ ...rest, ...changes })
        const isChanged =
          countsAllChanges || Object.entries(changes).some(([field, value]) => !isSame(rest[field], value))
        expect(etagOf(answer) !== known.etag, 'a new ETag').to.equal(isChanged)
        if (!isChanged) expect(after).to.equal(before)
        known.etag = etagOf(answer)
        known.shown = answer.body.data
      }
      return known
    }

    async function readDeleted(known: Known, changed: readonly string[]): Promise<void> {
      const answer = await call('GET', known.path)
      expect(without(changed, answer.body.data)).to.deep.equal(without(changed, known.shown ?? {}))
      for (const field of changed) expect(answer.body.data[field]).not.to.equal(known.shown?.[field])
      expect(etagOf(answer)).not.to.equal(known.etag)
      expect((await call('DELETE', known.path)).body, 'once more').to.deep.equal({ success: true })
      known.etag = etagOf(answer)
      known.shown = answer.body.data
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
      const ids = new Set(alive.map(({ id }) => id))
      const entries = await listAll(1000)
      expect(entries.filter(({ id }) => ids.has(id))).to.have.deep.members(alive)
      expect(await listAll(2), 'the same in pages').to.deep.equal(entries)
      const histories: { position: number; after: Fields | null }[][] = []
      for (const { path, past } of all) {
        const history = (await call('GET', `${path}/history`)).body.data
        histories.push(history)
        expectSequence(history)
        for (const { position, shown } of past) {
          const then = await call('GET', `${path}?as_of=${position}`)
          if (shown === null) expect(then.status).to.equal(404)
          else expect(then.body.data).to.deep.equal(shown)
        }
      }
      if (!tested.listsThePast) return
      const positions = histories.flat().map(({ position }) => position)
      // The long form makes a thousand changes.
      const step = Math.ceil(positions.length / 50)
      for (const position of positions.filter((_, index) => index % step === 0)) {
        const then = histories.map((changes) => changes.findLast((change) => change.position <= position))
        const expected = then.flatMap((change) => change?.after ?? [])
        expect(await listAll(2, `&as_of=${position}`)).to.have.deep.members(expected)
      }
    })

    it('are created once for an Idempotency-Key, and answered as they were', async () => {
      const random = createRandom(7)
      const headers = { 'idempotency-key': `${name}-once` }
      const body = tested.create(random)
      const first = await call('POST', listPath, body, headers)
      const created = `${path}/${first.body.data.id}`
      await (change ? call('PATCH', created, change(random)) : call('DELETE', created))
      const again = await call('POST', listPath, body, headers)
      expect(again.headers.get('idempotent-replayed')).to.equal('true')
      expect([again.status, again.body]).to.deep.equal([201, first.body])
      await expectRefusal(
        call('POST', listPath, { ...body, ...(otherFields ?? { name: 'Another' }) }, headers),
        422,
      )
    })

    it('keep who made a change, and why', async () => {
      const known = await create(tested.create(createRandom(8)))
      const reason = { 'x-change-reason': 'Ticket 4711' }
      if (change) await call('PATCH', known.path, otherFields ?? { name: 'Because' }, reason)
      else await call('DELETE', known.path, undefined, reason)
      const newest = (await historyOf(known)).at(-1)
      expect(newest).to.include({ reason: 'Ticket 4711' })
      expect(newest.actor).to.include({ type: caller.type })
    })

    it('refuse what is not valid, and what does not exist', async () => {
      const known = await create(tested.create(createRandom(9)))
      for (const body of [...tested.invalid, { nmae: 'x' }]) {
        await expectRefusal(
          call('POST', listPath, { ...tested.create(createRandom(9)), ...body }),
          invalidStatus,
        )
        if (change) await expectRefusal(call('PATCH', known.path, body), invalidStatus)
      }
      if (change) {
        await expectRefusal(call('POST', listPath, {}), 400)
        if (!countsAllChanges) await expectRefusal(call('PATCH', known.path, {}), 400)
      }
      for (const method of change ? ['GET', 'PATCH', 'DELETE'] : ['GET', 'DELETE']) {
        const body = method === 'PATCH' ? { name: 'x' } : undefined
        await expectRefusal(call(method, `${path}/999999`, body), 404)
      }
      await expectRefusal(call('GET', `${path}/999999/history`), 404)
      await expectRefusal(call('GET', `${known.path}?as_of=999999999`), 400)
      await expectRefusal(call('GET', `${listPath}?cursor=x`), 400)
      if (tested.listsThePast) await expectRefusal(call('GET', `${listPath}?as_of=0&cursor=x`), 400)
      await expectRefusal(call('DELETE', known.path, undefined, { 'if-match': 'x' }), 400)
      if (tested.addParent) {
        const unknown = listPath.replace(/\d+/, '999999')
        await expectRefusal(call('GET', unknown), 404)
        await expectRefusal(call('POST', unknown, tested.create(createRandom(9))), 404)
      }
      const { body } = await call('GET', known.path)
      expect(body.data).to.deep.equal(known.shown)
    })

    it('are the same after a restart, from a snapshot', async () => {
      const first = await startGateway()
      const { headers } = caller
      const [path, listPath] = await findPaths(first)
      const { id } = (await first.call('POST', listPath, tested.create(createRandom(10)), headers)).body.data
      if (change) await first.call('PATCH', `${path}/${id}`, otherFields ?? { name: 'Changed' }, headers)
      else await first.call('DELETE', `${path}/${id}`, undefined, headers)
      const before = await first.call('GET', `${path}/${id}`, undefined, headers)
      await first.stop()
      const next = await startGateway({}, first)
      const after = await next.call('GET', `${path}/${id}`, undefined, headers)
      expect([after.body, etagOf(after)]).to.deep.equal([before.body, etagOf(before)])
      const history = await next.call('GET', `${path}/${id}/history`, undefined, headers)
      expect(history.body.data).to.have.length(2)
      await next.stop()
    })
  })
}

/** Expects an error in the form that all have. */
export async function expectRefusal(answer: Promise<Answer>, status: number): Promise<void> {
  const { status: actual, body, headers } = await answer
  expect(actual, JSON.stringify(body)).to.equal(status)
  expect(body.error.message, 'the message').to.be.a('string').and.not.equal('')
  expect(headers.get('x-error-code'), 'the code').to.be.a('string')
}

export function etagOf({ headers }: Answer): string {
  expect(headers.get('etag')).to.match(/^"[\w-]+"$/)
  return headers.get('etag') ?? ''
}

/** Conditions that what has the ETag does not fulfil. */
export function failingConditions(etag: string): readonly Record<string, string>[] {
  return [{ 'if-match': '"another"' }, { 'if-none-match': '*' }, { 'if-none-match': etag }]
}

/** Expects that each change of a history begins where the one before ended. */
export function expectSequence(history: readonly Fields[]): void {
  for (const [index, { before, revision }] of history.entries())
    expect([revision, before]).to.deep.equal([index + 1, history[index - 1]?.after ?? null])
}

function without(fields: readonly string[], shown: Fields): Fields {
  return Object.fromEntries(Object.entries(shown).filter(([field]) => !fields.includes(field)))
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
