import type { Plugin } from '../contract/index.ts'

interface OrderedPlugin {
  readonly plugin: Pick<Plugin, 'name' | 'after' | 'before'>
  /** The plugin's name in error messages. */
  readonly title: string
}

/**
 * Throws if a plugin is listed twice, or out of order: see `after` and `before` of plugins, and
 * docs/decisions/plugins.md, "A plugin without a valid place stops the start".
 */
export function checkPluginOrder(list: readonly OrderedPlugin[]): void {
  const [issue] = findOrderIssues(list)
  if (issue !== undefined) throw new Error(issue)
}

/**
 * Returns everything that is wrong with the order of plugins. Pass `isComplete: false` if some listed plugins
 * could not be loaded: they may be the ones that are missing.
 */
export function findOrderIssues(list: readonly OrderedPlugin[], isComplete = true): readonly string[] {
  const issues: string[] = []
  const names = list.map(({ plugin }) => plugin.name)
  for (const [index, { plugin, title }] of list.entries()) {
    const first = names.indexOf(plugin.name)
    if (first !== index) issues.push(describeDuplicate(title, list[first]?.title ?? title))
    for (const required of plugin.after ?? []) {
      const requiredIndex = names.indexOf(required)
      if (requiredIndex === -1 && isComplete)
        issues.push(`${title} requires "${required}", which is not listed. List "${required}" before it.`)
      if (requiredIndex > index) issues.push(`${title} must be listed after "${required}". Move it down.`)
    }
    for (const later of plugin.before ?? []) {
      const laterIndex = names.indexOf(later)
      if (laterIndex !== -1 && laterIndex < index)
        issues.push(`${title} must be listed before "${later}". Move it up.`)
    }
  }
  return issues
}

function describeDuplicate(title: string, firstTitle: string): string {
  if (title === firstTitle) return `${title} is listed twice. List it once.`
  return `${title} has the same name as ${firstTitle}. List only one of them.`
}
