import { isJsonObject } from '../../core/contract/json.ts'
import type { CacheControl } from './wire.ts'

/** A cache mark as Anthropic's clients write it on a part, a tool or the request; undefined for anything else. */
export function readCacheControl(value: unknown): CacheControl | undefined {
  if (!isJsonObject(value) || value.type !== 'ephemeral') return undefined
  const { ttl } = value
  return ttl === '5m' || ttl === '1h' ? { type: 'ephemeral', ttl } : { type: 'ephemeral' }
}
