import { errorMessage } from '../util/error-message.ts'
import type { BuiltIns, PluginEntry } from './load.ts'
import { findOrderIssues, orderByServices } from './plugin-order.ts'
import { type ListedPlugin, loadListedPlugin, parsePluginOptions } from './set-up.ts'

/**
 * Loads the listed plugins and checks their contract versions, order and options as `setUpPlugins` does,
 * without setting them up. Returns all issues.
 */
export async function findPluginIssues(
  entries: readonly PluginEntry[],
  builtIns: BuiltIns,
  folder: string,
  isGiven: (service: string) => boolean,
): Promise<readonly string[]> {
  const issues: string[] = []
  const plugins: ListedPlugin[] = []
  for (const entry of entries) {
    try {
      plugins.push(await loadListedPlugin(entry, builtIns, folder))
    } catch (error) {
      issues.push(errorMessage(error))
    }
  }
  const isComplete = plugins.length === entries.length
  issues.push(...findOrderIssues(plugins, isComplete))
  issues.push(...orderByServices(plugins, isGiven, isComplete).issues)
  for (const plugin of plugins) {
    try {
      parsePluginOptions(plugin)
    } catch (error) {
      issues.push(errorMessage(error))
    }
  }
  return issues
}
