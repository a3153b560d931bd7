import type { StreamAnomaly } from '../../core/contract/index.ts'
import { OVERALL_BUDGET_STREAM } from '../events/budgets.ts'
import { OPERATORS_STREAM } from '../events/operators.ts'
import { REVOCATIONS_STREAM } from '../events/users.ts'
import type { EventKind, SavedState } from './projection.ts'

/** A stream that cannot be read completely. */
export interface DamagedStream {
  readonly stream: string
  /** Completes the sentence "the stream …". */
  readonly damage: string
}

/**
 * The state of the streams that decide who is served and how: which have gaps, were truncated or deleted, and
 * which hold events of other programs. See docs/decisions/event-log.md, "A damaged stream stops its user".
 */
export interface StreamHealth extends SavedState {
  /** Receives every event of a followed stream. Returns the stream's damage if this event shows it first. */
  receive(stream: string, revision: number, kind: EventKind): DamagedStream | undefined
  /** As `receive`, for what is not an event. Returns undefined for foreign events, too. */
  note(anomaly: StreamAnomaly): DamagedStream | undefined
  /**
   * The revision at which a command must append that was decided at `revision`: events of other programs
   * behind it are skipped, events of a newer version are not.
   */
  appendRevision(stream: string, revision: number): number
  /** Whether the stream holds events that only a newer version can apply. */
  holdsNewerEvents(stream: string): boolean
  /** The damage of a user's streams, or of one that may concern any user; undefined if there is none. */
  damageOf(userId: number): DamagedStream | undefined
  /** The damage of the stream of the operators: one of them may have been removed. */
  damageOfOperators(): DamagedStream | undefined
  damaged(): readonly DamagedStream[]
}

const CATEGORIES = ['user', 'rules', 'group', 'policy'] as const

type Category = (typeof CATEGORIES)[number]

function isCategory(name: string): name is Category {
  return CATEGORIES.some((category) => category === name)
}

/** Streams that are not of a category. */
const SINGLE_STREAMS: ReadonlySet<string> = new Set([
  REVOCATIONS_STREAM,
  OVERALL_BUDGET_STREAM,
  OPERATORS_STREAM,
])

/** The stream of a user or their rules. */
const STREAM_OF_USER = /^(user|rules)-([1-9]\d{0,15})$/
const STREAM_OF_SEVERAL = /^(group|policy)-[1-9]\d{0,15}$/

/** Whether any user may depend on the stream: nobody knows whose key a lost event has revoked. */
function isShared(stream: string): boolean {
  return (SINGLE_STREAMS.has(stream) && stream !== OPERATORS_STREAM) || STREAM_OF_SEVERAL.test(stream)
}

export function createStreamHealth(): StreamHealth {
  /** Newest revisions by category and id. */
  const revisions: Readonly<Record<Category, Map<number, number>>> = {
    user: new Map(),
    rules: new Map(),
    group: new Map(),
    policy: new Map(),
  }
  /** Newest revisions of the single streams, by name. */
  const single = new Map<string, number>()
  /** Newest revision of an event of another program, by stream. */
  const foreign = new Map<string, number>()
  const newer = new Set<string>()
  const damages = new Map<string, string>()
  const damagedUsers = new Map<number, string>()
  /** A damaged stream that concerns several users. */
  let damagedShared: string | undefined

  function indexDamage(stream: string): void {
    const userId = STREAM_OF_USER.exec(stream)?.[2]
    if (userId !== undefined) damagedUsers.set(Number(userId), stream)
    else if (isShared(stream)) damagedShared = stream
  }

  function markDamaged(stream: string, damage: string): DamagedStream | undefined {
    const isKnown = STREAM_OF_USER.test(stream) || STREAM_OF_SEVERAL.test(stream)
    if (!(isKnown || SINGLE_STREAMS.has(stream)) || damages.get(stream) === damage) return undefined
    damages.set(stream, damage)
    indexDamage(stream)
    return { stream, damage }
  }

  function markRestored(stream: string): void {
    if (damages.get(stream) !== TRUNCATED) return
    damages.delete(stream)
    damagedUsers.clear()
    damagedShared = undefined
    for (const damaged of damages.keys()) indexDamage(damaged)
  }

  /** Notes the revision. Returns the newest one before it; undefined for a stream that is not checked. */
  function advance(stream: string, revision: number): number | undefined {
    const category = CATEGORIES.find((name) => stream[name.length] === '-' && stream.startsWith(name))
    if (category === undefined)
      return SINGLE_STREAMS.has(stream) ? advanceIn(single, stream, revision) : undefined
    const id = Number(stream.slice(category.length + 1))
    return Number.isSafeInteger(id) ? advanceIn(revisions[category], id, revision) : undefined
  }

  function receive(stream: string, revision: number, kind: EventKind): DamagedStream | undefined {
    if (kind === 'foreign' || kind === 'unreadable') foreign.set(stream, revision)
    if (kind === 'newer') newer.add(stream)
    const last = advance(stream, revision)
    if (last === undefined || revision <= last) return undefined
    // It may have been an event of Signalbox, without which the user would have fewer rules.
    if (kind === 'unreadable') return markDamaged(stream, UNREADABLE)
    return revision === last + 1 ? undefined : markDamaged(stream, GAP)
  }

  return {
    name: 'streams',
    receive,
    note({ kind, stream, revision }) {
      if (kind === 'foreign') return receive(stream, revision, 'foreign')
      if (kind === 'deleted') return markDamaged(stream, DELETED)
      if (kind === 'truncated') return markDamaged(stream, TRUNCATED)
      markRestored(stream)
      return undefined
    },
    appendRevision(stream, revision) {
      return newer.has(stream) ? revision : Math.max(revision, foreign.get(stream) ?? -1)
    },
    holdsNewerEvents: (stream) => newer.has(stream),
    damageOf(userId) {
      const stream = damagedUsers.get(userId) ?? damagedShared
      return stream === undefined ? undefined : { stream, damage: damages.get(stream) ?? GAP }
    },
    damageOfOperators() {
      const damage = damages.get(OPERATORS_STREAM)
      return damage === undefined ? undefined : { stream: OPERATORS_STREAM, damage }
    },
    damaged: () => [...damages].map(([stream, damage]) => ({ stream, damage })),
    save: () =>
      serializeParts([
        ...CATEGORIES.map((category) => [category, [...revisions[category]]] as const),
        ['single', [...single]],
        ['foreign', [...foreign]],
        ['newer', [...newer]],
        ['damages', [...damages]],
      ]),
    load(lines) {
      for (const line of lines) {
        const [part, entries]: SavedPart = JSON.parse(line.toString())
        // The casts are safe: `save` wrote the entries of each part.
        if (isCategory(part))
          for (const [id, revision] of entries as [number, number][]) revisions[part].set(id, revision)
        else if (part === 'single')
          for (const [stream, revision] of entries as [string, number][]) single.set(stream, revision)
        else if (part === 'foreign')
          for (const [stream, revision] of entries as [string, number][]) foreign.set(stream, revision)
        else if (part === 'newer') for (const stream of entries as string[]) newer.add(stream)
        else for (const [stream, damage] of entries as [string, string][]) markDamaged(stream, damage)
      }
    },
  }
}

/** Notes the revision of a stream. Returns the newest one before it. */
function advanceIn<Key>(known: Map<Key, number>, key: Key, revision: number): number {
  const last = known.get(key) ?? -1
  if (revision > last) known.set(key, revision)
  return last
}

type SavedPart = readonly [
  part: Category | 'single' | 'foreign' | 'newer' | 'damages',
  entries: readonly unknown[],
]

/** Entries on one line of a snapshot. */
const LINE_ENTRIES = 1000

function* serializeParts(parts: readonly SavedPart[]): Generator<string> {
  for (const [part, entries] of parts) {
    for (let start = 0; start < entries.length; start += LINE_ENTRIES)
      yield JSON.stringify([part, entries.slice(start, start + LINE_ENTRIES)])
  }
}

const GAP = 'lacks events'
const UNREADABLE = 'holds an event that is not valid JSON'
const TRUNCATED = 'has metadata that hides events ($tb, $maxCount or $maxAge)'
const DELETED = 'was deleted permanently'
