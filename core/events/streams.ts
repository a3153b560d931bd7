import { IDS_STREAM } from './domain-events.ts'
import { PLUGIN_STREAM_PREFIX } from './plugin-events.ts'

/**
 * The streams that projections are made from; a name that ends in `-` stands for its whole category.
 * What else is in the log, such as stored responses, is read when it is asked for and not followed.
 */
export const FOLLOWED_STREAMS: readonly string[] = ['user-', 'rules-', IDS_STREAM, PLUGIN_STREAM_PREFIX]

/** Whether the stream is one of these. */
export function isFollowed(stream: string, names = FOLLOWED_STREAMS): boolean {
  return names.some((name) => (name.endsWith('-') ? stream.startsWith(name) : stream === name))
}

/** Streams that are gone after a while; everything else in the log is kept for ever. */
const EXPIRING_CATEGORY = 'response-'

export function isExpiring(stream: string): boolean {
  return stream.startsWith(EXPIRING_CATEGORY)
}

/** Throws when an expiring stream is to be kept for ever, or another is not. */
export function checkMaxAge(stream: string, maxAge: number | undefined): void {
  if (isExpiring(stream) === (maxAge !== undefined)) return
  throw new Error(
    isExpiring(stream)
      ? `an append to ${stream} needs a maxAge`
      : `${stream} is kept for ever: leave maxAge out`,
  )
}
