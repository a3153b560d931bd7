import type { Finding } from './events.ts'

/** A row of the setting `alerts`, as the settings file has it. */
export interface AlertRow {
  readonly name?: string
  readonly when: string
  readonly at_least?: number
  readonly over_seconds?: number
  readonly min_requests?: number
  readonly within_days?: number
  readonly repeat_after_seconds?: number
  readonly resolve_after_seconds?: number
  readonly to: readonly TargetRow[]
}

/** One of the fields is set. */
export interface TargetRow {
  /** A URL, `env:NAME` or `file:PATH`. */
  readonly webhook?: string
  /** `env:NAME` or `file:PATH`. */
  readonly slack?: string
  readonly email?: string
}

/** The setting `smtp`. */
export interface SmtpSettings {
  readonly host: string
  readonly port?: number
  readonly security?: 'starttls' | 'tls' | 'none'
  readonly user?: string
  readonly from: string
}

/** When an alert fires. */
export interface Condition {
  /** Default of `at_least`. */
  readonly atLeast?: number
  /** Default of `repeat_after_seconds`. Default: 4 hours. */
  readonly repeatAfterHours?: number
  /** Says in a sentence when the alert fires. */
  describe(alert: Omit<Alert, 'condition'>): string
  /** Returns what the alert fires for now. Rejects if that cannot be told. */
  find(alert: Alert, now: number): Promise<readonly Finding[]>
  /** What only this process knows, by subject: texts for the process that finds. */
  readonly local?: () => ReadonlyMap<string, string>
}

/** An alert with its defaults. */
export interface Alert {
  readonly name: string
  readonly when: string
  readonly condition: Condition
  readonly atLeast: number
  readonly overSeconds: number
  readonly minRequests: number
  readonly withinDays: number
  readonly repeatAfterMs: number
  readonly resolveAfterMs: number
  readonly to: readonly TargetRow[]
}

const HOUR_SECONDS = 3600

export function toAlert(row: AlertRow, conditions: Readonly<Record<string, Condition>>): Alert {
  const { name = row.when, when, to } = row
  const condition = conditions[when]
  if (condition === undefined) throw new Error(`alerts: there is no condition ${when}`)
  const { atLeast = 0, repeatAfterHours = 4 } = condition
  return {
    ...{ name, when, condition, to },
    atLeast: row.at_least ?? atLeast,
    overSeconds: row.over_seconds ?? 300,
    minRequests: row.min_requests ?? 20,
    withinDays: row.within_days ?? 7,
    repeatAfterMs: (row.repeat_after_seconds ?? repeatAfterHours * HOUR_SECONDS) * 1000,
    resolveAfterMs: (row.resolve_after_seconds ?? 60) * 1000,
  }
}
