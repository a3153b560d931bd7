import { expect } from 'chai'
import { pino } from 'pino'
import {
  type EventLog,
  EventLogUnavailableError,
  WrongExpectedRevisionError,
} from '../../../../core/contract/index.ts'
import { openSqliteLog } from '../../../../core/event-log/sqlite/sqlite-log.ts'
import { createClock } from '../../../../core/util/clock.ts'
import { createAccounts } from '../../../../projections/accounts.ts'
import { type Subscription, subscribeProjections } from '../../../../projections/runtime/subscribe.ts'
import { createEventWriter, type EventWriter } from '../../../../projections/runtime/write.ts'
import { makeFolder } from '../../../support/gateway.ts'

const author = { actor: 'admin' }
const PATIENCE = 50

describe('a writer', () => {
  let log: EventLog
  let append: EventLog['append']
  let live: Subscription
  let writer: EventWriter

  beforeEach(async () => {
    log = await openSqliteLog({ directory: await makeFolder() })
    append = (...args) => log.append(...args)
    live = subscribeProjections(log, [createAccounts()], pino({ level: 'silent' }))
    await live.caughtUp
    writer = createEventWriter({ append: (...args) => append(...args) }, live, createClock(), {
      timeoutMs: PATIENCE,
    })
  })

  afterEach(async () => {
    await live.close()
    await log.close()
  })

  const write = (stream: string, revision = () => -1) =>
    writer.write(
      { stream, revision, decide: () => [{ type: 'PlanChanged', data: { userId: 1, plan: 'free' } }] },
      author,
    )

  const rejection = (promise: Promise<unknown>) =>
    promise.then(
      () => undefined,
      (error) => error,
    )

  it('resolves when this node has applied the change', async () => {
    const appended = await write('user-1')

    expect(live.position()).to.equal(appended?.position)
  })

  it('does not wait for ever for a change that it cannot see, and says that it is in the log', async () => {
    const known = await write('user-1')
    append = async () => ({ revision: 7, position: (known?.position ?? 0) + 1000 })

    const error = await rejection(write('user-2'))

    expect(error).to.be.instanceOf(EventLogUnavailableError).and.include({ outcomeUnknown: true })
  })

  it('does not wait for ever for the state that somebody else has made', async () => {
    append = async (stream) => {
      throw new WrongExpectedRevisionError(stream, -1, 5)
    }

    const error = await rejection(write('user-1'))

    expect(error).to.be.instanceOf(EventLogUnavailableError).and.include({ outcomeUnknown: false })
  })

  it('fails those who waited with the one who found the log away, and says that nothing of theirs was written', async () => {
    let appends = 0
    append = async () => {
      appends += 1
      throw new EventLogUnavailableError('away', { outcomeUnknown: true })
    }

    const errors = await Promise.all(Array.from({ length: 5 }, () => rejection(write('user-1'))))

    expect(appends).to.equal(1)
    expect(errors.map(({ outcomeUnknown }) => outcomeUnknown)).to.deep.equal([
      true,
      false,
      false,
      false,
      false,
    ])
  })

  it('tries everybody when the disk is full: what is smaller may fit', async () => {
    let appends = 0
    append = async () => {
      appends += 1
      throw new EventLogUnavailableError('full', { diskFull: true })
    }
    await Promise.all(Array.from({ length: 5 }, () => rejection(write('user-1'))))

    expect(appends).to.equal(5)
  })

  it('asks nothing of a log that is away', async () => {
    await log.close()
    while (live.state() !== 'away') await new Promise(setImmediate)
    append = () => {
      throw new Error('it was asked')
    }

    expect(await rejection(write('user-1')))
      .to.be.instanceOf(EventLogUnavailableError)
      .and.include({ outcomeUnknown: false })
  })
})
