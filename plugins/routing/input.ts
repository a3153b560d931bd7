import {
  type Account,
  type ChatRequest,
  isJsonObject,
  type JsonObject,
  type Mode,
  type RoutingInput,
} from '../../core/contract/index.ts'

/** What the conditions of routing rules look at. */
export function readInput(account: Account, request: ChatRequest, mode: Mode): RoutingInput {
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
