import { type RepliedExchange, type ReplyTransform, service } from '../../core/contract/index.ts'

export { createFirewallRuleKind } from './rule-kind.ts'

/** Returns what applies response rules to the reply of an exchange that the plugin has decided about. */
export type InspectReply = (exchange: RepliedExchange) => ReplyTransform | undefined

/** Undefined if response rules are not in force. */
export const ResponseRules = service<InspectReply | undefined>('firewall.response-rules')
