import { writeSettings } from './settings-file.ts'

/** Environment of a gateway with these settings, in YAML. */
export async function withSettings(yaml: string): Promise<{ CONFIG: string }> {
  return { CONFIG: await writeSettings(yaml) }
}

/** For tests with Redis that are not about its timeout: on a busy machine, an answer may take long. */
export const PATIENT_WITH_REDIS = 'redis_timeout_ms: 10000'

/** For tests that ask more often than a user may. */
export const UNLIMITED = `rate_limits: { requests_per_minute: { free: null, paid: null }, ${PATIENT_WITH_REDIS} }\n`
