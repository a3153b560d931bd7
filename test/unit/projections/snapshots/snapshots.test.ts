import { readdir, readFile, truncate, utimes, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { pino } from 'pino'
import type { EventLog, RecordedEvent } from '../../../../core/contract/index.ts'
import { CLI_ACTOR } from '../../../../core/event-log/actor.ts'
import { openSqliteLog } from '../../../../core/event-log/sqlite/sqlite-log.ts'
import {
  createProjections,
  listProjections,
  listSaved,
  type Projections,
} from '../../../../projections/projections.ts'
import { applyRecord } from '../../../../projections/runtime/projection.ts'
import {
  STATE_SHAPE,
  snapshotLines,
  sweepSnapshots,
  takeSnapshot,
} from '../../../../projections/snapshots/files.ts'
import { readSnapshot, restoreProjections } from '../../../../projections/snapshots/restore.ts'
import { writeSnapshot } from '../../../../projections/snapshots/schedule.ts'
import { makeFolder } from '../../../support/folders.ts'
import { buildHistory, recordAll } from '../../../support/histories.ts'
import { ROOT } from '../../../support/root.ts'

const records = recordAll(buildHistory(10, 5))
const LOG_ID = 'log_1'
const HALF = Math.floor(records.length / 2)

describe('snapshots', () => {
  let folder: string
  let log: EventLog
  let warnings: string[]

  beforeEach(async () => {
    folder = await makeFolder()
    log = await fill(folder, records)
    warnings = []
  })

  afterEach(() => log.close())

  /** Writes a snapshot of the state after `count` events and resolves with its path. */
  const take = (count: number) => {
    const newest = records[count - 1]!
    return writeSnapshot(folder, takeSnapshot(LOG_ID, newest, listSaved(fold(records.slice(0, count)))))
  }

  const restore = (logId = LOG_ID) => {
    const write = (line: string) => warnings.push(JSON.parse(line).err.message)
    return restoreProjections(folder, log, logId, pino({}, { write }))
  }

  const expectState = async (count: number) => {
    const { projections, newest } = await restore()
    expect(newest?.position ?? 0).to.equal(records[count - 1]?.position ?? 0)
    expect(describeState(projections)).to.deep.equal(describeState(fold(records.slice(0, count))))
  }

  it('restore the saved state and its look-ups', async () => {
    await take(records.length)
    await expectState(records.length)

    const { projections } = await restore()
    const folded = fold(records)
    expect(projections.accounts.users()).to.deep.equal(folded.accounts.users())
    expect(projections.accounts.byKeyHash('hash of key_a3')).to.deep.include({ userId: 3, plan: 'free' })
    expect(projections.accounts.byKeyHash('hash of key_b3')).to.equal(undefined)
    expect(projections.rules.of(7)).to.deep.equal(folded.rules.of(7))
    expect(projections.ids.next()).to.equal(folded.ids.next())
    expect(warnings).to.deep.equal([])
  })

  it('of versions without tool rules are read: nobody has any', async () => {
    const folded = fold(records)
    let cut = 0
    const cutRules = (line: string) => {
      const lists: unknown[] = JSON.parse(line)
      if (lists.length > 5) cut += 1
      return JSON.stringify(lists.slice(0, 5))
    }
    const cutPolicy = (line: string) => {
      const saved = JSON.parse(line)
      return 'rules' in saved ? JSON.stringify({ ...saved, rules: cutRules(saved.rules) }) : line
    }
    const edits: Record<string, (line: string) => string> = { rules: cutRules, policies: cutPolicy }
    const old = listSaved(folded).map((saved) => {
      const edit = edits[saved.name]
      return edit === undefined
        ? saved
        : { ...saved, name: saved.name, save: () => [...saved.save()].map((line) => edit(String(line))) }
    })
    await writeSnapshot(folder, takeSnapshot(LOG_ID, records.at(-1)!, old))

    const { projections, newest } = await restore()
    expect([newest?.position, warnings]).to.deep.equal([records.at(-1)?.position, []])
    expect(cut).to.be.greaterThan(0)
    for (const { id } of folded.accounts.users()) {
      expect(projections.rules.of(id)).to.deep.equal({ ...folded.rules.of(id), tool: [] })
    }
  })

  it('are optional: without one, the state is that before the first event', async () => {
    await expectState(0)
  })

  it('are tried newest first', async () => {
    await take(HALF)
    await take(records.length)
    await take(HALF + 1)

    await expectState(records.length)
  })

  describe('are skipped in favor of the previous one', () => {
    let newest: string

    beforeEach(async () => {
      await take(HALF)
      newest = await take(records.length)
    })

    it('if any byte has changed', async () => {
      const whole = await readFile(newest)
      for (const at of [1, 40, Math.floor(whole.length / 2), whole.length - 70, whole.length - 3]) {
        const damaged = Buffer.from(whole)
        damaged[at]! ^= 1
        await writeFile(newest, damaged)
        await expectState(HALF)
      }
      expect(warnings).to.deep.equal(Array(5).fill('its content does not match its hash'))
    })

    it('if they are truncated', async () => {
      const { length } = await readFile(newest)
      for (const size of [length - 1, length - 65, Math.floor(length / 2), 65, 10, 0]) {
        await truncate(newest, size)
        await expectState(HALF)
      }
    })

    it('if they were written by another version', async () => {
      const old = newest.replace(/-[0-9a-f]{16}/, '-0123456789abcdef')
      await writeFile(old, await readFile(newest))
      await writeFile(newest, '')

      await expectState(HALF)
      expect(warnings).to.include('it was written by another version of Signalbox')
    })

    it('if the log does not contain their newest event', async () => {
      await log.close()
      const shorter = await makeFolder()
      log = await fill(shorter, records.slice(0, HALF))

      await expectState(HALF)
      expect(warnings).to.deep.equal([
        `event log ${LOG_ID} does not contain its newest event: the log is an older copy`,
      ])
    })

    it('if they belong to a log with another id', async () => {
      const { newest: restored } = await restore('log_other')

      expect(restored).to.equal(undefined)
      expect(warnings).to.deep.equal(Array(2).fill('it belongs to event log log_1, not to log_other'))
    })

    it('if the log contains another event in its place', async () => {
      await log.close()
      const other = records.map((record, index) =>
        index === records.length - 1
          ? { ...record, metadata: { ...record.metadata, actor: CLI_ACTOR } }
          : record,
      )
      log = await fill(await makeFolder(), other)

      await expectState(HALF)
      expect(warnings).to.deep.equal([
        `event log ${LOG_ID} does not contain its newest event: the log is an older copy`,
      ])
    })
  })

  it('leave no file behind if writing fails', async () => {
    const broken = {
      ...takeSnapshot(LOG_ID, records[0]!, []),
      parts: [{ name: 'broken', lines: breakAfter('{}') }],
    }

    const error = await writeSnapshot(folder, broken).catch((thrown) => thrown)

    expect(error).to.have.property('message', 'broken')
    expect((await readdir(folder)).filter((name) => /snapshot|tmp/.test(name))).to.deep.equal([])
  })

  it('are swept except for the last two, together with abandoned unfinished files', async () => {
    const now = Date.now() / 1000
    const paths = [await take(records.length), await take(3), await take(5)]
    for (const [index, file] of paths.entries()) await utimes(file, now, now - 100 + index)
    const [abandoned, unfinished] = ['a.tmp', 'b.tmp'].map((name) => path.join(folder, name))
    for (const file of [abandoned!, unfinished!]) await writeFile(file, '')
    await utimes(abandoned!, now, now - 7200)

    await sweepSnapshots(folder)

    const remaining = (await readdir(folder)).filter((name) => /snapshot|tmp/.test(name))
    expect(remaining.toSorted()).to.deep.equal(
      [paths[1]!, paths[2]!, unfinished!].map((file) => path.basename(file)).toSorted(),
    )
  })

  /** If this fails, the folded or saved state has changed: increase STATE_SHAPE and update state.json. */
  it('have the state that belongs to STATE_SHAPE', async () => {
    const few = recordAll(buildHistory(3, 3))
    const file = await writeSnapshot(folder, takeSnapshot(LOG_ID, few.at(-1)!, listSaved(fold(few))))
    const { parts } = await readSnapshot(file)
    const lines = parts.map(({ name, lines }) => [name, [...lines].map((line) => JSON.parse(String(line)))])

    const expected = await readFile(new URL('test/unit/projections/snapshots/state.json', ROOT), 'utf8')
    expect({ STATE_SHAPE, state: Object.fromEntries(lines) }).to.deep.equal(JSON.parse(expected))
  })
})

/** Opens a log with these events, at the same positions. */
async function fill(directory: string, events: readonly RecordedEvent[]): Promise<EventLog> {
  const log = await openSqliteLog({ directory })
  await Promise.all(
    events.map(({ stream, type, data, metadata, revision }) =>
      log.append(stream, [{ type, data }], { expectedRevision: revision - 1, metadata }),
    ),
  )
  return log
}

function fold(events: readonly RecordedEvent[]): Projections {
  const projections = createProjections()
  for (const record of events) {
    const kind = applyRecord(listProjections(projections), record)
    projections.streams.receive(record.stream, record.revision, kind)
  }
  return projections
}

function describeState(projections: Projections): string[] {
  const parts = listSaved(projections).map(({ name, save }) => ({ name, lines: save() }))
  return [...snapshotLines({ parts })].map(String)
}

function* breakAfter(line: string): Generator<string> {
  yield line
  throw new Error('broken')
}
