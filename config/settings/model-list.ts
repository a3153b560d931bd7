import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { MODE_SPELLINGS, type Mode, type Model, parseMode } from '../../core/contract/index.ts'
import { compileValidator, describeSchemaErrors } from '../../core/util/json-schema.ts'
import { shippedFile } from '../../core/util/package-folder.ts'
import { readShippedYaml, readYaml } from './read-yaml.ts'
import type { SettingsDocument } from './schema.ts'
import { SettingsError } from './settings-error.ts'

type ModelRows = SettingsDocument['models']

const schema = JSON.parse(readFileSync(shippedFile('config/schema.json'), 'utf8'))
const validateModels = compileValidator<ModelRows>(schema.properties.models)

/** The file that `signalbox models update` writes. */
export function updatedModelsFile(dataDir: string): string {
  return path.join(dataDir, 'models.yaml')
}

type Read = (file: string, issues: string[]) => unknown

/** Reads rows of the catalogue. Adds what is wrong with them to `issues`. */
function readModelRows(read: Read, file: string, name: string, issues: string[]): ModelRows {
  const found: string[] = []
  const rows = read(file, found)
  if (found.length === 0 && validateModels(rows)) return rows
  const invalid = found.length > 0 ? found : describeSchemaErrors(validateModels.errors)
  issues.push(...invalid.map((issue) => (found.length > 0 ? issue : `${name}: ${issue}`)))
  return []
}

/** The rows of the operator's settings, and other names of models and modes. */
export interface OwnModels {
  readonly models: ModelRows
  readonly model_aliases: Readonly<Record<string, string>>
}

export const NO_OWN_MODELS: OwnModels = { models: [], model_aliases: {} }

let shippedModels: ModelRows | undefined

/** Reads `config/models.yaml`, once in a process. */
export function readShippedModels(issues: string[] = []): ModelRows {
  if (shippedModels !== undefined) return shippedModels
  const found: string[] = []
  const rows = readModelRows(readShippedYaml, 'config/models.yaml', 'models.yaml', found)
  if (found.length === 0) shippedModels = rows
  issues.push(...found)
  return rows
}

/** All rows: those of `models.yaml` in the data folder replace shipped ones, and the operator's own both. */
export function combineModels(
  shipped: ModelRows,
  updated: ModelRows,
  { models, model_aliases }: OwnModels,
): readonly Model[] {
  const rows = new Map<string, Model>()
  for (const row of [...shipped, ...updated, ...models]) {
    rows.set(`${row.provider}:${row.id}`, {
      aliases: [],
      reasoning: false,
      sampling: true,
      quirks: {},
      ...row,
    })
  }
  return addAliases([...rows.values()], model_aliases)
}

/** Reads `models.yaml` in the data folder, if there is one. Throws a `SettingsError` if it is invalid. */
export function readUpdatedModels(dataDir: string): ModelRows {
  const file = updatedModelsFile(dataDir)
  if (!existsSync(file)) return []
  const issues: string[] = []
  const rows = readModelRows(readYaml, file, file, issues)
  if (issues.length > 0) throw new SettingsError(issues)
  return rows
}

/** From where and on which day `models.yaml` in the data folder was written; undefined without the file. */
export function readUpdateNote(
  dataDir: string,
): { readonly date: string; readonly source: string } | undefined {
  const file = updatedModelsFile(dataDir)
  if (!existsSync(file)) return undefined
  const [, date, source] = UPDATE_NOTE.exec(readFileSync(file, 'utf8')) ?? []
  return date === undefined || source === undefined ? undefined : { date, source: JSON.parse(source) }
}

const UPDATE_NOTE =
  /^# Written by "signalbox models update" on (\d{4}-\d{2}-\d{2}), from ("(?:[^"\\]|\\.)*")\.$/m

/** The first line of that file. */
export function writeUpdateNote(date: string, source: string): string {
  return `# Written by "signalbox models update" on ${date}, from ${JSON.stringify(source)}.\n`
}

/** Returns the modes by their aliases, in lower case. */
export function readModeAliases(aliases: OwnModels['model_aliases']): ReadonlyMap<string, Mode> {
  return new Map(
    Object.entries(aliases).flatMap(([alias, target]) => {
      const mode = parseModeName(target)
      return mode === undefined ? [] : [[alias.toLowerCase(), mode] as const]
    }),
  )
}

function parseModeName(name: string): Mode | undefined {
  if (name === 'auto') return 'balance'
  return name.startsWith('auto:') ? parseMode(name.slice('auto:'.length)) : undefined
}

/** Adds the aliases of the settings to the rows. Throws a `SettingsError` for those of unknown models. */
function addAliases(rows: readonly Model[], aliases: OwnModels['model_aliases']): readonly Model[] {
  const issues: string[] = []
  const added = new Map<Model, string[]>()
  for (const [alias, target] of Object.entries(aliases)) {
    const owner = rows.find(({ id }) => id.toLowerCase() === alias.toLowerCase())
    const model = rows.find(({ id, provider }) =>
      [id, `${provider}/${id}`, `${provider}:${id}`].includes(target),
    )
    if (owner !== undefined) {
      issues.push(`model_aliases.${alias} is the name of a model of ${owner.provider}; use another alias`)
    } else if (model !== undefined) {
      added.set(model, [...(added.get(model) ?? []), alias])
    } else if (parseModeName(target) === undefined) {
      issues.push(describeUnknownTarget(alias, target))
    }
  }
  if (issues.length > 0) throw new SettingsError(issues)
  // An alias of the settings is no longer one of a shipped row.
  const taken = new Set(Object.keys(aliases).map((alias) => alias.toLowerCase()))
  return rows.map((row) => {
    const kept = row.aliases.filter((alias) => !taken.has(alias.toLowerCase()))
    return { ...row, aliases: [...kept, ...(added.get(row) ?? [])] }
  })
}

function describeUnknownTarget(alias: string, target: string): string {
  return (
    `model_aliases.${alias} names "${target}", which is neither a model of the catalogue (gpt-4o, ` +
    `openai/gpt-4o) nor a routing mode (auto:${MODE_SPELLINGS.join(', auto:')}); correct it, or add the ` +
    'model to models'
  )
}
