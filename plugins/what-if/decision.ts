import type {
  ChatRequest,
  Exchange,
  GatewayError,
  Mode,
  RuleTraceEntry,
  Target,
} from '../../core/contract/index.ts'
import { userTexts } from '../../core/inspection/request-texts.ts'
import { showDraftId } from '../audit/index.ts'
import type { StoredRecord } from '../ledger/index.ts'
import { CopyTarget } from '../ledger/index.ts'
import type { InspectedReply } from './decide-recorded.ts'
import type { Admitted } from './limits-replay.ts'

/** What the rules decide about a recorded request. */
export interface Decision {
  readonly request: ChatRequest
  readonly error: GatewayError | undefined
  readonly trace: readonly RuleTraceEntry[]
  readonly mode: Mode | undefined
  /** The first target. */
  readonly target: Target | undefined
  /** What gets a copy of the request. */
  readonly shadow: Target | undefined
  /** The request or a rule names the model. */
  readonly isFixed: boolean
  /** Keys of the rules that did something, by what they did to the request. */
  readonly applied: Readonly<Record<'mask' | 'warn' | 'all', ReadonlySet<string>>>
  /** How it passed budgets and limits. Their error is in `error`, too. */
  readonly admitted: Admitted
  /** Undefined if no reply is known. */
  readonly reply: RepliedDecision | undefined
}

interface RepliedDecision extends InspectedReply {
  /** Keys of the response rules that did something, by what they did. */
  readonly applied: Readonly<Record<'mask' | 'warn' | 'all', ReadonlySet<string>>>
}

export interface EvaluatedRequest {
  readonly record: StoredRecord
  readonly before: Decision
  readonly after: Decision
  readonly effects: readonly Effect[]
}

export function toDecision(
  exchange: Exchange,
  refusal: GatewayError | undefined,
  admitted: Admitted,
  inspected?: InspectedReply,
): Decision {
  const { request, trace, route } = exchange
  return {
    request,
    error: refusal ?? admitted.error,
    admitted,
    trace,
    mode: route?.mode,
    target: route?.targets[0],
    shadow: CopyTarget.of(exchange),
    isFixed: route?.isFixed ?? false,
    applied: { ...firewallKeysOf(trace, undefined), all: keysOf(trace, () => true) },
    reply: inspected && { ...inspected, applied: responseKeysOf(trace) },
  }
}

/** Keys of the response rules that did something. */
export function responseKeysOf(trace: readonly RuleTraceEntry[]): RepliedDecision['applied'] {
  const all = keysOf(trace, ({ scope }) => scope === 'response')
  return { ...firewallKeysOf(trace, 'response'), all }
}

function firewallKeysOf(trace: readonly RuleTraceEntry[], meant: RuleTraceEntry['scope']) {
  const keys = (name: string) =>
    keysOf(trace, ({ kind, action, scope }) => kind === 'firewall' && action === name && scope === meant)
  return { mask: keys('mask'), warn: keys('warn') }
}

function keysOf(
  trace: readonly RuleTraceEntry[],
  isMeant: (entry: RuleTraceEntry) => boolean,
): ReadonlySet<string> {
  const applied = trace.filter((entry) => entry.outcome === 'applied' && isMeant(entry))
  return new Set(applied.map(({ kind, rule_id }) => ruleKey(kind, rule_id)))
}

/** Identifies a rule: ids are unique among the rules of a kind. */
export function ruleKey(kind: string, id: number): string {
  return `${kind}:${id}`
}

/** What drafts do to a request, compared with the rules of today. */
export const EFFECTS = [
  'blocked',
  'unblocked',
  'blocked_otherwise',
  'masked',
  'unmasked',
  'masked_otherwise',
  'warned',
  'unwarned',
  'routed',
  'over_limit',
  'within_limit',
  'reply_blocked',
  'reply_unblocked',
  'reply_masked',
  'reply_unmasked',
  'reply_warned',
  'reply_unwarned',
] as const

export type Effect = (typeof EFFECTS)[number]

/** Compares two decisions about the same request. Empty: the drafts change nothing. */
export function findEffects(before: Decision, after: Decision): readonly Effect[] {
  if (before === after) return []
  if (before.error !== undefined && after.error !== undefined)
    return describeRefusal(before) === describeRefusal(after) ? [] : ['blocked_otherwise']
  if (after.error !== undefined) return [after.admitted.error ? 'over_limit' : 'blocked']
  if (before.error !== undefined) return [before.admitted.error ? 'within_limit' : 'unblocked']
  const effects: Effect[] = []
  const [masked, unmasked] = difference(before.applied.mask, after.applied.mask)
  if (masked) effects.push('masked')
  if (unmasked) effects.push('unmasked')
  if (!masked && !unmasked && hasOtherText(before, after)) effects.push('masked_otherwise')
  const [warned, unwarned] = difference(before.applied.warn, after.applied.warn)
  if (warned) effects.push('warned')
  if (unwarned) effects.push('unwarned')
  if (nameOf(before.target) !== nameOf(after.target)) effects.push('routed')
  return [...effects, ...findReplyEffects(before.reply, after.reply)]
}

function findReplyEffects(before: Decision['reply'], after: Decision['reply']): readonly Effect[] {
  if (before === undefined || after === undefined) return []
  if (before.error !== undefined && after.error !== undefined) return []
  if (after.error !== undefined) return ['reply_blocked']
  if (before.error !== undefined) return ['reply_unblocked']
  const [masked, unmasked] = difference(before.applied.mask, after.applied.mask)
  const [warned, unwarned] = difference(before.applied.warn, after.applied.warn)
  return [
    ...(masked ? (['reply_masked'] as const) : []),
    ...(unmasked ? (['reply_unmasked'] as const) : []),
    ...(warned ? (['reply_warned'] as const) : []),
    ...(unwarned ? (['reply_unwarned'] as const) : []),
  ]
}

function describeRefusal({ error }: Decision): string {
  return JSON.stringify([error?.code, error?.details.meta ?? null])
}

/** Whether the second set has something that the first does not, and the reverse. */
function difference(before: ReadonlySet<string>, after: ReadonlySet<string>): readonly [boolean, boolean] {
  return [[...after].some((key) => !before.has(key)), [...before].some((key) => !after.has(key))]
}

function hasOtherText(before: Decision, after: Decision): boolean {
  if (before.applied.mask.size === 0 || before.request === after.request) return false
  return JSON.stringify(before.request.messages) !== JSON.stringify(after.request.messages)
}

export function nameOf(target: Pick<Target, 'provider' | 'model'> | undefined): string {
  return target === undefined ? '' : `${target.provider}/${target.model}`
}

/** Characters of the text of a request that an example shows. */
const MAX_TEXT = 500

/** A decision as examples show it. */
export function showDecision({ request, error, trace, mode, target, shadow, reply }: Decision) {
  const text = error === undefined ? userTexts(request).at(-1) : undefined
  return {
    outcome: error === undefined ? ('allowed' as const) : ('refused' as const),
    ...(error && { error: showError(error) }),
    text: text === undefined ? null : text.slice(0, MAX_TEXT),
    provider: target?.provider ?? null,
    model: target?.model ?? null,
    routing_mode: mode ?? null,
    shadow: shadow === undefined ? null : nameOf(shadow),
    ...(reply && { reply: showReply(reply) }),
    rule_trace: trace.map(showEntry),
  }
}

function showReply({ error, text }: InspectedReply) {
  return {
    outcome: error === undefined ? ('allowed' as const) : ('refused' as const),
    ...(error && { error: showError(error) }),
    text: text === null ? null : text.slice(0, MAX_TEXT),
  }
}

function showError({ code, status, message }: GatewayError) {
  return { code, http_status: status, message }
}

function showEntry(entry: RuleTraceEntry): RuleTraceEntry {
  const { rule_id, origin } = entry
  return {
    ...entry,
    rule_id: showDraftId(rule_id),
    ...(origin && { origin: { ...origin, id: showDraftId(origin.id) } }),
  }
}
