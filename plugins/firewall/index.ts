import {
  type Exchange,
  type Message,
  type RepliedExchange,
  type ReplyTransform,
  type RuleTraceEntry,
  service,
  type Warning,
} from '../../core/contract/index.ts'
import type { MaybePromise } from '../../core/util/maybe-promise.ts'

export { createFirewallRuleKind } from './rule-kind.ts'

/** Returns what applies response rules to the reply of an exchange that the plugin has decided about. */
export type InspectReply = (exchange: RepliedExchange) => ReplyTransform | undefined

/** Undefined if response rules are not in force. */
export const ResponseRules = service<InspectReply | undefined>('firewall.response-rules')

/** Returns messages after masks. Rejects if a mask cannot be applied. */
export type MaskMessages = (messages: readonly Message[]) => Promise<readonly Message[]>

/**
 * Returns what applies the masks of a request to what is recorded with it, such as its reply: a model may
 * write again what they took out. Undefined if the request has passed none.
 */
export type MasksOf = (exchange: Exchange) => MaskMessages | undefined

export const RequestMasks = service<MasksOf>('firewall.request-masks')

/** On whose behalf a tool is called, with the rules that apply. */
export type ToolFirewallCaller = Pick<Exchange, 'account' | 'policies' | 'rules' | 'client'>

/**
 * What a JSON text is: the arguments of a call, the result of one, or the definition of a tool that a model
 * will read.
 */
export type ToolFirewallScope = 'tool_call' | 'tool_result' | 'prompt'

/** What rules did. */
export interface ToolFirewallRecord {
  readonly warnings: Warning[]
  readonly trace: RuleTraceEntry[]
}

/** Applies firewall rules to what is exchanged with tools: see docs/guides/firewall-tools.md. */
export interface ToolFirewall {
  /** False if there is no rule of the scope, so that nothing need be held back or parsed for it. */
  applies(caller: Pick<ToolFirewallCaller, 'policies' | 'rules'>, scope: ToolFirewallScope): boolean
  /**
   * Inspects a JSON text by the rules of the scope, policies first. Masks are written into its own text: all
   * other bytes stay. Throws 403 if a rule blocks, cannot mask, or does not finish. Warnings and trace are
   * added to `record`, also if it throws.
   */
  inspect(
    caller: ToolFirewallCaller,
    scope: ToolFirewallScope,
    json: string,
    record?: ToolFirewallRecord,
  ): MaybePromise<InspectedToolJson>
  /** The same for messages of a conversation with a model: results of tools, or calls alone. */
  inspectMessages(
    caller: ToolFirewallCaller,
    scope: 'tool_call' | 'tool_result',
    messages: readonly Message[],
    record: ToolFirewallRecord,
  ): MaybePromise<readonly Message[]>
}

export interface InspectedToolJson extends ToolFirewallRecord {
  readonly json: string
}

export const ToolFirewall = service<ToolFirewall>('firewall.tools')
