import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { createAddressReader } from '../core/http/client-address.ts'
import {
  createFailedKeys,
  createFailureCounter,
  createFailureMetric,
  type FailedKeys,
  openRedisFailures,
} from '../plugins/auth/auth-failures.ts'
import type { Settings } from './settings/settings.ts'

/** Counts keys that failed, with the other processes where there is a Redis. */
export function openFailedKeys(settings: Settings, metrics: Registry, logger: Logger): FailedKeys {
  const { redis_url, rate_limits, limits, trusted_proxies } = settings
  const shared = redis_url ? openRedisFailures(redis_url, rate_limits.redis_timeout_ms, logger) : undefined
  return createFailedKeys({
    limit: limits.failed_keys_per_minute,
    counter: createFailureCounter(shared),
    readAddress: createAddressReader(trusted_proxies),
    count: createFailureMetric(metrics),
    logger,
  })
}
