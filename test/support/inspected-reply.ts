import {
  type FirewallRule,
  GatewayError,
  ReplyEvent,
  type ReplyPart,
  type ReplyTransform,
  type RuleOrigin,
  type RuleTraceEntry,
  type Warning,
} from '../../core/contract/index.ts'
import { PatternRun, scaleCpuLimit } from '../../core/patterns/pattern-run.ts'
import { createBeginningSearch } from '../../plugins/firewall/beginnings.ts'
import { compileFirewall } from '../../plugins/firewall/compile.ts'
import { inspectStream, inspectWholeReply } from '../../plugins/firewall/inspect-reply.ts'
import { createReplyReport } from '../../plugins/firewall/reply-report.ts'
import { staying } from './presence.ts'
import { ruleSet } from './rules.ts'

export interface InspectedReply {
  /** What the client gets: after each event, and after the last one. */
  readonly steps: readonly (readonly ReplyPart[])[]
  readonly parts: readonly ReplyPart[]
  readonly error: GatewayError | undefined
  readonly warnings: readonly Warning[]
  readonly trace: readonly RuleTraceEntry[]
}

export interface InspectionOptions {
  readonly type?: 'whole' | 'stream'
  readonly holdBackChars?: number
  readonly cpuMs?: number
  readonly onTimeout?: 'refuse' | 'allow'
  /** The rules of policies, which come before those of the user. */
  readonly policies?: readonly (readonly FirewallRule[])[]
}

/** What response rules make of a reply whose events have these parts. */
export async function inspectReply(
  rules: readonly FirewallRule[],
  events: readonly (readonly ReplyPart[])[],
  {
    type = 'stream',
    holdBackChars = 2000,
    cpuMs = 500,
    onTimeout = 'refuse',
    policies = [],
  }: InspectionOptions = {},
): Promise<InspectedReply> {
  const origins = policies.map((_, index) => ({ type: 'policy' as const, id: index, name: `P${index}` }))
  const firewalls = await Promise.all([...policies, rules].map((set, index) => compile(set, origins[index])))
  const warnings: Warning[] = []
  const trace: RuleTraceEntry[] = []
  const createRun = (length: number) =>
    new PatternRun({ owner: 1, client: staying, cpuLimitMs: scaleCpuLimit(cpuMs, length) })
  const report = createReplyReport({ trace, warnings }, onTimeout, () => {})
  const options = { evaluation: { createRun, onTimeout }, report, cpuMs, holdBackChars }
  const transform: ReplyTransform =
    type === 'whole' ? inspectWholeReply(firewalls, options) : inspectStream(firewalls, options)
  const steps: (readonly ReplyPart[])[] = []
  let error: GatewayError | undefined
  try {
    for (const parts of events) steps.push(partsOf(await transform.transform(new ReplyEvent(parts))))
    steps.push(partsOf((await transform.flush?.()) ?? []))
  } catch (thrown) {
    if (!GatewayError.isInstance(thrown)) throw thrown
    error = thrown
  }
  return { steps, parts: steps.flat(), error, warnings, trace }
}

async function compile(rules: readonly FirewallRule[], origin: RuleOrigin | undefined) {
  const place = origin === undefined ? 0 : 100 * (origin.id + 1)
  const number = ({ id }: FirewallRule, index: number) => (place === 0 ? id : place + index)
  const scoped = rules.map(
    (rule, index): FirewallRule => ({ ...rule, id: number(rule, index), scope: 'response' }),
  )
  const compiled = await compileFirewall({ ...ruleSet(scoped), ...(origin && { origin }) }, 'response')
  return { ...compiled, beginnings: await createBeginningSearch(compiled.rules) }
}

function partsOf(events: readonly ReplyEvent[]): readonly ReplyPart[] {
  return events.flatMap(({ parts }) => parts)
}

/** The events of a stream with a text in these chunks. */
export function textEvents(
  chunks: readonly string[],
  type: 'text' | 'reasoning' | 'refusal' = 'text',
): readonly (readonly ReplyPart[])[] {
  return chunks.map((text) => [{ type, text }])
}

/** The whole text of a kind. */
export function textOf(parts: readonly ReplyPart[], type: ReplyPart['type'] = 'text'): string {
  return parts.map((part) => (part.type === type && 'text' in part ? part.text : '')).join('')
}
