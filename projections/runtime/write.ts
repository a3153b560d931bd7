import {
  type Actor,
  type Appended,
  type Author,
  type EventLog,
  EventLogUnavailableError,
  type ExpectedRevision,
  GatewayError,
  type Idempotency,
  type NewEvent,
  type Position,
  StreamDamagedError,
  WrongExpectedRevisionError,
} from '../../core/contract/index.ts'
import { createMetadata, markAppend, SCHEMA_VERSION } from '../../core/events/codec.ts'
import {
  AppliedBeforeError,
  type FindKnownRequest,
  findAppliedChange,
} from '../../core/http/change-headers.ts'
import type { Clock } from '../../core/util/clock.ts'
import { afterManyItems } from '../../core/util/cooperative-yield.ts'
import type { DomainEvent } from '../events/registry.ts'
import { KeyedQueue } from './queues.ts'
import type { Subscription } from './subscribe.ts'

interface Command {
  readonly stream: string
  /**
   * The stream's revision in the current state of the projection. Without it, the events are appended at any
   * revision.
   */
  revision?(): number
  /**
   * Decides on the current state. Returns no events if there is nothing to do; throws a `GatewayError` to
   * refuse.
   */
  decide(): readonly DomainEvent[]
  /** If true, `write` does not wait until the other processes of this node have applied the events. */
  readonly isInternal?: boolean
  /** If true, the events record what somebody did without changing anything, so they need no reason. */
  readonly isRecord?: boolean
}

/** A command of a plugin, whose events have shapes of their own. */
interface PluginCommand {
  readonly stream: string
  /** Version of the event shapes. */
  readonly schema: number
  /** As in `Command`. Without it, the events are appended at any revision. */
  revision?(): number
  decide(): readonly NewEvent[]
}

/** An append of a command. */
export interface Written extends Appended {
  /** The time in the metadata of the events. */
  readonly time: string
  /** Numbers of workers of this node that hung, and were killed while the change waited for them. */
  readonly replacedWorkers: readonly number[]
}

export interface EventWriter {
  /** As `Subscription`. Commands call it before they look up what they change. */
  checkAvailable(): void
  /**
   * Decides, appends at the revision that the decision was based on, and resolves when the projections of all
   * processes of this node have applied the events. If another writer appended first, decides again on the
   * new state. Resolves with undefined if there was nothing to do. Rejects with `EventLogUnavailableError`,
   * and with `AppliedBeforeError` if a request with the author's `Idempotency-Key` has made the change.
   */
  write(command: Command | PluginCommand, author: Author): Promise<Written | undefined>
  /** Appends to a stream that nobody follows, at any revision. Resolves when the events are on disk. */
  store(stream: string, events: readonly NewEvent[], author: Author): Promise<void>
  /** Throws 400 if the author must give a reason and gives none. For changes that are long in the making. */
  checkAuthor(author: Author): void
}

/**
 * How long a change is decided again while other writers append first. A node that is closer to the store may
 * win a hundred times in a second.
 */
const MAX_CONTENTION_MS = 5000

const DEFAULT_TIMEOUT_MS = 5000

const NEED_NO_REASON: readonly Actor['type'][] = ['key', 'identity', 'system']

/**
 * Throws 400 if an operator, or somebody with the same rights, gives no reason for a change. See
 * docs/decisions/operators.md, "A reason is checked where events are written".
 */
function checkReason({ actor, reason }: Author): void {
  if (reason !== undefined || NEED_NO_REASON.includes(actor.type)) return
  const place = actor.type === 'cli' ? 'with --reason' : 'in the header x-change-reason'
  throw new GatewayError('reason_required', `Changes require a reason. Say why you make this one, ${place}.`)
}

export interface EventWriterOptions {
  /** Maximum time to wait until this node has applied events that are in the log. */
  readonly timeoutMs?: number
  /** Finds what a request with an `Idempotency-Key` has changed before. By default, nothing. */
  readonly findKnownRequest?: FindKnownRequest
  /** Whether changes of operators, root and commands are refused without a reason. */
  readonly requiresReason?: boolean
  /**
   * Resolves when the other processes of this node have applied all events up to the position, with the
   * numbers of those that hung and were killed.
   */
  readonly broadcastPosition?: ((position: Position) => Promise<readonly number[]>) | undefined
}

export function createEventWriter(
  log: Pick<EventLog, 'append' | 'poll'>,
  subscription: Subscription,
  clock: Clock,
  options: EventWriterOptions = {},
): EventWriter {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, broadcastPosition = async () => [] } = options
  const findKnownRequest = options.findKnownRequest ?? (() => undefined)
  /**
   * Serializes writes to the same stream, so that writers in this process do not conflict with each other.
   */
  const queues = new KeyedQueue()

  async function writeWithRetry(
    command: Command | PluginCommand,
    author: Author,
  ): Promise<Written | undefined> {
    const schema = 'schema' in command ? command.schema : SCHEMA_VERSION
    const begunAt = performance.now()
    while (true) {
      subscription.checkAvailable()
      if (author.idempotency !== undefined) checkNotApplied(author.idempotency)
      const decidedAt = subscription.position()
      const expectedRevision = revisionOf(command)
      const events: readonly NewEvent[] = command.decide()
      if (events.length === 0) return undefined
      // Encoding many events takes as long as deciding on them. The log checks the revision.
      await afterManyItems(events.length)
      const append = { expectedRevision, events: events.length }
      const metadata = markAppend(createMetadata(author, clock(), schema), append)
      try {
        const appended = await log.append(command.stream, events, { expectedRevision, metadata })
        if (appended.position <= decidedAt) await refuseOlderLog()
        const replacedWorkers = await waitUntilApplied(appended, command)
        return { ...appended, time: metadata.time, replacedWorkers }
      } catch (error) {
        if (!WrongExpectedRevisionError.isInstance(error)) throw error
        if (error.actual < error.expected) await refuseShorterStream(command.stream)
        if (performance.now() - begunAt > MAX_CONTENTION_MS)
          throw new GatewayError('conflict', 'Too many concurrent changes. Try again.', { retryAfter: 1 })
        log.poll?.()
        await catchUpTo(error.actual, command)
      }
    }
  }

  /** Throws if the request, or another one with its key, has changed something before. */
  function checkNotApplied(idempotency: Idempotency): void {
    const change = findAppliedChange(idempotency, findKnownRequest)
    if (change !== undefined) throw new AppliedBeforeError(change)
  }

  /** The revision to append at; `any` if the command does not check it. */
  function revisionOf({ stream, revision }: Command | PluginCommand): ExpectedRevision {
    return revision === undefined ? 'any' : subscription.appendRevision(stream, revision())
  }

  async function catchUpTo(actual: number, command: Command | PluginCommand): Promise<void> {
    const hasCaughtUp = () => {
      const revision = revisionOf(command)
      return revision === 'any' || revision >= actual
    }
    try {
      await subscription.until(hasCaughtUp, timeoutMs)
    } catch (cause) {
      if (!subscription.holdsNewerEvents(command.stream)) throw cause
      const damage = 'holds events that this version of Signalbox cannot apply'
      throw new StreamDamagedError(command.stream, damage, { cause })
    }
  }

  /** Rejects: the log holds fewer events of the stream than were applied. */
  async function refuseShorterStream(stream: string): Promise<never> {
    await subscription.checkLog()
    throw new StreamDamagedError(stream, 'lacks events that were applied')
  }

  /**
   * Rejects. An event that is written after a decision cannot precede the events that the decision was based
   * on, unless the log was replaced by an older one.
   */
  async function refuseOlderLog(): Promise<never> {
    await subscription.checkLog()
    const message = 'the event log returned a position before that of events which it held earlier'
    throw new EventLogUnavailableError(message, { outcomeUnknown: true })
  }

  /** Resolves with the workers that hung and were killed. */
  async function waitUntilApplied(
    { position }: Appended,
    command: Command | PluginCommand,
  ): Promise<readonly number[]> {
    const isInternal = 'isInternal' in command && command.isInternal
    const appliedHere = subscription.until(() => subscription.position() >= position, timeoutMs)
    try {
      const appliedElsewhere = isInternal ? [] : broadcastPosition(position)
      const [replaced] = await Promise.all([appliedElsewhere, appliedHere])
      return replaced
    } catch (cause) {
      const message = 'the change is in the event log, but not all processes of this node applied it in time'
      throw new EventLogUnavailableError(message, { cause, outcomeUnknown: true })
    }
  }

  function checkAuthor(author: Author): void {
    if (options.requiresReason) checkReason(author)
  }

  return {
    checkAvailable: subscription.checkAvailable,
    checkAuthor,
    async store(stream, events, author) {
      checkAuthor(author)
      const metadata = createMetadata(author, clock())
      await log.append(stream, events, { expectedRevision: 'any', metadata })
    },
    async write(command, author) {
      const isRecord = 'isRecord' in command && command.isRecord
      if (!isRecord) checkAuthor(author)
      const write = () => writeWithRetry(command, author)
      return command.revision === undefined ? write() : queues.run(command.stream, write)
    },
  }
}
