import { expect } from 'chai'
import type { RecordedEvent } from '../../../../../core/contract/event-log.ts'
import { SqliteDatabase } from '../../../../../core/event-log/sqlite/database.ts'
import { prepareLogRead, unpackEvents } from '../../../../../core/event-log/sqlite/packed-page.ts'
import { type StoredEvent, toPlainEvent } from '../../../../../core/event-log/stored-event.ts'
import { encodeEventLeaf, hashEventLeaf } from '../../../../../core/event-log/transparency/event-leaf.ts'
import { decodeEvent } from '../../../../../projections/events/registry.ts'
import { createProjections, listProjections, listSaved } from '../../../../../projections/projections.ts'
import { applyRecord, parseRecord } from '../../../../../projections/runtime/projection.ts'
import { buildHistory, recordAll } from '../../../../support/histories.ts'

type Row = readonly [stream: string, type: string, data: string, metadata: string]

/** A log in memory. Texts are stored as they are. */
function createLog(rows: readonly Row[], firstRevision = 0) {
  const database = new SqliteDatabase(':memory:')
  database.exec(
    'CREATE TABLE events (position INTEGER PRIMARY KEY, stream TEXT, revision INTEGER, type TEXT, data TEXT, metadata TEXT)',
  )
  const insert = database.prepare('INSERT INTO events VALUES (NULL, ?, ?, ?, ?, ?)')
  for (const [revision, [stream, type, data, text]] of rows.entries())
    insert.run(stream, firstRevision + revision, type, data, text)
  const read = prepareLogRead(database, 'WHERE position > ?', true)
  return {
    read,
    pages() {
      const pages: StoredEvent[][] = []
      for (let [after, more] = [0, true]; more; ) {
        const page = read(after, [])
        pages.push([...unpackEvents(page)])
        after = page.last
        more = page.more
      }
      return pages
    },
  }
}

const toRow = ({ stream, type, data, metadata }: RecordedEvent) =>
  [stream, type, JSON.stringify(data), JSON.stringify(metadata)] as const

const TIME = '"time":"2026-03-01T09:30:00.000000Z"'
const ACTOR = '"actor":{"type":"key","id":"k","name":"Ada \\"time\\":\\" Größe"}'
const METADATA = `{${ACTOR},${TIME},"schema":1}`
const UPDATE = '{"userId":7,"ruleId":9,"changes":{"is_enabled":false}}'

describe('pages of events as bytes', () => {
  const odd = ['user-1', 'plugin-votes:ü "quoted" \\ \u0000\u0007\b\f\n\r\t\u007f\u2028 𝄞', '']

  it('have bytes of their own, so that each one can be moved to another thread', () => {
    const { read } = createLog([])
    const pages = [read(0, []), read(0, [])]
    const moved = pages.map((page) =>
      structuredClone(page, { transfer: [page.events.buffer as ArrayBuffer] }),
    )
    expect(moved.map(({ events }) => events.length)).to.deep.equal([0, 0])
    expect(pages[0]?.events.buffer).not.to.equal(pages[1]?.events.buffer)
  })

  it('have all events with their texts, and the hashes of their leaves', () => {
    const rows = odd.map((name) => [name, `T${name}`, `{"text":${JSON.stringify(name)}}`, METADATA] as const)
    const [events = []] = createLog(rows).pages()
    const expected = rows.map(([stream, type, data, text], index) => ({
      position: index + 1,
      stream,
      revision: index,
      type,
      data: JSON.parse(data),
      metadata: JSON.parse(text),
    }))
    expect(events.map(toPlainEvent)).to.deep.equal(expected)
    for (const [index, event] of events.entries()) {
      expect(event.leafText()).to.equal(encodeEventLeaf(expected[index]!))
      expect(event.leafHash).to.deep.equal(hashEventLeaf(expected[index]!))
    }
  })

  it('name an event whose text is not JSON when it is parsed', () => {
    const [[event] = []] = createLog([['rules-7', 'RoutingRuleUpdated', '{"userId":7', METADATA]]).pages()
    expect(() => event?.data).to.throw('Event 0 of rules-7, at position 1, is not valid JSON.')
    expect(event?.metadata.schema).to.equal(1)
  })

  it('have events whose revision was made negative, and those behind them', () => {
    const row = ['user-1', 'T', '{"text":1}', METADATA] as const
    const events = createLog([row, row], -1).pages().flat().map(toPlainEvent)
    expect(events.map(({ revision, type, data }) => [revision, type, data])).to.deep.equal([
      [-1, 'T', { text: 1 }],
      [0, 'T', { text: 1 }],
    ])
  })

  it('are smaller if events are large, and hold one of any size', () => {
    const sizes = [10, 3_000_000, 3_000_000, 5_000_000, 20, 30]
    const rows = sizes.map(
      (size) => ['user-1', 'T', JSON.stringify({ text: 'ä'.repeat(size / 2) }), METADATA] as const,
    )
    const pages = createLog(rows).pages()
    expect(pages.flat().map(({ position }) => position)).to.deep.equal([1, 2, 3, 4, 5, 6])
    expect(pages.length).to.be.above(3)
  })
})

describe('stored events', () => {
  for (const [what, data, text] of [
    ['data is not JSON', UPDATE.slice(0, -1), METADATA],
    ['data has a NUL behind its JSON', `${UPDATE}\0}`, METADATA],
    ['metadata has a NUL behind its JSON', UPDATE, `${METADATA}\0}`],
  ] as const)
    it(`are not applied if ${what}`, () => {
      const [[event] = []] = createLog([['rules-7', 'RoutingRuleUpdated', data, text]]).pages()
      expect(parseRecord(event!).kind).to.equal('unreadable')
    })

  it('lead to the same state as plain ones', () => {
    const records = recordAll(buildHistory(3, 60))
    const stored = createLog(records.map(toRow)).pages().flat()
    const states = [stored, stored.map(toPlainEvent)].map((events) => {
      const projections = createProjections()
      const kinds = events.map((event) => applyRecord(listProjections(projections), event))
      expect(kinds).to.deep.equal(events.map((event) => (decodeEvent(event) ? 'applied' : 'newer')))
      return listSaved(projections).map(({ name, save }) => [name, ...save()])
    })
    expect(states[0]).to.deep.equal(states[1])
  })
})
