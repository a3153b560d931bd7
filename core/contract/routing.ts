import type { Account } from './accounts.ts'
import type { ChatRequest } from './chat.ts'
import type { Warning } from './exchange.ts'
import type { JsonObject } from './json.ts'
import type { Mode } from './modes.ts'

/** What the conditions of a routing rule look at. */
export interface RoutingInput {
  readonly account: Account
  /** After masking. */
  readonly request: ChatRequest
  /** The body's `metadata`, else the JSON object that `user` holds. */
  readonly metadata: JsonObject
  /** The mode that the request asks for; `balance` when it names a model. */
  readonly mode: Mode
}

export type Matcher = (input: RoutingInput) => boolean

/** A key of a rule document, its values, and what they mean. */
interface Operator {
  /** Unique among all plugins. */
  readonly name: string
  readonly schema: JsonObject
  /** Completes "<name> must be …". */
  readonly description: string
  /** The value as it is stored; as given when left out. */
  normalise?(value: unknown): unknown
}

/** A key of `match_json`. It is compiled once per rule change. */
export type Condition = Operator & {
  /** What the owner should know about a value that is accepted, as a sentence. */
  lint?(value: unknown): string | undefined
} & (
    | { matcher(value: unknown): Matcher }
    /** Holds when any of these is found, in any case, in the user's texts; all rules are searched in one pass. */
    | { literals(value: unknown): readonly string[] }
  )

/** What the matching rules make of a request together; actions change it. */
export interface RoutingDraft {
  provider?: string
  model?: string
  mode?: Mode
  /** Goes to the vendor; replaced, never changed in place. */
  request: ChatRequest
  readonly warnings: Warning[]
}

/** A key of `action_json`. */
export interface Action extends Operator {
  /** `first`: of several matching rules only the first applies; `all`: each does. */
  readonly combine: 'first' | 'all'
  apply(value: unknown, draft: RoutingDraft): void
}
