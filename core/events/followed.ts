import { IDS_STREAM } from './ids.ts'

/**
 * The streams that projections are made from; a name that ends in `-` stands for its whole category.
 * What else is in the log, such as stored responses, is read when it is asked for and not followed.
 */
export const FOLLOWED_STREAMS: readonly string[] = ['user-', 'rules-', IDS_STREAM]

/** Whether projections are made from the stream. */
export function isFollowed(stream: string): boolean {
  return FOLLOWED_STREAMS.some((name) => (name.endsWith('-') ? stream.startsWith(name) : stream === name))
}
