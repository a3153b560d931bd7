import path from 'node:path'
import { expect } from 'chai'
import { newRequestId, requestIdAt } from '../../../../core/util/ids.ts'
import type { LedgerLocation } from '../../../../plugins/ledger/store/database.ts'
import type { RequestFilter, UsageQuery } from '../../../../plugins/ledger/store/queries.ts'
import type { LedgerRecord } from '../../../../plugins/ledger/store/record.ts'
import { DAY_MS, HOUR_MS } from '../../../../plugins/ledger/store/record-id.ts'
import { type LedgerStore, openLedgerStore } from '../../../../plugins/ledger/store/store.ts'
import { makeFolder } from '../../../support/folders.ts'
import { ledgerRecord } from '../../../support/ledger-records.ts'
import { type RunningPostgres, requirePostgres } from '../../../support/postgres.ts'
import { describeInFull } from '../../../support/rounds.ts'

const NOON = Date.UTC(2026, 2, 10, 12)

describe('feedback in a ledger on SQLite', () => {
  keepsFeedback(async () => ({ engine: 'sqlite', file: path.join(await makeFolder(), 'ledger.db') }))
})

describeInFull('feedback in a ledger on PostgreSQL', () => {
  let server: RunningPostgres

  before(async function () {
    this.timeout(180_000)
    server = await requirePostgres(this)
  })

  after(() => server?.stop())

  keepsFeedback(async () => {
    await server.emptyLedger(FEEDBACK_LOG)
    return { engine: 'postgres', url: server.url }
  })

  it('counts a score once that two gateways replace at the same time', async () => {
    const location = { engine: 'postgres', url: server.url } as const
    const stores = await Promise.all([1, 2].map(() => openLedgerStore(location, 'log_both')))
    const record = ledgerRecord({ time: NOON })
    await stores[0]!.write([record])
    const given = Array.from({ length: 20 }, (_, n) =>
      stores[n % 2]!.giveFeedback({ ...feedbackOf(record), score: (n % 4) / 4 }),
    )
    await Promise.all(given)
    const { feedback } = (await stores[0]!.find(record.requestId))!
    const [usage] = await stores[1]!.usage({ groupBy: [], since: 0, until: 1e6, limit: 1 })
    expect(usage).to.include({ ratings: 1, score: (feedback[0]?.score ?? Number.NaN) * 1e6 })
    await Promise.all(stores.map((store) => store.close()))
  })
})

function feedbackOf({ requestId }: Pick<LedgerRecord, 'requestId'>) {
  return { requestId, name: 'quality', score: 1, comment: null, givenBy: 'key_1', givenAt: NOON }
}

const FEEDBACK_LOG = 'log_feedback'

function keepsFeedback(locate: () => Promise<LedgerLocation>): void {
  let store: LedgerStore

  beforeEach(async () => {
    store = await openLedgerStore(await locate(), FEEDBACK_LOG)
  })

  afterEach(() => store?.close())

  const usage = async (query: Partial<UsageQuery> = {}) =>
    store.usage({ groupBy: [], since: 0, until: 1e6, limit: 100, ...query })

  const idsOf = async (filter: RequestFilter) =>
    (await store.list({ filter, limit: 100 })).records.map(({ requestId }) => requestId)

  it('keeps one score per request and name, and sums up those of quality', async () => {
    const rules = [
      { kind: 'routing', rule_id: 4, name: 'x', action: 'set_model', outcome: 'applied' } as const,
      { kind: 'firewall', rule_id: 5, name: 'y', action: 'warn', outcome: 'skipped' } as const,
    ]
    const record = ledgerRecord({ time: NOON, groups: [3], rules })
    const other = ledgerRecord({ time: NOON, model: 'gpt-4o-mini' })
    await store.write([record, other])
    const feedback = feedbackOf(record)
    const known = { outcome: 'given', userId: 1 }
    expect(await store.giveFeedback({ ...feedback, score: 0.25, comment: 'no' })).to.deep.equal(known)
    expect(await store.giveFeedback({ ...feedback, name: 'tone', score: 0 })).to.deep.equal(known)
    expect(await store.giveFeedback({ ...feedback, score: 0.75, givenBy: 'op' })).to.deep.equal(known)
    await store.giveFeedback({ ...feedbackOf(other), score: 0.1 })
    const { feedback: found } = (await store.find(record.requestId))!
    expect(found).to.deep.equal([
      { name: 'quality', score: 0.75, comment: null, givenBy: 'op', givenAt: NOON },
      { name: 'tone', score: 0, comment: null, givenBy: 'key_1', givenAt: NOON },
    ])
    expect((await usage())[0]).to.include({ requests: 2, ratings: 2, score: 850_000 })
    const scores = async (dimension: 'model' | 'rule' | 'group' | 'day') =>
      (await usage({ groupBy: [dimension] })).map(({ ratings, score }) => [ratings, score])
    expect(await scores('model')).to.deep.equal([
      [1, 750_000],
      [1, 100_000],
    ])
    expect(await scores('rule')).to.deep.equal([[1, 750_000]])
    expect(await scores('group')).to.deep.equal([[1, 750_000]])
    expect(await scores('day')).to.deep.equal([[2, 850_000]])
  })

  it('takes nothing for unknown requests, those of others, and more than 20 names', async () => {
    const record = ledgerRecord({ userId: 7 })
    await store.write([record])
    const unknown = { outcome: 'unknown' }
    expect(await store.giveFeedback(feedbackOf({ requestId: newRequestId() }))).to.deep.equal(unknown)
    expect(await store.giveFeedback({ ...feedbackOf(record), userId: 8 })).to.deep.equal(unknown)
    for (let n = 0; n < 20; n++)
      expect(await store.giveFeedback({ ...feedbackOf(record), userId: 7, name: `n${n}` })).to.deep.equal({
        outcome: 'given',
        userId: 7,
      })
    expect(await store.giveFeedback(feedbackOf(record))).to.deep.equal({ outcome: 'too_many_names' })
    expect(await store.giveFeedback({ ...feedbackOf(record), name: 'n3' })).to.include({ outcome: 'given' })
    expect((await usage())[0]).to.include({ ratings: 0 })
  })

  it('finds requests by their score, alone and with other filters', async () => {
    const records = Array.from({ length: 30 }, (_, n) =>
      ledgerRecord({ time: NOON + n * 1000, userId: 1 + (n % 2) }),
    )
    await store.write(records)
    for (const [n, record] of records.entries())
      if (n % 3 !== 0) await store.giveFeedback({ ...feedbackOf(record), score: (n % 5) / 4 })
    await store.giveFeedback({ ...feedbackOf(records[0]!), name: 'tone', score: 0 })
    const expected = (passes: (n: number) => boolean) =>
      records
        .filter((_, n) => n % 3 !== 0 && passes(n))
        .map(({ requestId }) => requestId)
        .toReversed()
    expect(await idsOf({ maxScore: 0.5 })).to.deep.equal(expected((n) => n % 5 <= 2))
    expect(await idsOf({ minScore: 0.75, userId: 2 })).to.deep.equal(
      expected((n) => n % 5 >= 3 && n % 2 === 1),
    )
    const single = ledgerRecord({ time: NOON + 40_000, userId: 9 })
    await store.write([single])
    await store.giveFeedback({ ...feedbackOf(single), score: 0.25 })
    // The index by user has fewer rows than the scores, and the other way round.
    expect(await idsOf({ maxScore: 0.5, userId: 9 })).to.deep.equal([single.requestId])
    expect(await idsOf({ minScore: 0.5, userId: 9 })).to.deep.equal([])
    const since = NOON + 20_000
    expect(
      await idsOf({ minScore: 0.25, maxScore: 0.25, model: 'gpt-4o', since, until: NOON + 40_000 }),
    ).to.deep.equal(expected((n) => n % 5 === 1 && n >= 20))
    expect(await idsOf({ minScore: 0.3, maxScore: 0.4 })).to.deep.equal([])
  })

  it('lists feedback in pages, also within a request', async () => {
    const records = [1, 2, 3].map((n) => ledgerRecord({ time: NOON + n, userId: n }))
    await store.write(records)
    for (const record of records)
      for (const name of ['tone', 'quality'])
        await store.giveFeedback({ ...feedbackOf(record), name, score: name === 'tone' ? 0.5 : 1 })
    const seen: string[] = []
    for (let before: { request: number; name: string } | undefined; ; ) {
      const page = await store.listFeedback({ filter: {}, limit: 1, ...(before && { before }) })
      seen.push(...page.feedback.map(({ userId, name }) => `${userId} ${name}`))
      if (page.next === undefined) break
      before = page.next
    }
    expect(seen).to.deep.equal(['3 quality', '3 tone', '2 quality', '2 tone', '1 quality', '1 tone'])
    const count = async (filter: Parameters<LedgerStore['listFeedback']>[0]['filter']) =>
      (await store.listFeedback({ filter, limit: 100 })).feedback.length
    expect(await count({ userId: 2 })).to.equal(2)
    expect(await count({ name: 'tone', maxScore: 0.5 })).to.equal(3)
    expect(await count({ minScore: 0.6, model: 'gpt-4o', since: NOON + 2, until: NOON + 3 })).to.equal(1)
    expect(await count({ model: 'other' })).to.equal(0)
  })

  it('returns the rated prompts whose features are kept, by group and time', async () => {
    const features = 'AMgH'
    const router = { version: 1, probability: 0.5, propensity: 0.1 }
    const rated = ledgerRecord({ time: NOON, groups: [3, 8], features, router })
    const [unrated, plain] = [ledgerRecord({ time: NOON, features }), ledgerRecord({ time: NOON })]
    const failed = ledgerRecord({ time: NOON, features, error: { code: 'x', status: 500 } })
    const later = ledgerRecord({ time: NOON + DAY_MS, features, userId: 2, model: 'gpt-4o-mini' })
    await store.write([rated, unrated, plain, failed, later])
    for (const record of [rated, plain, failed, later])
      await store.giveFeedback({ ...feedbackOf(record), score: 0.5, givenAt: NOON + DAY_MS })
    await store.giveFeedback({ ...feedbackOf(unrated), name: 'tone' })
    const common = { score: 0.5, features }
    const first = await store.ratings({ since: 0, limit: 1 })
    expect(first.ratings).to.deep.equal([
      { ...common, model: 'gpt-4o', userId: 1, givenBy: 'key_1', time: NOON, propensity: 0.1, groups: '3,8' },
    ])
    const second = await store.ratings({ since: 0, limit: 1, after: first.next! })
    expect(second).to.deep.equal({
      ratings: [
        {
          ...common,
          model: 'gpt-4o-mini',
          userId: 2,
          givenBy: 'key_1',
          time: NOON + DAY_MS,
          propensity: null,
          groups: null,
        },
      ],
    })
    const count = async (query: { since: number; groupId?: number }) =>
      (await store.ratings({ ...query, limit: 100 })).ratings.length
    expect(await count({ since: 0, groupId: 3 })).to.equal(1)
    expect(await count({ since: 0, groupId: 4 })).to.equal(0)
    expect(await count({ since: NOON + DAY_MS + 1 })).to.equal(0)
  })

  it('forgets comments and features with their user, and everything with its request', async () => {
    const features = 'AQ=='
    const records = [1, 2].map((userId) => ledgerRecord({ time: NOON, userId, features }))
    await store.write(records)
    for (const record of records) await store.giveFeedback({ ...feedbackOf(record), comment: 'mine' })
    await store.forgetUser(1)
    const listed = await store.listFeedback({ filter: {}, limit: 10 })
    expect(listed.feedback.map(({ userId }) => userId)).to.deep.equal([2])
    expect((await usage())[0]).to.include({ ratings: 2 })
    const retention = { requestDays: 90, promptDays: 30, usageDays: 400 }
    while (await store.sweep(retention, NOON + 91 * DAY_MS));
    expect((await store.listFeedback({ filter: {}, limit: 10 })).feedback).to.deep.equal([])
    expect((await store.ratings({ since: 0, limit: 10 })).ratings).to.deep.equal([])
  })

  it('marks an answer whose prompt comes again within a minute, in the same batch or later', async () => {
    const ask = (seconds: number, changes: Partial<LedgerRecord> = {}) =>
      ledgerRecord({ time: NOON + seconds * 1000, latencyMs: 2000, promptChecksum: 42, ...changes })
    const records = {
      first: ask(0),
      meanwhile: ask(1),
      again: ask(30),
      otherKey: ask(31, { keyId: 'key_2' }),
      otherPrompt: ask(32, { promptChecksum: 43 }),
      failed: ask(50, { error: { code: 'x', status: 500 } }),
    }
    const later = { third: ask(80), tooLate: ask(80 + 63) }
    await store.write(Object.values(records))
    await store.write(Object.values(later))
    await store.write(Object.values(later))
    const marked: string[] = []
    for (const [name, { requestId }] of Object.entries({ ...records, ...later }))
      if ((await store.find(requestId))?.signals?.includes('asked_again')) marked.push(name)
    expect(marked).to.deep.equal(['meanwhile', 'again'])
    for (const groupBy of [[], ['user'], ['hour', 'key']] as const) {
      const sums = await usage({ groupBy, since: NOON / HOUR_MS })
      expect(sums.reduce((sum, { signals }) => sum + signals.asked_again, 0)).to.equal(2)
    }
  })

  it('keeps imported ratings apart from requests, once however often they are imported', async () => {
    const ratings = [-5, -9].map((id) => ({ id, model: 'gpt-4o', score: 0.5, features: 'AQI=' }))
    await store.importRatings({ ratings, givenBy: 'root', givenAt: NOON })
    await store.importRatings({
      ratings: [{ ...ratings[0]!, score: 0.75 }],
      givenBy: 'root',
      givenAt: NOON + 1,
    })
    const record = ledgerRecord({ time: NOON, features: 'AQI=' })
    await store.write([record])
    await store.giveFeedback(feedbackOf(record))
    const read = async () =>
      (await store.ratings({ since: 0, limit: 10 })).ratings.map(({ score, time, userId }) => [
        score,
        time,
        userId,
      ])
    expect(await read()).to.deep.equal([
      [0.5, NOON, 0],
      [0.75, NOON + 1, 0],
      [1, NOON, 1],
    ])
    expect((await store.listFeedback({ filter: {}, limit: 10 })).feedback).to.have.length(1)
    expect((await usage())[0]).to.include({ ratings: 1 })
    const retention = { requestDays: 90, promptDays: 30, usageDays: 400 }
    while (await store.sweep(retention, NOON + 91 * DAY_MS));
    expect(await read()).to.have.length(2)
    expect(await store.deleteImported()).to.equal(2)
    expect(await store.deleteImported()).to.equal(0)
    expect(await read()).to.deep.equal([])
  })

  it('keeps the feedback of two requests of one key apart', async () => {
    const records = ['a', 'b'].map((letter) =>
      ledgerRecord({ requestId: requestIdAt(NOON, `${letter}000000000000000z`) }),
    )
    await store.write(records)
    await store.giveFeedback({ ...feedbackOf(records[1]!), comment: 'b' })
    const comments = await Promise.all(
      records.map(async ({ requestId }) => (await store.find(requestId))?.feedback[0]?.comment),
    )
    expect(comments).to.deep.equal([undefined, 'b'])
  })
}
