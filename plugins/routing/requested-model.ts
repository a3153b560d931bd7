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

/** What the `model` of a request asks for. */
export type RequestedModel =
  | { readonly type: 'auto'; readonly mode: Mode }
  | { readonly type: 'pinned'; readonly model: string; readonly provider?: string }

/**
 * Reads `auto`, `auto:<mode>`, `<provider>:<model>` or a model name; no model is `auto:balance`.
 * Only a known provider before the first colon is a prefix: model names may hold colons.
 */
export function parseRequestedModel(
  model: string | undefined,
  providers: ReadonlySet<string>,
): RequestedModel {
  if (model === undefined || model === 'auto') return { type: 'auto', mode: 'balance' }
  const colon = model.indexOf(':')
  const prefix = model.slice(0, Math.max(colon, 0))
  const rest = model.slice(colon + 1)
  if (prefix === 'auto') return { type: 'auto', mode: readAutoMode(model, rest) }
  return providers.has(prefix) && rest !== ''
    ? { type: 'pinned', provider: prefix, model: rest }
    : { type: 'pinned', model }
}

function readAutoMode(model: string, spelling: string): Mode {
  const mode = parseMode(spelling)
  if (mode !== undefined) return mode
  throw new GatewayError(
    'model_not_found',
    `There is no routing mode ${model}. Use auto:balance, auto:cost, auto:quality or auto:fast.`,
    { param: 'model' },
  )
}

/** What the conditions of routing rules look at. */
export function buildRoutingInput(account: Account, request: ChatRequest, mode: Mode): RoutingInput {
  return { account, request, metadata: readMetadata(request), mode }
}

/** The body's `metadata`, else what `user` holds when that is a JSON object. */
function readMetadata({ metadata, user }: ChatRequest): JsonObject {
  if (isJsonObject(metadata)) return metadata
  if (typeof user !== 'string' || !user.trimStart().startsWith('{')) return {}
  try {
    const parsed: unknown = JSON.parse(user)
    return isJsonObject(parsed) ? parsed : {}
  } catch {
    // A user name that only looks like JSON is a user name.
    return {}
  }
}
