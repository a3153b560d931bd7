import {
  type Appended,
  type Author,
  type EventLog,
  EventLogUnavailableError,
  GatewayError,
  type NewEvent,
  type Position,
  WrongExpectedRevisionError,
} from '../../core/contract/index.ts'
import { createMetadata, type DomainEvent, SCHEMA_VERSION } from '../../core/events/codec.ts'
import type { Clock } from '../../core/util/clock.ts'
import { KeyedQueue } from './queues.ts'
import type { Subscription } from './subscribe.ts'

interface Command {
  readonly stream: string
  /** The stream's revision as the projection knows it now. */
  revision(): number
  /** Decides on the projection's present state; throws a `GatewayError` to refuse. No events: nothing to do. */
  decide(): readonly DomainEvent[]
  /** Nobody else has to know of it before the answer. */
  readonly isInternal?: boolean
}

/** What a plugin writes: events in shapes of its own. */
interface PluginCommand {
  readonly stream: string
  /** The version of the shapes. */
  readonly schema: number
  /** As of a `Command`; left out, the events are appended whatever else was written. */
  revision?(): number
  decide(): readonly NewEvent[]
}

export interface EventWriter {
  /**
   * Decides, appends at the revision decided on, and resolves when the projections of this node show the change, in all its processes.
   * When somebody else was quicker, it decides again on the new state. Rejects with `LogUnavailable` while the log is away.
   */
  write(command: Command | PluginCommand, author: Author): Promise<Appended | undefined>
}

const MAX_ATTEMPTS = 50

const DEFAULT_TIMEOUT_MS = 5000

export interface EventWriterOptions {
  /** How long this node may take to see what is in the log already, in milliseconds. */
  readonly timeoutMs?: number
  /** Resolves when the other processes of this node show what is in the log up to the position. */
  readonly broadcastPosition?: ((position: Position) => Promise<void>) | undefined
}

export function createEventWriter(
  log: Pick<EventLog, 'append' | 'poll'>,
  live: Subscription,
  clock: Clock,
  { timeoutMs = DEFAULT_TIMEOUT_MS, broadcastPosition = async () => undefined }: EventWriterOptions = {},
): EventWriter {
  /** Writes to one stream queue up here, so that writers on this node never run into each other. */
  const queues = new KeyedQueue()

  async function attempt(command: Command | PluginCommand, author: Author): Promise<Appended | undefined> {
    const schema = 'schema' in command ? command.schema : SCHEMA_VERSION
    for (let tries = 1; ; tries++) {
      if (live.state() === 'away')
        throw new EventLogUnavailableError('the event log is away', { transient: true })
      const expectedRevision = command.revision?.() ?? 'any'
      const events: readonly NewEvent[] = command.decide()
      if (events.length === 0) return undefined
      const metadata = createMetadata(author.actor, clock(), author.requestId, schema)
      try {
        const appended = await log.append(command.stream, events, {
          expectedRevision: expectedRevision,
          metadata,
        })
        await show(appended, command)
        return appended
      } catch (error) {
        if (!WrongExpectedRevisionError.isInstance(error)) throw error
        if (tries === MAX_ATTEMPTS) throw new GatewayError('conflict', 'Too many changes at once. Try again.')
        log.poll?.()
        await live.until(() => (command.revision?.() ?? error.actual) >= error.actual, timeoutMs)
      }
    }
  }

  async function show({ position }: Appended, command: Command | PluginCommand): Promise<void> {
    const isInternal = 'isInternal' in command && command.isInternal
    const here = live.until(() => live.position() >= position, timeoutMs)
    try {
      await (isInternal ? here : Promise.all([here, broadcastPosition(position)]))
    } catch (cause) {
      const message = 'the change is in the event log, and not all of this node saw it there in time'
      throw new EventLogUnavailableError(message, { cause, outcomeUnknown: true })
    }
  }

  return {
    write(command, author) {
      const write = () => attempt(command, author)
      return command.revision === undefined ? write() : queues.run(command.stream, write)
    },
  }
}
