import type { ChatRequest, Model } from '../../core/contract/index.ts'
import { withoutCacheMarks } from './cache-marks.ts'

/** The models that the gateway knows (docs/providers.md, "The catalogue"). */
export interface Catalog {
  readonly models: readonly Model[]
  /** Finds a model by a name, among the models of one provider if that is given: see `match`. */
  find(name: string, provider?: string): Model | undefined
  /**
   * Finds a model by its id or an alias. Letter case does not matter, nor does a dot in place of a dash. A
   * name with a date, such as `gpt-4o-2024-08-06`, that the catalogue does not have is the model without it.
   */
  match(name: string, provider?: string): CatalogMatch | undefined
  /** Replaces all rows. Rows that did not change stay the same objects, with what was measured of them. */
  replace(models: readonly Model[]): void
}

export interface CatalogMatch {
  readonly model: Model
  /** The name as the catalogue writes it; of a dated name, as the caller does. */
  readonly name: string
  readonly isDated: boolean
}

/** Where several providers offer a model of the same name, `find` prefers those that are configured. */
export function createCatalog(
  rows: readonly Model[],
  isConfigured: (provider: string) => boolean = () => true,
): Catalog {
  let models = rows
  let matches = indexNames(models, isConfigured)

  function matchName(name: string, provider?: string): CatalogMatch | undefined {
    const found = matches.get(name) ?? matches.get(normalizeName(name))
    return provider === undefined ? found?.[0] : found?.find(({ model }) => model.provider === provider)
  }

  function match(name: string, provider?: string): CatalogMatch | undefined {
    const found = matchName(name, provider)
    if (found !== undefined || !DATE.test(name)) return found
    const undated = matchName(withoutDate(name), provider)
    return undated && { ...undated, name, isDated: true }
  }

  return {
    get models() {
      return models
    },
    match,
    find: (name, provider) => match(name, provider)?.model,
    replace(rows) {
      const current = new Map(models.map((model) => [JSON.stringify(model), model]))
      models = rows.map((row) => current.get(JSON.stringify(row)) ?? row)
      matches = indexNames(models, isConfigured)
    },
  }
}

/** Removes the date at the end of a name: `gpt-4o-2024-08-06` is a `gpt-4o`. */
export function withoutDate(name: string): string {
  return name.replace(DATE, '')
}

const DATE = /-(?:\d{4}-\d{2}-\d{2}|20\d{6})$/

/** OpenRouter writes `claude-opus-4.6`, and other clients write names in capitals. */
function normalizeName(name: string): string {
  return name.toLowerCase().replaceAll('.', '-')
}

/** Indexes all names as written, and normalized where that is not the name of another model. */
function indexNames(models: readonly Model[], isConfigured: (provider: string) => boolean) {
  const exact = new Map<string, CatalogMatch[]>()
  const normalized = new Map<string, CatalogMatch[]>()
  const rank = ({ provider }: Model) => (isConfigured(provider) ? 0 : 1)
  for (const model of models.toSorted((a, b) => rank(a) - rank(b))) {
    for (const name of [model.id, ...model.aliases]) {
      const match = { model, name, isDated: false }
      exact.set(name, [...(exact.get(name) ?? []), match])
      const key = normalizeName(name)
      normalized.set(key, [...(normalized.get(key) ?? []), match])
    }
  }
  return new Map([...normalized, ...exact])
}

/** Whether the provider no longer serves the model, by its catalogue row. */
export function isRetired({ retires }: Pick<Model, 'retires'>, today = currentDate()): boolean {
  return retires !== undefined && retires <= today
}

const DAY_MS = 86_400_000
let date = { day: -1, text: '' }

/** Returns the date in UTC. The text is kept, because every automatic choice needs it. */
export function currentDate(): string {
  const day = Math.floor(Date.now() / DAY_MS)
  if (date.day !== day) date = { day, text: new Date(day * DAY_MS).toISOString().slice(0, 10) }
  return date.text
}

/** The configured features of a provider's models (docs/api.md, "Capabilities"). */
export interface Capabilities {
  /** JSON mode: `none`, `object` (`json_object`), or `schema` (`json_schema` as well). */
  readonly json: 'none' | 'object' | 'schema'
  readonly logit_bias: boolean
  readonly seed: boolean
  /**
   * Whether messages may have the reasoning of earlier replies. Default: true. `required`: those with tool
   * calls must have some.
   */
  readonly reasoning?: boolean | 'required'
  /** Whether messages may have the role `developer`. Default: true. */
  readonly developer_role?: boolean
  /** False: `cache_control` of messages and tools is left out. */
  readonly cache_control?: boolean
}

/** Fields that are left out, with a warning, for providers that do not support them. */
const OPTIONAL_FIELDS = ['logit_bias', 'seed'] as const

/**
 * Removes the fields that the provider does not support. `omitted` names those that were set, if the reply
 * depends on them.
 */
export function limitRequest(
  given: ChatRequest,
  capabilities: Capabilities,
): { request: ChatRequest; omitted: readonly string[] } {
  const request = capabilities.cache_control === false ? withoutCacheMarks(given) : given
  const omitted = OPTIONAL_FIELDS.filter(
    (name) => !capabilities[name] && request[name] !== undefined && request[name] !== null,
  )
  if (omitted.length === 0) return { request, omitted }
  const kept = Object.entries(request).filter(([name]) => !omitted.some((field) => field === name))
  // The cast is safe because only optional fields were removed.
  return { request: Object.fromEntries(kept) as ChatRequest, omitted }
}
