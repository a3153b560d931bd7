import { findPluginIssues } from '../../core/pipeline/find-plugin-issues.ts'
import { ADAPTERS } from '../../providers/adapters.ts'
import { BUILT_IN_PLUGINS } from '../gateway/built-in-plugins.ts'
import { isGatewayService } from '../gateway/gateway-services.ts'
import { describeUnknownFormat, findQuirkIssues } from '../gateway/providers.ts'
import { readSettings, type Settings } from '../settings/settings.ts'
import { SettingsError } from '../settings/settings-error.ts'
import type { CommandArgs } from './command.ts'

/**
 * Checks the settings and the listed plugins as a start does, without opening the event log or a port. Throws
 * a `SettingsError` with all issues.
 */
export async function checkConfig({ environment, print }: CommandArgs): Promise<void> {
  const settings = readSettings(environment)
  for (const warning of settings.warnings) print(`Warning: ${warning}.`)
  const folder = process.cwd()
  const isGiven = (service: string) => isGatewayService(service, settings)
  const pluginIssues = await findPluginIssues(settings.plugins, BUILT_IN_PLUGINS, folder, isGiven)
  const hasPackages = settings.plugins.some(({ use }) => !BUILT_IN_PLUGINS.has(use))
  const adapters = new Map(ADAPTERS.map((adapter) => [adapter.format, adapter]))
  const issues = [
    ...pluginIssues,
    ...findFormatIssues(settings.providers, hasPackages, print),
    ...findQuirkIssues(settings.models, settings.providers, adapters),
  ]
  if (issues.length > 0) throw new SettingsError(issues)
  print(`Plugins: ${settings.plugins.map(({ use }) => use).join(' -> ')}`)
  print('The settings and plugins are valid.')
}

/** The formats of packages are known only once they are set up, so with packages, warnings are printed. */
function findFormatIssues(
  providers: Settings['providers'],
  hasPackages: boolean,
  print: CommandArgs['print'],
): readonly string[] {
  const known = ADAPTERS.map(({ format }) => format)
  const unknown = Object.entries(providers).filter(([, { format }]) => !known.includes(format))
  if (!hasPackages) return unknown.map(([id, { format }]) => describeUnknownFormat(id, format, known))
  for (const [id, { format }] of unknown)
    print(`Warning: providers.${id}.format is "${format}"; the start fails unless a plugin adds this format.`)
  return []
}
