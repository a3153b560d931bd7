import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'

interface RenamedSetting {
  readonly section: string
  readonly from: string
  readonly to: string
  /** Converts a value of the old setting. Returns values that it does not know unchanged. */
  readonly convert?: (value: unknown) => unknown
}

/** Settings that were renamed. Their old names are accepted for one release. */
const RENAMED_SETTINGS: readonly RenamedSetting[] = [
  { section: 'responses', from: 'keep_days', to: 'retention_days' },
  { section: 'rate_limits', from: 'without_redis', to: 'on_redis_failure', convert: toRedisFailurePolicy },
  { section: 'timeouts', from: 'stalled_ms', to: 'write_timeout_ms' },
  { section: 'breaker', from: 'failures', to: 'min_requests' },
  { section: 'limits', from: 'failed_keys_per_minute', to: 'auth_failures_per_minute' },
]

/**
 * Replaces the old names in the operator's settings by the new ones. Adds an issue when both names are set.
 */
export function replaceDeprecatedSettings(
  settings: JsonObject,
  issues: string[],
): { settings: JsonObject; warnings: readonly string[] } {
  const replaced: Record<string, unknown> = { ...settings }
  const warnings: string[] = []
  for (const { section, from, to, convert } of RENAMED_SETTINGS) {
    const values = replaced[section]
    if (!isJsonObject(values) || !(from in values)) continue
    const [oldName, newName] = [`${section}.${from}`, `${section}.${to}`]
    if (to in values)
      issues.push(`${oldName} and ${newName} are both set; remove ${oldName}, which is deprecated`)
    const { [from]: value, ...rest } = values
    replaced[section] = { [to]: convert ? convert(value) : value, ...rest }
    warnings.push(`setting ${oldName} is deprecated; use ${newName}`)
  }
  const plugins = replaceTrace(replaced.plugins)
  if (JSON.stringify(plugins) !== JSON.stringify(replaced.plugins)) {
    replaced.plugins = plugins
    warnings.push('plugin trace is deprecated; use ledger')
  }
  return { settings: replaced, warnings }
}

/** Replaces the plugin `trace` by `ledger`, which has no options, wherever a list of plugins names it. */
function replaceTrace(value: unknown): unknown {
  if (value === 'trace') return 'ledger'
  if (Array.isArray(value)) return value.map(replaceTrace)
  if (!isJsonObject(value)) return value
  const { options, ...rest } = value
  const replaced = Object.fromEntries(Object.entries(rest).map(([name, part]) => [name, replaceTrace(part)]))
  return options === undefined || value.use === 'trace' ? replaced : { ...replaced, options }
}

const REDIS_FAILURE_POLICIES = new Map<unknown, string>([
  ['open', 'allow'],
  ['closed', 'refuse'],
])

/** `{ free: 'closed' }` becomes `{ free: 'refuse' }`. */
function toRedisFailurePolicy(plans: unknown): unknown {
  if (!isJsonObject(plans)) return plans
  const entries = Object.entries(plans)
  return Object.fromEntries(
    entries.map(([plan, value]) => [plan, REDIS_FAILURE_POLICIES.get(value) ?? value]),
  )
}
