import { dump } from 'js-yaml'
import type { Model } from '../../core/contract/index.ts'
import { replaceFile } from '../../core/util/files.ts'
import { parsePriceList } from '../prices/parse-price-list.ts'
import { readSource } from '../prices/read-source.ts'
import {
  combineModels,
  NO_OWN_MODELS,
  readShippedModels,
  readUpdatedModels,
  updatedModelsFile,
  writeUpdateNote,
} from '../settings/model-list.ts'
import { readSettings } from '../settings/settings.ts'
import { SettingsError } from '../settings/settings-error.ts'
import { applyPriceList } from './apply-price-list.ts'
import type { CommandArgs } from './command.ts'
import { formatPriceChanges } from './price-changes.ts'

/**
 * Applies a list of prices to the catalogue: prints the changes, and writes the rows that are not as shipped
 * to `models.yaml` in the data folder. Running gateways read it again.
 */
export async function updateModels({ operands, options, environment, print }: CommandArgs): Promise<void> {
  const [source = ''] = operands
  const { data_dir: dataDir, models: effective } = readSettings(environment)
  const { name, text } = await readSource(source)
  const listed = parsePriceList(text, name)
  const shipped = combineModels(readShippedModels(), [], NO_OWN_MODELS)
  const current = readCurrentModels(dataDir, print)
  const { models, changes } = applyPriceList(current, listed, options.has('accept'))
  for (const line of formatPriceChanges(changes)) print(line)
  const applied = changes.filter(({ change }) => change !== 'refused' && change !== 'incomplete')
  if (changes.length > 0) print('')
  if (changes.some(({ change }) => change === 'refused')) {
    print('Refused: more than ten times another price, or 0. Repeat with --accept if the list is right.')
  }
  for (const line of describeOverridden(models, current, effective)) print(line)
  if (applied.length === 0) return print(`No changes to the catalogue from ${name}.`)
  if (options.has('dry-run')) return print(`${countOf(applied.length)} from ${name}, not written.`)
  const file = updatedModelsFile(dataDir)
  await writeRows(file, name, findChangedRows(models, shipped))
  print(
    `${countOf(applied.length)} from ${name} written to ${file}. Running gateways read it within seconds.`,
  )
}

function countOf(changes: number): string {
  return changes === 1 ? '1 change' : `${changes} changes`
}

function readCurrentModels(dataDir: string, print: CommandArgs['print']): readonly Model[] {
  const shipped = readShippedModels()
  try {
    return combineModels(shipped, readUpdatedModels(dataDir), NO_OWN_MODELS)
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    print(`Warning: ${updatedModelsFile(dataDir)} is invalid and will be replaced.`)
    return combineModels(shipped, [], NO_OWN_MODELS)
  }
}

/** Rows of the operator's settings stay in force. */
function describeOverridden(
  models: readonly Model[],
  current: readonly Model[],
  effective: readonly Model[],
): readonly string[] {
  const changed = findChangedRows(models, current)
  return changed.flatMap(({ provider, id }) => {
    const isSame = (row: Model) => row.provider === provider && row.id === id
    const [own, before] = [effective.find(isSame), current.find(isSame)]
    if (own === undefined || JSON.stringify(own.price) === JSON.stringify(before?.price)) return []
    return [`Your settings have a row of their own for ${provider}/${id}, which stays in force.`]
  })
}

function findChangedRows(models: readonly Model[], before: readonly Model[]): readonly Model[] {
  const known = new Set(before.map((row) => JSON.stringify(row)))
  return models.filter((row) => !known.has(JSON.stringify(row)))
}

async function writeRows(file: string, source: string, rows: readonly Model[]): Promise<void> {
  const date = new Date().toISOString().slice(0, 10)
  const header =
    writeUpdateNote(date, source) +
    '# Rows of your own belong under "models" in your settings; the next update replaces this file.\n'
  const ordered = rows.map(({ id, provider, ...row }) => ({ id, provider, ...row }))
  const yaml = dump(ordered, { flowLevel: 2, lineWidth: 110, noRefs: true })
  await replaceFile(file, (handle) => handle.writeFile(header + yaml))
}
