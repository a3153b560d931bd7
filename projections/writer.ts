import type { Clock } from '../core/clock.ts'
import {
  type Appended,
  type Author,
  type EventLog,
  GatewayError,
  LogUnavailable,
  type NewEvent,
  type Position,
  WrongRevision,
} from '../core/contract/index.ts'
import { type DomainEvent, describeWrite, SCHEMA } from '../core/events/codec.ts'
import type { Live } from './live.ts'
import { Queues } from './queues.ts'

export interface Command {
  readonly stream: string
  /** The stream's revision as the projection knows it now. */
  revision(): number
  /** Decides on the projection's present state; throws a `GatewayError` to refuse. No events: nothing to do. */
  decide(): readonly DomainEvent[]
  /** Nobody else has to know of it before the answer. */
  readonly isInternal?: boolean
}

/** What a plugin writes: events in shapes of its own. */
export interface PluginCommand {
  readonly stream: string
  /** The version of the shapes. */
  readonly schema: number
  /** As of a `Command`; left out, the events are appended whatever else was written. */
  revision?(): number
  decide(): readonly NewEvent[]
}

export interface Writer {
  /**
   * Decides, appends at the revision decided on, and resolves when the projections of this node show the change, in all its processes.
   * When somebody else was quicker, it decides again on the new state. Rejects with `LogUnavailable` while the log is away.
   */
  write(command: Command | PluginCommand, author: Author): Promise<Appended | undefined>
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

  async function attempt(command: Command | PluginCommand, author: Author): Promise<Appended | undefined> {
    const schema = 'schema' in command ? command.schema : SCHEMA
    for (let tries = 1; ; tries++) {
      if (live.state() === 'away') throw new LogUnavailable('the event log is away', { passing: true })
      const expected = command.revision?.() ?? 'any'
      const events: readonly NewEvent[] = command.decide()
      if (events.length === 0) return undefined
      const metadata = describeWrite(author.actor, clock(), author.requestId, schema)
      try {
        const appended = await log.append(command.stream, events, { expected, metadata })
        await show(appended, command)
        return appended
      } catch (error) {
        if (!(error instanceof WrongRevision)) throw error
        if (tries === MOST_TRIES) throw new GatewayError('conflict', 'Too many changes at once. Try again.')
        log.look?.()
        await live.until(() => (command.revision?.() ?? error.actual) >= error.actual, patience)
      }
    }
  }

  async function show({ position }: Appended, command: Command | PluginCommand): Promise<void> {
    const isInternal = 'isInternal' in command && command.isInternal
    const here = live.until(() => live.position() >= position, patience)
    try {
      await (isInternal ? here : Promise.all([here, spread(position)]))
    } catch (cause) {
      const message = 'the change is in the event log, and not all of this node saw it there in time'
      throw new LogUnavailable(message, { cause, maybeWritten: true })
    }
  }

  return {
    write(command, author) {
      const write = () => attempt(command, author)
      return command.revision === undefined ? write() : queues.run(command.stream, write)
    },
  }
}
