import { GatewayError } from '../../core/contract/index.ts'
import { quoteRule } from './compile.ts'
import type { FirewallRefusal } from './evaluate.ts'

/** A refusal has the body of a block; its code tells a pattern that did not finish. */
export function toRefusalError({ rule: { id, name }, origin, reason }: FirewallRefusal): GatewayError {
  const code = reason === 'unfinished' ? 'firewall_timeout' : 'firewall_blocked'
  const meta = { rule_id: id, ...(origin && { origin }) }
  return new GatewayError(code, REFUSAL_MESSAGES[reason](quoteRule(name, origin)), { meta })
}

const REFUSAL_MESSAGES: Readonly<Record<FirewallRefusal['reason'], (rule: string) => string>> = {
  blocked: (rule) => `Request blocked by firewall rule ${rule}.`,
  not_maskable: (rule) =>
    `Request blocked by firewall rule ${rule}: it matches text that cannot be masked, such as a number ` +
    'in place of a parameter, or text across several JSON values.',
  match_too_long: (rule) =>
    `Request blocked by firewall rule ${rule}: it matches more text of the stream than can be held back. ` +
    'Limit the length of its pattern, or request a reply that is not streamed.',
  token_ids: (rule) =>
    `Request blocked by firewall rule ${rule}: token ids cannot be inspected. Send the input as text.`,
  unfinished: (rule) =>
    `Request blocked by firewall rule ${rule}: its pattern exceeded the time limit, or the masked text ` +
    'its size limit. Simplify the pattern or shorten the text.',
}
