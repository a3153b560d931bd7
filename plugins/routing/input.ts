import { type ChatRequest, isJsonObject, type JsonObject, type Mode } from '../../core/contract/index.ts'
import { userTextsOf } from '../../core/text/texts-of.ts'

/** What the conditions of a routing rule look at. */
export interface RoutingInput {
  /** The texts of the user's messages, after masking. */
  readonly texts: readonly string[]
  readonly metadata: JsonObject
  readonly mode: Mode
}

export function readInput(request: ChatRequest, mode: Mode): RoutingInput {
  return { texts: userTextsOf(request), metadata: readMetadata(request), mode }
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
