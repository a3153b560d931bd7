import { expect } from 'chai'
import { createMemoryLog } from '../../../../core/event-log/memory.ts'
import { createLogReader, type LogReader } from '../../../../plugins/audit/read-log.ts'
import { createTimeline } from '../../../../projections/timeline.ts'

const EVENTS = 12_500
/** Events of a rare actor and about a rare rule, by their number. */
const RARE = [1500, 9700]

describe('createLogReader', () => {
  let reader: LogReader
  let read: number

  before(async () => {
    const log = createMemoryLog()
    const timeline = createTimeline()
    for (let n = 0; n < EVENTS; n++) {
      const isRare = RARE.includes(n)
      const id = isRare ? 'op_rare' : `key_${n % 7}`
      const ruleId = isRare ? 777 : 1000 + n
      const metadata = {
        actor: { type: 'key', id, name: 'someone' } as const,
        time: '2026-01-01T00:00:00.000000Z',
        schema: 1,
      }
      const event = { type: 'RoutingRuleDeleted', data: { userId: 1, ruleId } }
      const { position, revision } = await log.append('rules-1', [event], {
        expectedRevision: n - 1,
        metadata,
      })
      timeline.apply(event as never, { ...event, position, revision, stream: 'rules-1', metadata })
    }
    const counting: typeof log.subscribe = async function* (...args) {
      for await (const item of log.subscribe(...args)) {
        read += 1
        yield item
      }
    }
    const history = { eventsOf: async () => [] }
    const source = { read: log.read.bind(log), subscribe: counting }
    reader = createLogReader(source, timeline, history, () => undefined)
  })

  beforeEach(() => {
    read = 0
  })

  async function list(below: number, terms: Parameters<LogReader['backwards']>[2] = []) {
    const entries = []
    for await (const part of reader.backwards(below, undefined, terms)) entries.push(...part)
    return entries
  }

  const positions = (entries: Awaited<ReturnType<typeof list>>) =>
    entries.map(({ record }) => record.position)

  it('yields every entry once, newest first, from any position', async () => {
    const all = positions(await list(Number.MAX_SAFE_INTEGER))
    expect(all).to.have.length(EVENTS)
    expect(all).to.deep.equal(all.toSorted((a, b) => b - a))
    expect(new Set(all).size).to.equal(EVENTS)
    const middle = all[4321] ?? 0
    expect(positions(await list(middle))).to.deep.equal(all.slice(4322))
  })

  for (const term of ['actor:op_rare', 'rule:777'] as const)
    it(`skips the parts without ${term}, once they were read, and misses no entry`, async () => {
      await list(Number.MAX_SAFE_INTEGER)
      read = 0
      const found = (await list(Number.MAX_SAFE_INTEGER, [term])).filter(
        ({ record }) => record.data.ruleId === 777,
      )
      expect(found).to.have.length(RARE.length)
      // The two parts, the newest events, and a part or two by chance.
      expect(read).to.be.below(5000)
    })

  it('reads little more than the newest part for the first page', async () => {
    for await (const part of reader.backwards(Number.MAX_SAFE_INTEGER)) {
      expect(part.length).to.be.below(1001)
      break
    }
    expect(read).to.be.below(1010)
  })
})
