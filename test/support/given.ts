import { expect } from 'chai'
import { type ErrorCode, type EventLog, GatewayError, type NewEvent } from '../../core/contract/index.ts'
import { ROOT_ACTOR } from '../../core/event-log/actor.ts'
import { createMemoryLog } from '../../core/event-log/memory.ts'
import { readToEnd } from '../../core/event-log/streams.ts'
import { createMetadata } from '../../core/events/codec.ts'
import { createLogger } from '../../core/threads/logger.ts'
import { createClock } from '../../core/util/clock.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import { createProjections, listProjections, type Projections } from '../../projections/projections.ts'
import { type Subscription, subscribeProjections } from '../../projections/runtime/subscribe.ts'
import { createEventWriter, type EventWriter } from '../../projections/runtime/write.ts'
import { streamOf } from './histories.ts'

/** A node with a log in memory, and what commands need of it. */
export interface CommandNode extends Projections {
  readonly log: EventLog
  readonly subscription: Subscription
  readonly writer: EventWriter
  /** Appends as another node does. Resolves when this node has applied the events. */
  append(...events: readonly DomainEvent[]): Promise<void>
}

export interface Meanwhile {
  /** What another node writes right before the command's first append at a revision. */
  readonly beforeAppend?: readonly DomainEvent[]
}

interface Refusal {
  readonly code: ErrorCode
  /** A part of the message. */
  readonly message: string
  /** What it has appended nevertheless. Nothing by default. */
  readonly events?: readonly NewEvent[]
}

/** Tests a command by its events: `await given(created).when(command).expect([changed])`, or an error. */
export function given(...history: readonly DomainEvent[]) {
  return {
    when(command: (node: CommandNode) => Promise<unknown>, meanwhile: Meanwhile = {}) {
      const run = () => runCommand(history, command, meanwhile)
      return {
        /** Resolves with the events that the command has appended, its error, and the state after it. */
        run,
        /** Resolves with the state after the command. */
        async expect(expected: readonly NewEvent[] | Refusal): Promise<Projections> {
          const { events, error, node } = await run()
          if ('code' in expected) {
            expect(GatewayError.isInstance(error) && error.code, String(error)).to.equal(expected.code)
            expect((error as Error).message).to.contain(expected.message)
            expect(events).to.deep.equal(expected.events ?? [])
          } else {
            expect(error).to.equal(undefined)
            expect(events).to.deep.equal(expected)
          }
          return node
        },
      }
    },
  }
}

async function runCommand(
  history: readonly DomainEvent[],
  command: (node: CommandNode) => Promise<unknown>,
  { beforeAppend = [] }: Meanwhile,
) {
  const log = createMemoryLog()
  const clock = createClock()
  const projections = createProjections()
  const subscription = subscribeProjections(log, listProjections(projections), createLogger('silent'))
  /** Where the events are that the command has not appended. */
  const others = new Set<number>()
  let newest = 0
  async function write(events: readonly DomainEvent[]): Promise<void> {
    for (const event of events) {
      const metadata = createMetadata({ actor: ROOT_ACTOR }, clock())
      const { position } = await log.append(streamOf(event), [event], { expectedRevision: 'any', metadata })
      others.add(position)
      newest = position
    }
  }
  async function append(...events: readonly DomainEvent[]): Promise<void> {
    await write(events)
    await subscription.until(() => subscription.position() >= newest)
  }
  const waiting = [...beforeAppend]
  const contested: Pick<EventLog, 'append'> = {
    async append(stream, events, options) {
      if (options.expectedRevision !== 'any') await write(waiting.splice(0))
      return log.append(stream, events, options)
    },
  }
  try {
    await append(...history)
    const node = { ...projections, log, subscription, append }
    const writer = createEventWriter(contested, subscription, clock)
    const error = await command({ ...node, writer }).then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(waiting, 'what another node was to write first').to.deep.equal([])
    const events: NewEvent[] = []
    for await (const { type, data, position } of readToEnd(log))
      if (!others.has(position)) events.push({ type, data })
    return { events, error, node: projections }
  } finally {
    await subscription.close()
    await log.close()
  }
}
