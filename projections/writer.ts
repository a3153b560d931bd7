import type { Clock } from '../core/clock.ts'
import {
  type Appended,
  type EventLog,
  GatewayError,
  LogUnavailable,
  type Position,
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
  /** Nobody else has to know of it before the answer. */
  readonly isInternal?: boolean
}

export interface Writer {
  /**
   * Decides, appends at the revision decided on, and resolves when the projections of this node show the change, in all its processes.
   * When somebody else was quicker, it decides again on the new state. Rejects with `LogUnavailable` while the log is away.
   */
  write(command: Command, author: Author): Promise<Appended | undefined>
}

const MOST_TRIES = 50

const PATIENCE = 5000

export interface WriterOptions {
  /** How long this node may take to see what is in the log already, in milliseconds. */
  readonly patience?: number
  /** Resolves when the other processes of this node show what is in the log up to the position. */
  readonly spread?: ((position: Position) => Promise<void>) | undefined
}

export function createWriter(
  log: Pick<EventLog, 'append' | 'look'>,
  live: Live,
  clock: Clock,
  { patience = PATIENCE, spread = async () => undefined }: WriterOptions = {},
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
        await show(appended, command)
        return appended
      } catch (error) {
        if (!(error instanceof WrongRevision)) throw error
        if (tries === MOST_TRIES) throw new GatewayError('conflict', 'Too many changes at once. Try again.')
        log.look?.()
        await live.until(() => command.revision() >= error.actual, patience)
      }
    }
  }

  async function show({ position }: Appended, { isInternal }: Command): Promise<void> {
    const here = live.until(() => live.position() >= position, patience)
    try {
      await (isInternal ? here : Promise.all([here, spread(position)]))
    } catch (cause) {
      const message = 'the change is in the event log, and not all of this node saw it there in time'
      throw new LogUnavailable(message, { cause, maybeWritten: true })
    }
  }

  return {
    write: (command, author) => queues.run(command.stream, () => attempt(command, author)),
  }
}
