import type { ChatRequest } from '../../core/contract/chat.ts'
import type { Model, ParameterChange } from '../../core/contract/provider.ts'

const NO_CHANGES: readonly ParameterChange[] = []

/**
 * Compares fields of a request with the values that are sent for them. A value of undefined is not sent, or
 * has no counterpart.
 */
export function findChangedFields(
  request: ChatRequest,
  sent: Readonly<Record<string, unknown>>,
): readonly ParameterChange[] {
  let changes: ParameterChange[] | undefined
  for (const param in sent) {
    const from = request[param]
    const to = sent[param]
    if (from == null || to === undefined || from === to) continue
    changes ??= []
    changes.push({ param, from, to })
  }
  return changes ?? NO_CHANGES
}

/** The limit of output tokens that the caller set, and the name of its field. */
export function outputLimitOf(request: ChatRequest): { field: string; limit: number | undefined } {
  const { max_completion_tokens: limit } = request
  if (limit != null) return { field: 'max_completion_tokens', limit }
  return { field: 'max_tokens', limit: request.max_tokens ?? undefined }
}

/** The caller's limit of output tokens, at most the model's: providers reject higher ones. */
export function clampOutputLimit(request: ChatRequest, entry: Model | undefined): number | undefined {
  const { limit } = outputLimitOf(request)
  return limit === undefined || entry === undefined ? limit : Math.min(limit, entry.max_output)
}
