import {
  type ErrorDefinition,
  errorsOf,
  type FirewallRule,
  type FirewallScope,
  type GatewayError,
  type RuleOrigin,
} from '../../core/contract/index.ts'
import { type CompiledFirewallRule, quoteRule } from './compile.ts'

export const FIREWALL_ERROR_CODES = {
  firewall_blocked: {
    ...{ status: 403, type: 'firewall_error', of: 'inference' },
    description: 'A firewall rule blocked the request.',
  },
  firewall_timeout: {
    ...{ status: 403, type: 'firewall_error', of: 'inference' },
    description:
      'A blocking or masking firewall rule did not finish, or was not compiled, within its limits.',
  },
} as const satisfies Readonly<Record<string, ErrorDefinition>>

export const firewallError = errorsOf(FIREWALL_ERROR_CODES)

export interface FirewallRefusal {
  readonly rule: FirewallRule
  /** Set if the rule belongs to a policy. */
  readonly origin?: RuleOrigin
  /**
   * `blocked`: the rule blocks. `not_maskable`: the rule masks, and a match cannot be replaced.
   * `match_too_long`: the same, because it exceeds what a stream may hold back. `unfinished`: the rule blocks
   * or masks, and its pattern did not finish. `token_ids`: the same, and the request has no text to inspect.
   * `unsettled`: the rule masks, and other rules undo that.
   */
  readonly reason: 'blocked' | 'not_maskable' | 'match_too_long' | 'unfinished' | 'token_ids' | 'unsettled'
}

/** The refusal of a request by a rule. */
export function refuseBy(
  { rule, applied: { origin } }: CompiledFirewallRule,
  reason: FirewallRefusal['reason'],
): FirewallRefusal {
  return { rule, reason, ...(origin && { origin }) }
}

/** A refusal has the body of a block; its code tells a pattern that did not finish. */
export function toRefusalError({ rule, origin, reason }: FirewallRefusal): GatewayError {
  const { id, name, scope } = rule
  const code = reason === 'unfinished' ? 'firewall_timeout' : 'firewall_blocked'
  const meta = { rule_id: id, ...(origin && { origin }) }
  const quoted = quoteRule(name, origin)
  const message = `${REFUSED[scope]} blocked by firewall rule ${quoted}${REFUSAL_REASONS[reason]}.`
  return firewallError(code, message, { meta })
}

/** A blocked reply is the answer to a request. */
export const REFUSED: Readonly<Record<FirewallScope, string>> = {
  prompt: 'Request',
  response: 'Request',
  tool_call: 'Tool call',
  tool_result: 'Tool result',
}

const REFUSAL_REASONS: Readonly<Record<FirewallRefusal['reason'], string>> = {
  blocked: '',
  not_maskable:
    ': it matches text that cannot be masked, such as a number in place of a parameter, or text across ' +
    'several values or messages',
  match_too_long:
    ': it matches more text of the stream than can be held back. Limit the length of its pattern, or ' +
    'request a reply that is not streamed',
  token_ids: ': token ids cannot be inspected. Send the input as text',
  unsettled:
    ': its mask and those of other rules undo each other. Change the pattern or the replacement of one ' +
    'of them',
  unfinished:
    ': its pattern exceeded the time limit, or the masked text its size limit. Simplify the pattern or ' +
    'shorten the text',
}
