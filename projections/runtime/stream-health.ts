import type { StreamAnomaly } from '../../core/contract/index.ts'
import type { EventKind, SavedState } from './projection.ts'

/** A stream of a user that cannot be read completely. */
export interface DamagedStream {
  readonly stream: string
  /** Completes the sentence "the stream …". */
  readonly damage: string
}

/**
 * The state of the streams of users and rules: which have gaps, were truncated or deleted, and which hold
 * events of other programs. See docs/decisions/event-log.md, "A damaged stream stops its user".
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
  /** The damage of a user's streams; undefined if there is none. */
  damageOf(userId: number): DamagedStream | undefined
  damaged(): readonly DamagedStream[]
}

const STREAM_OF_USER = /^(user|rules)-([1-9]\d{0,15})$/

export function createStreamHealth(): StreamHealth {
  /** Newest revisions by user id. */
  const revisions = { user: new Map<number, number>(), rules: new Map<number, number>() }
  /** Newest revision of an event of another program, by stream. */
  const foreign = new Map<string, number>()
  const newer = new Set<string>()
  const damages = new Map<string, string>()
  const damagedUsers = new Map<number, string>()

  function markDamaged(stream: string, damage: string): DamagedStream | undefined {
    const [, , userId] = STREAM_OF_USER.exec(stream) ?? []
    if (userId === undefined || damages.get(stream) === damage) return undefined
    damages.set(stream, damage)
    damagedUsers.set(Number(userId), stream)
    return { stream, damage }
  }

  function markRestored(stream: string): void {
    if (damages.get(stream) !== TRUNCATED) return
    damages.delete(stream)
    damagedUsers.clear()
    for (const damaged of damages.keys()) damagedUsers.set(userIdOf(damaged), damaged)
  }

  function receive(stream: string, revision: number, kind: EventKind): DamagedStream | undefined {
    if (kind === 'foreign') foreign.set(stream, revision)
    if (kind === 'newer') newer.add(stream)
    const dash = stream.indexOf('-')
    const category = stream.slice(0, dash)
    const userId = Number(stream.slice(dash + 1))
    if ((category !== 'user' && category !== 'rules') || !Number.isSafeInteger(userId)) return undefined
    const last = revisions[category].get(userId) ?? -1
    if (revision <= last) return undefined
    revisions[category].set(userId, revision)
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
      const stream = damagedUsers.get(userId)
      return stream === undefined ? undefined : { stream, damage: damages.get(stream) ?? GAP }
    },
    damaged: () => [...damages].map(([stream, damage]) => ({ stream, damage })),
    save: () =>
      serializeParts([
        ['user', [...revisions.user]],
        ['rules', [...revisions.rules]],
        ['foreign', [...foreign]],
        ['newer', [...newer]],
        ['damages', [...damages]],
      ]),
    load(lines) {
      for (const line of lines) {
        const [part, entries]: SavedPart = JSON.parse(line.toString())
        // The casts are safe: `save` wrote the entries of each part.
        if (part === 'user' || part === 'rules')
          for (const [id, revision] of entries as [number, number][]) revisions[part].set(id, revision)
        else if (part === 'foreign')
          for (const [stream, revision] of entries as [string, number][]) foreign.set(stream, revision)
        else if (part === 'newer') for (const stream of entries as string[]) newer.add(stream)
        else for (const [stream, damage] of entries as [string, string][]) markDamaged(stream, damage)
      }
    },
  }
}

type SavedPart = readonly [
  part: 'user' | 'rules' | 'foreign' | 'newer' | 'damages',
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
const TRUNCATED = 'has metadata that hides events ($tb, $maxCount or $maxAge)'
const DELETED = 'was deleted permanently'

function userIdOf(stream: string): number {
  return Number(STREAM_OF_USER.exec(stream)?.[2])
}
