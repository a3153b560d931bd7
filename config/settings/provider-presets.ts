import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import { findNearest } from '../../core/util/find-nearest.ts'
import { readShippedYaml } from './read-yaml.ts'

type Merge = (base: JsonObject, override: JsonObject) => JsonObject

/**
 * Completes the rows of providers by their presets, and by the address of the shipped row with the same
 * format. Adds what is wrong to `issues`.
 */
export function completeProviders(
  settings: JsonObject,
  shipped: JsonObject,
  merge: Merge,
  issues: string[],
): JsonObject {
  if (!isJsonObject(settings.providers)) return settings
  const addresses = new Map(
    Object.values(isJsonObject(shipped.providers) ? shipped.providers : {})
      .filter(isJsonObject)
      .map(({ format, base_url }) => [format, base_url]),
  )
  const rows = Object.entries(settings.providers).map(([id, given]) => {
    if (!isJsonObject(given)) return [id, given]
    const row = withPreset(id, given, merge, issues)
    const base_url = row.base_url ?? addresses.get(row.format)
    if (row.format === undefined && given.preset === undefined)
      issues.push(`providers.${id} needs a format, or a preset`)
    return [id, base_url === undefined ? row : { ...row, base_url }]
  })
  return { ...settings, providers: Object.fromEntries(rows) }
}

function withPreset(id: string, row: JsonObject, merge: Merge, issues: string[]): JsonObject {
  if (typeof row.preset !== 'string') return row
  const presets = readShippedYaml('config/provider-presets.yaml', issues)
  const known = isJsonObject(presets) ? presets : {}
  const preset = Object.hasOwn(known, row.preset) ? known[row.preset] : undefined
  if (!isJsonObject(preset)) {
    const names = Object.keys(known).toSorted()
    const nearest = findNearest(row.preset, names)
    const question = nearest === undefined ? '' : `did you mean ${nearest}? `
    const list = `use one of ${names.join(', ')}`
    issues.push(`providers.${id}.preset is "${row.preset}", which is not a preset; ${question}${list}`)
    return row
  }
  const { auth, key_variable, ...others } = preset
  // How a row authenticates replaces how its preset does.
  const isOwn = row.auth !== undefined || row.key_variable !== undefined
  const isKeyed = row.auth !== undefined && row.auth !== 'none'
  const authentication = isOwn ? (isKeyed && { key_variable }) || {} : { auth, key_variable }
  return withoutUndefined(merge({ ...others, ...authentication }, row))
}

function withoutUndefined(row: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined))
}
