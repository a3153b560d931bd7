export const SETTING_SOURCES = ['default', 'preset', 'file', 'environment'] as const

/** Where the value of a setting came from. */
export interface SettingSource {
  readonly type: (typeof SETTING_SOURCES)[number]
  /** The file, or the environment variable. */
  readonly name?: string
}

/** A setting. The value of a secret is null. */
export interface DescribedSetting {
  readonly name: string
  readonly value: unknown
  readonly default?: unknown
  readonly source: SettingSource
  readonly variable?: string
  readonly is_secret: boolean
  readonly is_set: boolean
  readonly description?: string
}

/** The settings of this process. */
export interface SettingsReport {
  /** The operator's file; null if there is none. */
  readonly file: string | null
  readonly settings: readonly DescribedSetting[]
}
