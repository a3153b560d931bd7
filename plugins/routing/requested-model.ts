import {
  type Account,
  type ChatRequest,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Mode,
  parseMode,
  type RoutingInput,
} from '../../core/contract/index.ts'
import { parseJsonObject } from '../../core/util/json.ts'
import type { RoutingCatalog } from './routing-catalog.ts'

/** The meaning of the `model` field of a request. */
export type RequestedModel =
  | { readonly type: 'auto'; readonly mode: Mode }
  | { readonly type: 'fixed'; readonly model: string; readonly provider?: string }

/** The names that the gateway knows, for `parseRequestedModel`. */
export interface KnownNames {
  readonly providers: ReadonlySet<string>
  /** Modes by their aliases in the settings, in lower case. */
  readonly modeAliases?: ReadonlyMap<string, Mode> | undefined
  /** Whether the catalogue has the whole name. */
  isCatalogued?(name: string): boolean
}

export function knownNames(
  { catalog, modeAliases }: Pick<RoutingCatalog, 'catalog' | 'modeAliases'>,
  providers: ReadonlySet<string>,
): KnownNames {
  return { providers, modeAliases, isCatalogued: (name) => catalog.find(name) !== undefined }
}

/** The names that OpenRouter gives to providers, where they are not ours. */
const OTHER_PROVIDER_NAMES: ReadonlyMap<string, string> = new Map([
  ['google', 'gemini'],
  ['mistralai', 'mistral'],
])

/**
 * Parses `auto`, `auto:<mode>`, `<provider>:<model>`, `<provider>/<model>`, `models/<model>` or a model name;
 * a missing model means `auto:balance`. Only a known provider counts as a prefix, because model names may
 * contain colons and slashes. Throws 404 for an unknown mode.
 */
export function parseRequestedModel(
  model: string | null | undefined,
  { providers, modeAliases, isCatalogued }: KnownNames,
): RequestedModel {
  if (model === undefined || model === null) return { type: 'auto', mode: 'balance' }
  const aliased = modeAliases?.get(model.toLowerCase())
  if (aliased !== undefined) return { type: 'auto', mode: aliased }
  const separator = model.search(/[:/]/)
  const prefix = model.slice(0, Math.max(separator, 0)).toLowerCase()
  const rest = model.slice(separator + 1)
  if (separator === -1) {
    return rest.toLowerCase() === 'auto' ? { type: 'auto', mode: 'balance' } : { type: 'fixed', model }
  }
  if (model[separator] === ':') {
    if (prefix === 'auto') return { type: 'auto', mode: parseAutoMode(model, rest) }
    return providers.has(prefix) && rest !== ''
      ? { type: 'fixed', provider: prefix, model: rest }
      : { type: 'fixed', model }
  }
  if (rest === '' || isCatalogued?.(model)) return { type: 'fixed', model }
  if (prefix === 'models') return { type: 'fixed', model: rest }
  const provider = providers.has(prefix) ? prefix : OTHER_PROVIDER_NAMES.get(prefix)
  return provider === undefined ? { type: 'fixed', model } : { type: 'fixed', provider, model: rest }
}

function parseAutoMode(model: string, spelling: string): Mode {
  const mode = parseMode(spelling)
  if (mode !== undefined) return mode
  throw new GatewayError(
    'model_not_found',
    `The routing mode ${model} does not exist. Use auto:balance, auto:cost, auto:quality or auto:fast.`,
    { param: 'model' },
  )
}

/** Builds the input for the conditions of routing rules. */
export function buildRoutingInput(
  account: Account,
  request: ChatRequest,
  mode: Mode,
  requestId: string,
  headers: RoutingInput['headers'] = {},
): RoutingInput {
  return { requestId, account, request, metadata: metadataOf(request), mode, headers }
}

/** The `metadata` of the request or, without it, the JSON object in `user`. */
function metadataOf({ metadata, user }: ChatRequest): JsonObject {
  if (isJsonObject(metadata)) return metadata
  if (typeof user !== 'string' || !user.trimStart().startsWith('{')) return {}
  return parseJsonObject(user) ?? {}
}
