import type { EventLog } from '../../core/contract/index.ts'

/** Streams that are read at the same time. */
const CONCURRENCY = 32

/** Further streams are only counted. */
const MAX_LISTED_STREAMS = 20

/**
 * Reads every stream on its own and compares the number of its events with that in the whole log, which still
 * holds events that a stream no longer shows. Returns the issues as sentences.
 */
export async function compareStreams(
  log: Pick<EventLog, 'read'>,
  counts: ReadonlyMap<string, number>,
): Promise<readonly string[]> {
  const issues: string[] = []
  const remaining = counts.entries()

  async function compareNext(): Promise<void> {
    for (const [stream, expected] of remaining) {
      let count = 0
      for await (const _ of log.read(stream)) count += 1
      // More are events that were written meanwhile.
      if (count < expected) issues.push(`Stream ${stream} shows ${count} of its ${expected} events.`)
    }
  }

  await Promise.all(Array.from({ length: CONCURRENCY }, compareNext))
  const unlisted = issues.length - MAX_LISTED_STREAMS
  const listed = issues.toSorted().slice(0, MAX_LISTED_STREAMS)
  return unlisted > 0 ? [...listed, `${unlisted} more streams are incomplete.`] : listed
}
