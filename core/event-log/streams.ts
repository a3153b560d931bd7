import type { NewEvent } from '../contract/index.ts'

/** The stream of the log's identity: a single event `LogCreated {id}`. */
export const LOG_STREAM = 'log'

/**
 * Whether a list of stream names contains a stream. An entry that ends in `-` is a category and matches every
 * stream whose name begins with it.
 */
export function matchesStream(names: readonly string[], stream: string): boolean {
  return names.some((name) => (name.endsWith('-') ? stream.startsWith(name) : stream === name))
}

/**
 * Throws if an append has no events, if one to an expiring stream has no `maxAge`, or if one to any other
 * stream has one.
 */
export function checkAppend(
  stream: string,
  events: readonly NewEvent[],
  maxAge: number | undefined,
  isExpiring: boolean,
): void {
  if (events.length === 0) throw new Error(`an append to ${stream} needs at least one event`)
  if (isExpiring && maxAge === undefined) throw new Error(`stream ${stream} expires: maxAge is required`)
  if (!isExpiring && maxAge !== undefined) throw new Error(`stream ${stream} does not expire: omit maxAge`)
}

/** Throws unless the stream expires: the events of all other streams are permanent. */
export function checkDeletable(stream: string, isExpiring: boolean): void {
  if (!isExpiring) throw new Error(`stream ${stream} does not expire and cannot be deleted`)
}
