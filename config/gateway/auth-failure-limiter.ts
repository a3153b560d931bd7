import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { createClientAddressResolver } from '../../core/http/client-address.ts'
import {
  type AuthFailureLimiter,
  createAuthFailureCounter,
  createAuthFailureLimiter,
  createAuthFailureMetric,
  openRedisAuthFailureCounter,
} from '../../plugins/auth/auth-failures.ts'
import type { Settings } from '../settings/settings.ts'

/**
 * Counts failed authentication attempts: in Redis for all processes if it is configured, otherwise in this
 * process.
 */
export function openAuthFailureLimiter(
  settings: Settings,
  metrics: Registry,
  logger: Logger,
): AuthFailureLimiter {
  const { redis_url, rate_limits, limits, trusted_proxies } = settings
  const shared = redis_url
    ? openRedisAuthFailureCounter(redis_url, rate_limits.redis_timeout_ms, logger)
    : undefined
  return createAuthFailureLimiter({
    limit: limits.auth_failures_per_minute,
    counter: createAuthFailureCounter(shared),
    resolveAddress: createClientAddressResolver(trusted_proxies),
    recordOutcome: createAuthFailureMetric(metrics),
    logger,
  })
}
