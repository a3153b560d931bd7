import { IDS_STREAM } from './ids.ts'
import { PLUGIN_STREAMS } from './plugins.ts'

/**
 * The streams that projections are made from; a name that ends in `-` stands for its whole category.
 * What else is in the log, such as stored responses, is read when it is asked for and not followed.
 */
export const FOLLOWED_STREAMS: readonly string[] = ['user-', 'rules-', IDS_STREAM, PLUGIN_STREAMS]

/** Whether the stream is one of these. */
export function isFollowed(stream: string, names = FOLLOWED_STREAMS): boolean {
  return names.some((name) => (name.endsWith('-') ? stream.startsWith(name) : stream === name))
}
