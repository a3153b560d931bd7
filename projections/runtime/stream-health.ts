import type { StreamAnomaly } from '../../core/contract/index.ts'
import type { EventKind, SavedState } from './projection.ts'

/** A stream that cannot be read completely. */
export interface DamagedStream {
  readonly stream: string
  /** Completes the sentence "the stream …". */
  readonly damage: string
}

/**
 * The state of the streams of users, rules, groups and policies: which have gaps, were truncated or deleted,
 * and which hold events of other programs. See docs/decisions/event-log.md, "A damaged stream stops its
 * user".
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
  damaged(): readonly DamagedStream[]
}

const CATEGORIES = ['user', 'rules', 'group', 'policy'] as const

type Category = (typeof CATEGORIES)[number]

function isCategory(name: string): name is Category {
  return CATEGORIES.some((category) => category === name)
}

/** The stream of a user or their rules; other streams concern several users. */
const STREAM_OF_USER = /^(user|rules)-([1-9]\d{0,15})$/
const SHARED_STREAM = /^(group|policy)-[1-9]\d{0,15}$/

export function createStreamHealth(): StreamHealth {
  /** Newest revisions by category and id. */
  const revisions: Readonly<Record<Category, Map<number, number>>> = {
    user: new Map(),
    rules: new Map(),
    group: new Map(),
    policy: new Map(),
  }
  /** Newest revision of an event of another program, by stream. */
  const foreign = new Map<string, number>()
  const newer = new Set<string>()
  const damages = new Map<string, string>()
  const damagedUsers = new Map<number, string>()
  /** A damaged stream that concerns several users. */
  let damagedShared: string | undefined

  function indexDamage(stream: string): void {
    if (SHARED_STREAM.test(stream)) damagedShared = stream
    else damagedUsers.set(Number(STREAM_OF_USER.exec(stream)?.[2]), stream)
  }

  function markDamaged(stream: string, damage: string): DamagedStream | undefined {
    const isKnown = STREAM_OF_USER.test(stream) || SHARED_STREAM.test(stream)
    if (!isKnown || damages.get(stream) === damage) return undefined
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

  function receive(stream: string, revision: number, kind: EventKind): DamagedStream | undefined {
    if (kind === 'foreign' || kind === 'unreadable') foreign.set(stream, revision)
    if (kind === 'newer') newer.add(stream)
    const category = CATEGORIES.find((name) => stream[name.length] === '-' && stream.startsWith(name))
    if (category === undefined) return undefined
    const known = revisions[category]
    const id = Number(stream.slice(category.length + 1))
    if (!Number.isSafeInteger(id)) return undefined
    const last = known.get(id) ?? -1
    if (revision <= last) return undefined
    known.set(id, revision)
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
    damaged: () => [...damages].map(([stream, damage]) => ({ stream, damage })),
    save: () =>
      serializeParts([
        ...CATEGORIES.map((category) => [category, [...revisions[category]]] as const),
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
        else if (part === 'foreign')
          for (const [stream, revision] of entries as [string, number][]) foreign.set(stream, revision)
        else if (part === 'newer') for (const stream of entries as string[]) newer.add(stream)
        else for (const [stream, damage] of entries as [string, string][]) markDamaged(stream, damage)
      }
    },
  }
}

type SavedPart = readonly [part: Category | 'foreign' | 'newer' | 'damages', entries: readonly unknown[]]

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
