import type { Clock } from '../core/clock.ts'
import { type Appended, type EventLog, GatewayError, WrongRevision } from '../core/contract/index.ts'
import { type DomainEvent, describeWrite, encodeEvent } from '../core/events/codec.ts'
import type { Live } from './live.ts'

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
   * When somebody else was quicker, it decides again on the new state.
   */
  write(command: Command, author: Author): Promise<Appended | undefined>
}

const MOST_TRIES = 50

export function createWriter(log: EventLog, live: Live, clock: Clock): Writer {
  /** Writes to one stream queue up here, so that writers on this node never run into each other. */
  const queues = new Map<string, Promise<unknown>>()

  async function attempt(command: Command, author: Author): Promise<Appended | undefined> {
    for (let tries = 1; ; tries++) {
      const expected = command.revision()
      const events = command.decide()
      if (events.length === 0) return undefined
      const metadata = describeWrite(author.actor, clock(), author.requestId)
      try {
        const appended = await log.append(command.stream, events.map(encodeEvent), { expected, metadata })
        await live.until(() => live.position() >= appended.position)
        return appended
      } catch (error) {
        if (!(error instanceof WrongRevision)) throw error
        if (tries === MOST_TRIES) throw new GatewayError('conflict', 'Too many changes at once. Try again.')
        await live.until(() => command.revision() >= error.actual)
      }
    }
  }

  return {
    write(command, author) {
      const before = queues.get(command.stream) ?? Promise.resolve()
      const result = before.then(() => attempt(command, author))
      const settled = result.catch(() => undefined)
      queues.set(command.stream, settled)
      void settled.then(() => {
        if (queues.get(command.stream) === settled) queues.delete(command.stream)
      })
      return result
    },
  }
}
