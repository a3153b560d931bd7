import type { Clock } from '../core/clock.ts'
import {
  type Appended,
  type EventLog,
  GatewayError,
  LogUnavailable,
  WrongRevision,
} from '../core/contract/index.ts'
import { type DomainEvent, describeWrite, encodeEvent } from '../core/events/codec.ts'
import type { Live } from './live.ts'
import { Queues } from './queues.ts'

/** Who asked for a change: a key id, `admin`, `cli` or `system`, and the request it came with. */
export interface Author {
  readonly actor: string
  readonly requestId?: string
}

export interface Command {
  readonly stream: string
  /** The stream's revision as the projection knows it now. */
  revision(): number
  /** Decides on the projection's present state; throws a `GatewayError` to refuse. No events: nothing to do. */
  decide(): readonly DomainEvent[]
}

export interface Writer {
  /**
   * Decides, appends at the revision decided on, and resolves when this node's projections show the change.
   * When somebody else was quicker, it decides again on the new state. Rejects with `LogUnavailable` while the log is away.
   */
  write(command: Command, author: Author): Promise<Appended | undefined>
}

const MOST_TRIES = 50

/** How long this node may take to see what is in the log already, in milliseconds. */
const PATIENCE = 5000

export function createWriter(
  log: Pick<EventLog, 'append'>,
  live: Live,
  clock: Clock,
  patience = PATIENCE,
): Writer {
  /** Writes to one stream queue up here, so that writers on this node never run into each other. */
  const queues = new Queues()

  async function attempt(command: Command, author: Author): Promise<Appended | undefined> {
    for (let tries = 1; ; tries++) {
      if (live.state() === 'away') throw new LogUnavailable('the event log is away', { passing: true })
      const expected = command.revision()
      const events = command.decide()
      if (events.length === 0) return undefined
      const metadata = describeWrite(author.actor, clock(), author.requestId)
      try {
        const appended = await log.append(command.stream, events.map(encodeEvent), { expected, metadata })
        await show(appended)
        return appended
      } catch (error) {
        if (!(error instanceof WrongRevision)) throw error
        if (tries === MOST_TRIES) throw new GatewayError('conflict', 'Too many changes at once. Try again.')
        await live.until(() => command.revision() >= error.actual, patience)
      }
    }
  }

  async function show({ position }: Appended): Promise<void> {
    try {
      await live.until(() => live.position() >= position, patience)
    } catch (cause) {
      throw new LogUnavailable(
        'the change is in the event log, which went away before this node saw it there',
        {
          cause,
          maybeWritten: true,
        },
      )
    }
  }

  return {
    write: (command, author) => queues.run(command.stream, () => attempt(command, author)),
  }
}
