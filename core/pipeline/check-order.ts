import type { Plugin } from '../contract/index.ts'

interface ListedPlugin {
  readonly plugin: Pick<Plugin, 'name' | 'after'>
  /** The plugin's name in error messages. */
  readonly title: string
}

/** Throws if a plugin is listed twice, or not after the plugins in its `after`. */
export function checkPluginOrder(list: readonly ListedPlugin[]): void {
  const names = list.map(({ plugin }) => plugin.name)
  for (const [index, { plugin, title }] of list.entries()) {
    const first = names.indexOf(plugin.name)
    if (first !== index) throw duplicateError(title, list[first]?.title ?? title)
    for (const required of plugin.after ?? []) {
      const requiredIndex = names.indexOf(required)
      if (requiredIndex === -1)
        throw new Error(`${title} requires "${required}", which is not listed. List "${required}" before it.`)
      if (requiredIndex > index) throw new Error(`${title} must be listed after "${required}". Move it down.`)
    }
  }
}

function duplicateError(title: string, firstTitle: string): Error {
  if (title === firstTitle) return new Error(`${title} is listed twice. List it once.`)
  return new Error(`${title} has the same name as ${firstTitle}. List only one of them.`)
}
