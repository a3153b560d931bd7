import type { ChatRequest } from '../../core/contract/chat.ts'
import type { ParameterChange, ProviderAdapter, Target } from '../../core/contract/provider.ts'
import { OPENAI_LIMITS } from './api-limits.ts'
import type { Capabilities } from './catalog.ts'
import { withFunctionCalls } from './custom-calls.ts'
import { withoutEmptyReplies } from './empty-replies.ts'
import { fitRequest } from './fit-request.ts'
import { withResultsBehindCalls, withSystemRole } from './instructions.ts'
import { withOwnReasoning } from './own-reasoning.ts'
import { toPlainRequest } from './plain-request.ts'

/** What a provider reads, besides what its adapter says. */
export interface ReaderOptions {
  readonly id: string
  readonly adapter: ProviderAdapter
  /** See `Capabilities`. */
  readonly takesReasoning?: Capabilities['reasoning'] | undefined
  /** Whether messages may have the role `developer`; otherwise they are of the system. Default: true. */
  readonly takesDeveloperRole?: boolean | undefined
}

/** A request that an adapter can build. */
export interface PreparedRequest {
  readonly request: ChatRequest
  /** Names of what was left out. */
  readonly omitted: readonly string[]
  readonly changed: readonly ParameterChange[]
  /** The caller's names of tools by those that are sent, if any was replaced. */
  readonly renamed: ReadonlyMap<unknown, string> | undefined
}

/**
 * Returns a function that converts a request to one that the provider accepts, before its adapter gives it
 * another format. Each step returns the same request if it has nothing to do, which takes one look at each
 * message: all of them together take 3 µs for 60 messages and 8 tools.
 */
export function createRequestPreparer({
  id,
  adapter: { format, limits = OPENAI_LIMITS, reads = [] },
  takesReasoning = true,
  takesDeveloperRole = true,
}: ReaderOptions): (request: ChatRequest, target: Target) => PreparedRequest {
  const readsAnthropic = reads.includes('anthropic')
  const readsCustomCalls = reads.includes('custom_calls')
  const contentFormat = readsAnthropic ? 'anthropic' : format
  return (asked, { model }) => {
    let request = withoutEmptyReplies(asked)
    if (!takesDeveloperRole) request = withSystemRole(request)
    if (!readsCustomCalls) request = withFunctionCalls(request)
    const plain = readsAnthropic ? undefined : toPlainRequest(withResultsBehindCalls(request))
    const reader = { id, model, format: contentFormat, takesReasoning }
    const own = withOwnReasoning(plain?.request ?? request, reader)
    const fitted = fitRequest(own.request, limits)
    return {
      request: fitted.request,
      omitted: joinLists(plain?.omitted ?? NOTHING, own.omitted),
      changed: fitted.changed,
      renamed: fitted.renamed,
    }
  }
}

const NOTHING: readonly never[] = []

/** Returns one of the lists itself if the other is empty. */
export function joinLists<Item>(first: readonly Item[], second: readonly Item[]): readonly Item[] {
  if (first.length === 0) return second
  return second.length === 0 ? first : [...first, ...second]
}
