import { isJsonObject } from '../../core/contract/index.ts'
import type { PluginEntry } from '../../core/pipeline/load.ts'
import type { SettingsDocument } from './schema.ts'

type PluginsSetting = SettingsDocument['plugins']
type ListEntry = Extract<PluginsSetting, readonly unknown[]>[number]

/** Changes to the shipped plugin list, in place of a whole list. */
type PluginChanges = Exclude<PluginsSetting, readonly unknown[]>
type AddedPlugin = NonNullable<PluginChanges['add']>[number]

/**
 * Returns the plugins in running order: the list of the settings, or the shipped list with the changes of the
 * settings. Plugins are removed before others are added, so that a built-in plugin can be moved or get
 * options. Adds an issue for each change that cannot be made.
 */
export function resolvePluginList(
  setting: PluginsSetting,
  shipped: readonly ListEntry[],
  issues: string[],
): readonly PluginEntry[] {
  if (isList(setting)) return setting.map(toPluginEntry)
  const list = shipped.map(toPluginEntry)
  for (const [index, name] of (setting.remove ?? []).entries())
    removePlugin(list, name, `plugins.remove[${index}]`, issues)
  for (const [index, added] of (setting.add ?? []).entries())
    addPlugin(list, added, `plugins.add[${index}]`, issues)
  return list
}

function isList(setting: PluginsSetting): setting is readonly ListEntry[] {
  return !isJsonObject(setting)
}

function toPluginEntry(entry: ListEntry): PluginEntry {
  return typeof entry === 'string'
    ? { use: entry, options: {} }
    : { use: entry.use, options: entry.options ?? {} }
}

function removePlugin(list: PluginEntry[], name: string, field: string, issues: string[]): void {
  const index = indexOf(list, name)
  if (index === -1) issues.push(describeUnlisted(list, name, field))
  else list.splice(index, 1)
}

function addPlugin(list: PluginEntry[], added: AddedPlugin, field: string, issues: string[]): void {
  const entry = toPluginEntry(added)
  const place = findPlace(list, added, field)
  if (indexOf(list, entry.use) !== -1)
    issues.push(`${field} adds "${entry.use}", which is already in the list; remove one of the two`)
  else if (typeof place === 'string') issues.push(place)
  else list.splice(place, 0, entry)
}

/** Returns the index at which to add a plugin, or an issue. */
function findPlace(list: readonly PluginEntry[], added: AddedPlugin, field: string): number | string {
  const { before = undefined, after = undefined } = typeof added === 'string' ? {} : added
  if (before !== undefined && after !== undefined)
    return `${field} has both before and after; keep one of them`
  const anchor = before ?? after
  if (anchor === undefined) return list.length
  const index = indexOf(list, anchor)
  if (index === -1)
    return describeUnlisted(list, anchor, `${field}.${before === anchor ? 'before' : 'after'}`)
  return before === undefined ? index + 1 : index
}

function indexOf(list: readonly PluginEntry[], name: string): number {
  return list.findIndex(({ use }) => use === name)
}

function describeUnlisted(list: readonly PluginEntry[], name: string, field: string): string {
  const names = list.map(({ use }) => use).join(', ')
  return `${field} is "${name}", which is not in the list; use one of ${names}`
}
