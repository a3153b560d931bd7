import { EventEmitter, once } from 'node:events'
import path from 'node:path'
import { expect } from 'chai'
import pino from 'pino'
import type { EventLog } from '../../../../core/contract/index.ts'
import { createMemoryLog } from '../../../../core/event-log/memory.ts'
import { nextImmediate } from '../../../../core/util/next-immediate.ts'
import { startAuditExport } from '../../../../plugins/audit/export/exporter.ts'
import { createPositionFile } from '../../../../plugins/audit/export/position-file.ts'
import type { ExportedEntry, ExportTarget } from '../../../../plugins/audit/export/targets.ts'
import { makeFolder } from '../../../support/folders.ts'
import { waitUntil } from '../../../support/wait.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

const AUTHOR = { type: 'operator', id: 'operator_1', name: 'Ada' } as const

/** A log with rules of a user, and the positions that were read from it by subscribers. */
function createLog() {
  const log = createMemoryLog()
  let read = 0
  const counting: Pick<EventLog, 'subscribe'> = {
    async *subscribe(...args) {
      for await (const item of log.subscribe(...args)) {
        if (item !== 'caught-up') read += 1
        yield item
      }
    },
  }
  let ruleId = 0
  const append = async (count: number, nameLength = 5) => {
    const events = Array.from({ length: count }, () => {
      ruleId += 1
      return {
        type: 'RoutingRuleUpdated',
        data: { userId: 1, ruleId, changes: { name: 'x'.repeat(nameLength) } },
      }
    })
    const metadata = { actor: AUTHOR, time: '2026-03-01T00:00:00.000000Z', schema: 1 }
    return log.append('rules-1', events, { expectedRevision: 'any', metadata })
  }
  return { log: counting, append, read: () => read }
}

/** Time that passes while an export waits for its next attempt, up to what the test allows. */
function createTime() {
  const changes = new EventEmitter()
  let now = 0
  let limit = 0
  let attempts = 0
  let isWaiting = false
  return {
    attempts: () => attempts,
    async wait(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
      attempts += 1
      const due = now + delayMs
      for (; due > limit; isWaiting = false) {
        isWaiting = true
        await once(changes, 'limit', { signal })
      }
      now = due
    },
    /** Lets the time pass, and resolves when the export waits for a later one. */
    async passTo(time: number): Promise<void> {
      isWaiting = false
      limit = time
      changes.emit('limit')
      await waitUntil(() => isWaiting)
    },
    /** From now on, nothing waits for the time. */
    stop(): void {
      limit = Number.POSITIVE_INFINITY
      changes.emit('limit')
    },
  }
}

/** A target that keeps the positions that it accepts. */
function createTarget(isDead: () => boolean) {
  const accepted: number[] = []
  const batches: (readonly ExportedEntry[])[] = []
  const target: ExportTarget = {
    name: 'test',
    id: 'test',
    async send(entries) {
      if (isDead()) throw new Error('connection refused')
      batches.push(entries)
      accepted.push(...entries.map(({ position }) => position))
    },
  }
  return { target, accepted, batches }
}

const logger = pino({ level: 'silent' })
const findLostRace = () => undefined
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, n) => first + n)

async function newPositions(node = 'node-1') {
  return createPositionFile(path.join(await makeFolder(), `${node}.json`), 'log_1', 'test')
}

describe('an audit export', () => {
  it('loses nothing of an hour in which its target is dead, also when it is restarted meanwhile', async () => {
    const { log, append } = createLog()
    const time = createTime()
    let isDead = false
    const { target, accepted } = createTarget(() => isDead)
    const positions = await newPositions()
    const start = () => startAuditExport({ log, findLostRace, target, positions, logger, wait: time.wait })

    let exporting = start()
    await append(150)
    await waitUntil(() => accepted.length === 150)
    isDead = true
    await append(250)
    await time.passTo(HOUR_MS / 2)
    await exporting.close()
    expect(await positions.read()).to.equal(150)

    exporting = start()
    await append(50)
    await time.passTo(HOUR_MS)
    expect(accepted).to.have.length(150)
    // It asks once a minute, after the short delays at first.
    expect(time.attempts()).to.be.within(HOUR_MS / MINUTE_MS - 5, HOUR_MS / MINUTE_MS + 25)

    isDead = false
    time.stop()
    await waitUntil(() => accepted.length >= 450)
    await exporting.close()
    expect(accepted).to.deep.equal(range(1, 450))
    expect(await positions.read()).to.equal(450)
  })

  for (const { what, events, length, ahead, batch } of [
    { what: 'entries', events: 5000, length: 5, ahead: 1000, batch: 100 },
    // The last batch has five long entries and the short one.
    { what: 'characters', events: 40, length: 200_000, ahead: 21, batch: 6 },
  ])
    it(`holds a limited number of ${what}, however much is written while the target is dead`, async () => {
      const { log, append, read } = createLog()
      const time = createTime()
      let isDead = true
      const { target, accepted, batches } = createTarget(() => isDead)
      for (let n = 0; n < 10; n++) await append(events / 10, length)
      const positions = await newPositions()
      const exporting = startAuditExport({ log, findLostRace, target, positions, logger, wait: time.wait })
      await waitUntil(() => read() >= ahead)
      await time.passTo(HOUR_MS)
      await append(1)
      await time.passTo(2 * HOUR_MS)
      expect(read()).to.equal(ahead)
      isDead = false
      time.stop()
      await waitUntil(() => accepted.length === events + 1)
      await exporting.close()
      expect(accepted).to.deep.equal(range(1, events + 1))
      expect(Math.max(...batches.map((entries) => entries.length))).to.equal(batch)
    })

  it('of two nodes sends each entry once from each, and is then silent', async () => {
    const { log, append } = createLog()
    const target = createTarget(() => false)
    let calls = 0
    /** Every third call fails, after the target has the entries. */
    const failing: ExportTarget = {
      ...target.target,
      async send(entries, signal) {
        calls += 1
        await target.target.send(entries, signal)
        if (calls % 3 === 0) throw new Error('the connection was reset')
      },
    }
    const nodes = await Promise.all(
      ['node-1', 'node-2'].map(async (node) => {
        const positions = await newPositions(node)
        const wait = () => nextImmediate()
        return {
          positions,
          exporting: startAuditExport({ log, findLostRace, target: failing, positions, logger, wait }),
        }
      }),
    )
    for (let n = 0; n < 10; n++) await append(100)
    for (const { positions } of nodes) await waitUntil(async () => (await positions.read()) === 1000)
    const sent = new Map<number, number>()
    for (const position of target.accepted) sent.set(position, (sent.get(position) ?? 0) + 1)
    expect([...sent.keys()].sort((a, b) => a - b)).to.deep.equal(range(1, 1000))
    expect(Math.min(...sent.values())).to.be.at.least(2)
    // A batch is repeated only if the target failed.
    const failures = Math.floor(calls / 3)
    expect(target.batches).to.have.length(calls)
    expect(target.accepted.length).to.be.at.most(2000 + failures * 100)

    const callsBefore = calls
    for (let turn = 0; turn < 100; turn++) await nextImmediate()
    expect(calls).to.equal(callsBefore)
    await append(1)
    for (const { positions } of nodes) await waitUntil(async () => (await positions.read()) === 1001)
    await Promise.all(nodes.map(({ exporting }) => exporting.close()))
    expect(target.accepted.filter((position) => position === 1001).length).to.be.within(2, 4)
  })
})
