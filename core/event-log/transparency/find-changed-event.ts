import type { Position, RecordedEvent } from '../../contract/event-log.ts'
import type { RecordedLeafList } from './tree-files.ts'

/** The first event of a log that is not the one that was recorded. */
export interface ChangedEvent {
  /** Number of the event in the log, from 0. */
  readonly index: number
  readonly position: Position
  /** A sentence. */
  readonly issue: string
}

/** Compares the events of a log, in log order, with their recorded hashes, and finds the first difference. */
export interface ChangedEventFinder {
  /** Returns whether the event is the one that was recorded; false after the first difference. */
  check(record: RecordedEvent, leafHash: Buffer): boolean
  /** The first difference; undefined if there is none. Call it after the last event. */
  found(): ChangedEvent | undefined
}

/** `isImported`: the events were recorded in another log, in which they had other positions. */
export function createChangedEventFinder(
  recorded: RecordedLeafList,
  { isImported = false }: { readonly isImported?: boolean } = {},
): ChangedEventFinder {
  let size = 0
  let first: { readonly record: RecordedEvent; readonly index: number; readonly hash: Buffer } | undefined
  /** The event behind the first different one, which tells an insertion from a change. */
  let second: Buffer | undefined

  function describe(): ChangedEvent | undefined {
    if (first === undefined) return size < recorded.size ? describeEnd() : undefined
    const { record, index, hash } = first
    const { position, stream, revision } = record
    const event = `Event ${revision} of ${stream}, at position ${position},`
    const describeAs = (issue: string, at = position) => ({ index, position: at, issue })
    const recordedPosition = recorded.positionOf(index)
    if (recorded.hashOf(index)?.equals(hash))
      return describeAs(`${event} was at position ${recordedPosition} when it was recorded.`)
    const wasNext = recorded.hashOf(index + 1)?.equals(hash) ?? false
    const isNext = second !== undefined && (recorded.hashOf(index)?.equals(second) ?? false)
    if (wasNext && isNext) return describeAs(`${event} was exchanged with the next one.`)
    if (isNext) return describeAs(`${event} was inserted.`)
    if (wasNext) return describeAs(`The event at position ${recordedPosition} was removed.`, recordedPosition)
    return describeAs(`${event} was changed, removed or moved.`)
  }

  function describeEnd(): ChangedEvent {
    const position = recorded.positionOf(size) ?? 0
    return { index: size, position, issue: `The event at position ${position} was removed from the end.` }
  }

  return {
    check(record, hash) {
      const index = size++
      if (first !== undefined) second ??= hash
      if (first !== undefined || index >= recorded.size) return false
      const isMoved = !isImported && recorded.positionOf(index) !== record.position
      if (!isMoved && recorded.hashOf(index)?.equals(hash)) return true
      first = { record, index, hash }
      return false
    },
    found: describe,
  }
}
