import type { AppendAsk, AppendedAnswer, WrongRevisionAnswer } from './sqlite-protocol.ts'

/**
 * Writes the events of one append behind revision `actual`, or says that the stream is not where the append expects it.
 * `insert` writes one event and gives its position.
 */
export function writeEvents(
  { expectedRevision, events }: AppendAsk,
  actual: number,
  insert: (revision: number, type: string, data: string) => number | bigint,
): AppendedAnswer | WrongRevisionAnswer {
  if (expectedRevision !== 'any' && expectedRevision !== actual) return { type: 'wrong-revision', actual }
  let revision = actual
  let position = 0
  for (const [type, data] of events) {
    revision += 1
    position = Number(insert(revision, type, data))
  }
  return { type: 'appended', revision, position }
}
