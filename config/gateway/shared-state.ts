import type { Logger } from 'pino'
import { createMemorySharedState } from '../../core/shared-state/memory.ts'
import type { SharedState } from '../../core/shared-state/shared-state.ts'
import type { Settings } from '../settings/settings.ts'
import type { ClusterPeer } from './cluster-peer.ts'

/**
 * Opens the state that all processes share: in Redis if it is configured, otherwise in the primary of the
 * cluster, otherwise in this process.
 */
export async function openSharedState(
  { redis_url: url, rate_limits }: Settings,
  peer: ClusterPeer | undefined,
  logger: Logger,
): Promise<SharedState> {
  if (!url) return peer?.sharedState ?? createMemorySharedState()
  const { openRedisSharedState } = await import('../../core/shared-state/redis.ts')
  return openRedisSharedState({ url, timeoutMs: rate_limits.redis_timeout_ms }, logger)
}
