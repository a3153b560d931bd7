import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'

/** The conditions of alerts, with the fields of an alert that each has beside the common ones. */
export const ALERT_CONDITIONS: Readonly<Record<string, readonly string[]>> = {
  budget_share: ['at_least'],
  blocked_rate: ['at_least', 'over_seconds', 'min_requests'],
  error_rate: ['at_least', 'over_seconds', 'min_requests'],
  provider_down: [],
  tool_server_down: [],
  log_contradiction: [],
  key_expiring: ['within_days'],
  approvals_pending: ['at_least'],
}

/** Fields that only some conditions have. */
const CONDITION_FIELDS = ['at_least', 'over_seconds', 'min_requests', 'within_days'] as const

/** Finds what is wrong with alerts beyond their schema: fields that do nothing, and targets out of reach. */
export function findAlertIssues({
  alerts,
  smtp,
  alert_secret,
  smtp_password,
}: JsonObject): readonly string[] {
  const rows = Array.isArray(alerts) ? alerts.filter(isJsonObject) : []
  const names = rows.map(({ name, when }) => name ?? when)
  const issues: string[] = []
  for (const [index, row] of rows.entries()) {
    const setting = `alerts[${index}]`
    const name = names[index]
    if (names.indexOf(name) < index)
      issues.push(`${setting}: "${name}" is the name of another alert, too; give it a name of its own`)
    issues.push(...findFieldIssues(setting, row))
    const targets = Array.isArray(row.to) ? row.to.filter(isJsonObject) : []
    if (targets.some(({ email }) => email !== undefined) && !isJsonObject(smtp))
      issues.push(`${setting}.to has an address for mail; set smtp.host and smtp.from`)
    if (targets.some(({ webhook }) => webhook !== undefined) && !alert_secret)
      issues.push(
        `${setting}.to has a webhook: it needs a secret of at least 16 characters: set ALERT_SECRET`,
      )
  }
  if (isJsonObject(smtp) && smtp.user !== undefined && !smtp_password)
    issues.push('smtp.user needs a password: set SMTP_PASSWORD')
  return issues
}

function findFieldIssues(setting: string, row: JsonObject): readonly string[] {
  const own = typeof row.when === 'string' ? ALERT_CONDITIONS[row.when] : undefined
  if (own === undefined) return []
  const issues = CONDITION_FIELDS.filter((field) => row[field] !== undefined && !own.includes(field)).map(
    (field) => `${setting}.${field} has no effect on ${row.when}; remove it`,
  )
  const isRate = own.includes('min_requests')
  if (isRate && typeof row.at_least === 'number' && row.at_least > 1)
    issues.push(`${setting}.at_least is a share, and at most 1: 0.2 for 20 %`)
  if (row.when === 'approvals_pending' && row.at_least !== undefined && !Number.isInteger(row.at_least))
    issues.push(`${setting}.at_least is a number of approvals; use a whole number`)
  return issues
}
