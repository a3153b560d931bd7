import {
  GatewayError,
  type JsonObject,
  type RuleTraceEntry,
  type Warning,
} from '../../core/contract/index.ts'
import { findInexactNumbers } from '../../core/util/tool-arguments.ts'
import type { ToolCall, ToolCaller, ToolVerdict } from '../tool-rules/index.ts'
import type { ServedTool, ToolServer, Unserved } from './catalog.ts'
import { mcpError } from './errors.ts'
import { RPC, RpcError } from './protocol.ts'
import { formsOfUri } from './resource-uri.ts'
import type { Deciders } from './services.ts'

/** What a call uses, and how rules name it: prompts and resources are ruled like tools. */
export type CallKind = 'tool' | 'prompt' | 'resource'

export function nameForRules(kind: CallKind, name: string): string {
  return kind === 'tool' ? name : `${kind}:${name}`
}

/** The opposite of `nameForRules`. */
export function parseRuledName(tool: string): { readonly kind: CallKind; readonly name: string } {
  for (const kind of ['prompt', 'resource'] as const)
    if (tool.startsWith(`${kind}:`)) return { kind, name: tool.slice(kind.length + 1) }
  return { kind: 'tool', name: tool }
}

/** All that a decision about a call depends on, besides the rules. */
interface CallQuestion {
  readonly caller: ToolCaller
  readonly server: Pick<ToolServer, 'name' | 'default'>
  readonly kind: CallKind
  /** The name of the tool or prompt, or the URI of the resource. */
  readonly name: string
  /** The definition that is served, or why none is. Of tools only. */
  readonly definition: Pick<ServedTool, 'revision'> | Unserved | undefined
  readonly arguments: JsonObject
  /** The arguments as they were sent. */
  readonly argumentsText: string | undefined
  /** Servers whose results the session has read. */
  readonly read: ReadonlySet<string>
}

export const CALL_VERDICTS = [
  ...(['allowed', 'pending_approval', 'denied', 'hidden', 'blocked', 'not_served'] as const),
] as const

export interface CallDecision {
  /** `pending_approval`: the call may be made once it is approved. */
  readonly verdict: (typeof CALL_VERDICTS)[number]
  /** The tool rule that decided. */
  readonly rule: ToolVerdict['rule']
  readonly warnings: readonly Warning[]
  readonly trace: readonly RuleTraceEntry[]
  /** The arguments that may be sent, with masks. */
  readonly argumentsText: string | undefined
  /** Refuses the call. */
  readonly error: Error | undefined
}

/**
 * Decides about a call by the definition of the tool, the tool rules, and the firewall rules for its
 * arguments. Changes nothing. All calls are decided here, also those that are simulated or decided again.
 */
export async function decideCall(
  deciders: Pick<Deciders, 'rules' | 'firewall'>,
  question: CallQuestion,
): Promise<CallDecision> {
  const { caller, server, kind, name, read, argumentsText } = question
  const record: { warnings: Warning[]; trace: RuleTraceEntry[] } = { warnings: [], trace: [] }
  let rule: ToolVerdict['rule']
  const refused = (verdict: CallDecision['verdict'], error: Error): CallDecision => ({
    ...{ verdict, rule, ...record, argumentsText: undefined, error },
  })
  const unserved = findUnservedError(question)
  if (unserved !== undefined) return refused('not_served', unserved)
  const call = {
    ...{ server: server.name, tool: nameForRules(kind, name), arguments: question.arguments, read },
    ...(argumentsText !== undefined && { inexactNumbers: findInexactNumbers(argumentsText) }),
  }
  const ruled = await (kind === 'resource'
    ? decideAboutResource(deciders.rules, question, call)
    : deciders.rules?.decide(caller, call))
  rule = ruled?.rule
  record.trace.push(...(ruled?.trace ?? []))
  record.warnings.push(...(ruled?.warnings ?? []))
  const action = ruled?.action ?? (server.default === 'allow' ? 'allow' : 'deny')
  if (action === 'hide') return refused('hidden', unknownError(kind, name))
  if (action === 'deny') return refused('denied', deniedError(name, ruled))
  const verdict = action === 'require_approval' ? 'pending_approval' : 'allowed'
  const decided = { verdict, rule, ...record, error: undefined } as const
  const { firewall } = deciders
  if (argumentsText === undefined || !firewall?.applies(caller, 'tool_call'))
    return { ...decided, argumentsText }
  try {
    const { json } = await firewall.inspect(caller, 'tool_call', argumentsText, record)
    return { ...decided, argumentsText: json }
  } catch (error) {
    if (GatewayError.isInstance(error)) return refused('blocked', error)
    throw error
  }
}

/** The strictest verdict about any form of the URI: servers may take one for the other. */
async function decideAboutResource(
  rules: Deciders['rules'],
  { caller, name, server }: CallQuestion,
  call: ToolCall,
): Promise<ToolVerdict | undefined> {
  if (rules === undefined) return undefined
  let strictest: ToolVerdict | undefined
  const strictness = ({ action = server.default }: ToolVerdict) =>
    action === 'allow' ? 0 : action === 'require_approval' ? 1 : 2
  for (const uri of formsOfUri(name)) {
    const verdict = await rules.decide(caller, { ...call, tool: nameForRules('resource', uri) })
    if (strictest === undefined || strictness(verdict) > strictness(strictest)) strictest = verdict
  }
  return strictest
}

/** The definition must be one that an operator has approved, or that needs no approval. */
function findUnservedError({ kind, name, definition }: CallQuestion): Error | undefined {
  if (kind !== 'tool' || typeof definition === 'object') return undefined
  if (definition === 'changed') {
    const message = `The definition of ${name} has changed. An operator must approve the new one.`
    return mcpError('tool_changed', message)
  }
  if (definition === 'pending')
    return mcpError('tool_not_approved', `An operator must approve the tool ${name} before it can be called.`)
  return unknownError(kind, name)
}

/** The same for what does not exist and for what is hidden. */
function unknownError(kind: CallKind, name: string): Error {
  if (kind !== 'resource') return mcpError('tool_not_found', `Unknown ${kind}: ${name}`)
  return new RpcError(RPC.resourceNotFound, `Unknown resource: ${name}`, { data: { uri: name } })
}

function deniedError(name: string, verdict: ToolVerdict | undefined): Error {
  const rule = verdict?.rule
  const reason = verdict?.action === 'deny' ? verdict.warnings.at(-1)?.message : undefined
  const why = rule === undefined ? (reason ?? 'no rule allows it.') : `the rule "${rule.name}" denies it.`
  const meta = rule === undefined ? {} : { meta: { rule_id: rule.id, rule: rule.name } }
  return mcpError('tool_denied', `The call of ${name} was refused: ${why}`, meta)
}
