/** Lists all issues with the settings or another file. Each names the setting and the allowed values. */
export class SettingsError extends Error {
  readonly issues: readonly string[]

  constructor(issues: readonly string[], subject = 'The settings have') {
    const count = issues.length === 1 ? 'an issue' : `${issues.length} issues`
    super(`${subject} ${count}:\n${issues.map((issue) => `  - ${issue}`).join('\n')}`)
    this.name = 'SettingsError'
    this.issues = issues
  }
}
