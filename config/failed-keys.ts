import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { createClientAddressResolver } from '../core/http/client-address.ts'
import { createFailedKeys, createFailureMetric, type FailedKeys } from '../plugins/auth/failed-keys.ts'
import { createFailureCounter, openRedisFailures } from '../plugins/auth/failure-counters.ts'
import type { Settings } from './settings/settings.ts'

/** Counts keys that failed, with the other processes where there is a Redis. */
export function openFailedKeys(settings: Settings, metrics: Registry, logger: Logger): FailedKeys {
  const { redis_url, rate_limits, limits, trusted_proxies } = settings
  const shared = redis_url ? openRedisFailures(redis_url, rate_limits.redis_timeout_ms, logger) : undefined
  return createFailedKeys({
    limit: limits.failed_keys_per_minute,
    counter: createFailureCounter(shared),
    readAddress: createClientAddressResolver(trusted_proxies),
    count: createFailureMetric(metrics),
    logger,
  })
}
