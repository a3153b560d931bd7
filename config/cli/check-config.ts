import { findPluginIssues } from '../../core/pipeline/find-plugin-issues.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { ADAPTERS } from '../../providers/adapters.ts'
import { BUILT_IN_PLUGINS } from '../gateway/built-in-plugins.ts'
import { isGatewayService } from '../gateway/gateway-services.ts'
import { describeUnknownFormat, findQuirkIssues } from '../gateway/providers.ts'
import type { Environment } from '../settings/environment.ts'
import { readSettings, type Settings } from '../settings/settings.ts'
import { SettingsError } from '../settings/settings-error.ts'
import type { CommandArgs } from './command.ts'

/**
 * Checks the settings and the listed plugins as a start does, without opening the event log or a port. Sets
 * packages up only for the formats that they add. Throws a `SettingsError` with all issues.
 */
export async function checkConfig({ environment, print }: CommandArgs): Promise<void> {
  const settings = readSettings(environment)
  for (const warning of settings.warnings) print(`Warning: ${warning}.`)
  const folder = process.cwd()
  const isGiven = (service: string) => isGatewayService(service, settings)
  const pluginIssues = await findPluginIssues(settings.plugins, BUILT_IN_PLUGINS, folder, isGiven)
  const adapters = new Map(ADAPTERS.map((adapter) => [adapter.format, adapter]))
  const issues = [
    ...pluginIssues,
    ...(await findFormatIssues(settings, environment, pluginIssues.length === 0)),
    ...findQuirkIssues(settings.models, settings.providers, adapters),
  ]
  if (issues.length > 0) throw new SettingsError(issues)
  print(`Plugins: ${settings.plugins.map(({ use }) => use).join(' -> ')}`)
  print('The settings and plugins are valid.')
}

/** The formats of packages are known only once they are set up: on an empty event log in memory. */
async function findFormatIssues(
  { providers, plugins }: Settings,
  environment: Environment,
  areLoadable: boolean,
): Promise<readonly string[]> {
  const known = ADAPTERS.map(({ format }) => format)
  const unknown = Object.entries(providers).filter(([, { format }]) => !known.includes(format))
  if (plugins.every(({ use }) => BUILT_IN_PLUGINS.has(use)))
    return unknown.map(([id, { format }]) => describeUnknownFormat(id, format, known))
  if (unknown.length === 0 || !areLoadable) return []
  const { withGateway } = await import('./command-state.ts')
  const { openEmptyState } = await import('../gateway/empty-state.ts')
  return withGateway(environment, async () => [], openEmptyState).catch((error) => [errorMessage(error)])
}
