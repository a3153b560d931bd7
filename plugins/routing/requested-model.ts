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

/** The meaning of the `model` field of a request. */
export type RequestedModel =
  | { readonly type: 'auto'; readonly mode: Mode }
  | { readonly type: 'fixed'; readonly model: string; readonly provider?: string }

/**
 * Parses `auto`, `auto:<mode>`, `<provider>:<model>` or a model name; a missing model means `auto:balance`.
 * Only a known provider counts as a prefix, because model names may contain colons. Throws 404 for an unknown
 * mode.
 */
export function parseRequestedModel(
  model: string | undefined,
  providers: ReadonlySet<string>,
): RequestedModel {
  if (model === undefined || model === 'auto') return { type: 'auto', mode: 'balance' }
  const colon = model.indexOf(':')
  const prefix = model.slice(0, Math.max(colon, 0))
  const rest = model.slice(colon + 1)
  if (prefix === 'auto') return { type: 'auto', mode: parseAutoMode(model, rest) }
  return providers.has(prefix) && rest !== ''
    ? { type: 'fixed', provider: prefix, model: rest }
    : { type: 'fixed', model }
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
export function buildRoutingInput(account: Account, request: ChatRequest, mode: Mode): RoutingInput {
  return { account, request, metadata: metadataOf(request), mode }
}

/** The `metadata` of the request or, without it, the JSON object in `user`. */
function metadataOf({ metadata, user }: ChatRequest): JsonObject {
  if (isJsonObject(metadata)) return metadata
  if (typeof user !== 'string' || !user.trimStart().startsWith('{')) return {}
  return parseJsonObject(user) ?? {}
}
