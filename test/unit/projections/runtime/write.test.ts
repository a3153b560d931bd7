import { expect } from 'chai'
import { pino } from 'pino'
import {
  type EventLog,
  EventLogUnavailableError,
  WrongExpectedRevisionError,
} from '../../../../core/contract/index.ts'
import { ROOT_ACTOR } from '../../../../core/event-log/actor.ts'
import { openSqliteLog } from '../../../../core/event-log/sqlite/sqlite-log.ts'
import { createClock } from '../../../../core/util/clock.ts'
import { createAccounts } from '../../../../projections/accounts.ts'
import { type Subscription, subscribeProjections } from '../../../../projections/runtime/subscribe.ts'
import { createEventWriter, type EventWriter } from '../../../../projections/runtime/write.ts'
import { makeFolder } from '../../../support/folders.ts'
import { type StoppedTimers, stopTimers } from '../../../support/timers.ts'
import { waitUntil } from '../../../support/wait.ts'

const author = { actor: ROOT_ACTOR }
/** No other timer has this length. */
const TIMEOUT_MS = 70_005

describe('createEventWriter', () => {
  let log: EventLog
  let append: EventLog['append']
  let subscription: Subscription
  let writer: EventWriter
  let timers: StoppedTimers

  beforeEach(async () => {
    timers = stopTimers(TIMEOUT_MS)
    log = await openSqliteLog({ directory: await makeFolder() })
    append = (...args) => log.append(...args)
    subscription = subscribeProjections(log, [createAccounts()], pino({ level: 'silent' }))
    await subscription.caughtUp
    writer = createEventWriter({ append: (...args) => append(...args) }, subscription, createClock(), {
      timeoutMs: TIMEOUT_MS,
    })
  })

  afterEach(async () => {
    timers.restore()
    await subscription.close()
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

    expect(subscription.position()).to.equal(appended?.position)
  })

  it('rejects with outcomeUnknown if its change is not applied in time', async () => {
    const known = await write('user-1')
    append = async () => ({ revision: 7, position: (known?.position ?? 0) + 1000 })

    const rejected = rejection(write('user-2'))
    await timers.passUntil(TIMEOUT_MS, rejected)

    expect(await rejected)
      .to.be.instanceOf(EventLogUnavailableError)
      .and.include({ outcomeUnknown: true })
  })

  it('rejects if the change of another writer is not applied in time', async () => {
    append = async (stream) => {
      throw new WrongExpectedRevisionError(stream, -1, 5)
    }

    const rejected = rejection(write('user-1'))
    await timers.passUntil(TIMEOUT_MS, rejected)

    expect(await rejected)
      .to.be.instanceOf(EventLogUnavailableError)
      .and.include({ outcomeUnknown: false })
  })

  it('decides again as often as other writers append first', async () => {
    let lost = 0
    append = async (stream, events, options) => {
      if (lost < 100) {
        await log.append(stream, events, options)
        lost += 1
      }
      return log.append(stream, events, options)
    }

    expect(await write('user-1', () => lost - 1)).to.include({ revision: 100 })
  })

  it('fails queued writes together with the one that found the log unavailable, as not written', async () => {
    let appends = 0
    append = async () => {
      appends += 1
      throw new EventLogUnavailableError('unavailable', { outcomeUnknown: true })
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

  it('attempts every queued write if the disk is full, because a smaller one may fit', async () => {
    let appends = 0
    append = async () => {
      appends += 1
      throw new EventLogUnavailableError('full', { diskFull: true })
    }
    await Promise.all(Array.from({ length: 5 }, () => rejection(write('user-1'))))

    expect(appends).to.equal(5)
  })

  it('does not append while the log is unavailable', async () => {
    await log.close()
    await waitUntil(() => subscription.state() === 'away')
    append = () => {
      throw new Error('append was called')
    }

    expect(await rejection(write('user-1')))
      .to.be.instanceOf(EventLogUnavailableError)
      .and.include({ outcomeUnknown: false })
  })
})
