import type { ChatRequest } from '../core/contract/index.ts'

/** What is asked of a provider's models at most (interface: "Provider capability notes"); configuration, for vendors learn. */
export interface Capabilities {
  /** JSON mode: `none`, `object` (json_object), or `schema` (json_schema too). */
  readonly json: 'none' | 'object' | 'schema'
  readonly logit_bias: boolean
  readonly seed: boolean
}

/** Fields that are left out, with a warning, where a provider does not take them. */
const OPTIONAL = ['logit_bias', 'seed'] as const

/** The request as the provider may get it, and what was left out for that. */
export function limitRequest(
  request: ChatRequest,
  capabilities: Capabilities,
): { request: ChatRequest; omitted: readonly string[] } {
  const omitted = OPTIONAL.filter(
    (name) => !capabilities[name] && request[name] !== undefined && request[name] !== null,
  )
  if (omitted.length === 0) return { request, omitted }
  const kept = Object.entries(request).filter(([name]) => !omitted.some((field) => field === name))
  // The cast is safe: only optional fields are gone.
  return { request: Object.fromEntries(kept) as ChatRequest, omitted }
}
