import { matchesStream } from '../../core/event-log/streams.ts'
import { PLUGIN_STREAM_PREFIX } from '../../core/events/plugin-events.ts'
import { EVENTS } from './registry.ts'
import { ROUTER_WEIGHTS_PREFIX } from './routers.ts'

/**
 * The streams that projections are built from; a name that ends in `-` is a category. Everything else in the
 * log is read on demand.
 */
export const FOLLOWED_STREAMS: readonly string[] = [...EVENTS.streams, PLUGIN_STREAM_PREFIX]

/**
 * Permanent streams that subscriptions skip, because their events are large and read on demand. Exports and
 * verifications include them.
 */
export const UNFOLLOWED_STREAMS: readonly string[] = [ROUTER_WEIGHTS_PREFIX]

/** Whether the transparency log has the events of the stream, and projections receive them. */
export function isFollowed(stream: string): boolean {
  return !matchesStream(UNFOLLOWED_STREAMS, stream)
}

/**
 * Types of events that a full disk must not prevent: a revocation cannot wait for space. A reserve is kept
 * for them.
 */
export const RESERVED_TYPES = EVENTS.urgentTypes
