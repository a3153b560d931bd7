import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { createAddressReader } from '../core/http/client-address.ts'
import { createFailedKeys, createFailureMetric, type FailedKeys } from '../plugins/auth/failed-keys.ts'
import { createFailureCounter, openRedisFailures } from '../plugins/auth/failure-counters.ts'
import type { Settings } from './settings/settings.ts'

/**
 * Counts failed authentication attempts: in Redis for all processes if it is configured, otherwise in this
 * process.
 */
export function openFailedKeys(settings: Settings, metrics: Registry, logger: Logger): FailedKeys {
  const { redis_url, rate_limits, limits, trusted_proxies } = settings
  const redis = redis_url ? openRedisFailures(redis_url, rate_limits.redis_timeout_ms, logger) : undefined
  return createFailedKeys({
    limit: limits.auth_failures_per_minute,
    counter: createFailureCounter(redis),
    readAddress: createAddressReader(trusted_proxies),
    count: createFailureMetric(metrics),
    logger,
  })
}
