import { type GatewayContext, GatewayError } from '../../core/contract/index.ts'
import type { ExpectedRuleRevision, RuleChangeResult } from './changes.ts'

/** A request whose path may hold a rule's id. */
export type RuleContext = GatewayContext & { readonly params: { readonly id?: string } }

/** The id in the path; 0, which no rule has, for anything but digits. */
export function parseRuleId({ params }: RuleContext): number {
  const id = params.id ?? ''
  return /^\d{1,15}$/.test(id) ? Number(id) : 0
}

/** `If-Match` with the ETag of the rule that the caller read; optional. */
export function parseIfMatch(ctx: GatewayContext): ExpectedRuleRevision {
  const header = ctx.headers['if-match']
  if (header === undefined || header.trim() === '*') return 'any'
  const revision = header.match(/^\s*(?:W\/)?"(\d+)"\s*$/)?.[1]
  if (revision === undefined) {
    throw new GatewayError('revision_mismatch', 'If-Match must be the ETag of the rule, such as "3", or *.')
  }
  return Number(revision)
}

/** Who makes a change by HTTP. */
export function requestAuthor(ctx: GatewayContext) {
  return { actor: ctx.account.keyId, requestId: ctx.requestId }
}

/** Answers with a rule, its ETag and what its owner should know, or with the removal of one. */
export function sendRule(ctx: GatewayContext, outcome: RuleChangeResult): void {
  if (outcome.type === 'removed') {
    ctx.body = { success: true }
    return
  }
  const { shown, revision, warnings } = outcome
  ctx.set('etag', `"${revision}"`)
  ctx.body = { data: shown, ...(warnings.length > 0 && { warnings }) }
}
