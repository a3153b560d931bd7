import { findPluginIssues } from '../../core/pipeline/find-plugin-issues.ts'
import { declareBuiltInPlugins } from '../gateway/built-in-plugins.ts'
import { readSettings } from '../settings/settings.ts'
import { SettingsError } from '../settings/settings-error.ts'
import type { CommandArgs } from './command.ts'

/**
 * Checks the settings and the listed plugins as a start does, without opening the event log or a port. Throws
 * a `SettingsError` with all issues.
 */
export async function checkConfig({ environment, print }: CommandArgs): Promise<void> {
  const settings = readSettings(environment)
  for (const warning of settings.warnings) print(`Warning: ${warning}.`)
  const builtIns = declareBuiltInPlugins(settings)
  const issues = await findPluginIssues(settings.plugins, builtIns, process.cwd())
  if (issues.length > 0) throw new SettingsError(issues)
  print('The settings and plugins are valid.')
}
