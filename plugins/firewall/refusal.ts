import { GatewayError } from '../../core/contract/index.ts'
import type { FirewallRefusal } from './evaluate.ts'

/** A refusal has the body of a block; its code tells a pattern that did not finish. */
export function toRefusalError({ rule: { id, name }, reason }: FirewallRefusal): GatewayError {
  const code = reason === 'unfinished' ? 'firewall_timeout' : 'firewall_blocked'
  return new GatewayError(code, REFUSAL_MESSAGES[reason](name), { meta: { rule_id: id } })
}

const REFUSAL_MESSAGES: Readonly<Record<FirewallRefusal['reason'], (name: string) => string>> = {
  blocked: (name) => `Request blocked by firewall rule "${name}".`,
  not_maskable: (name) =>
    `Request blocked by firewall rule "${name}": it matches text that cannot be masked, such as a number ` +
    'in place of a parameter, or text across several JSON values.',
  match_too_long: (name) =>
    `Request blocked by firewall rule "${name}": it matches more text of the stream than can be held back. ` +
    'Limit the length of its pattern, or request a reply that is not streamed.',
  unfinished: (name) =>
    `Request blocked by firewall rule "${name}": its pattern exceeded the time limit, or the masked text ` +
    'its size limit. Simplify the pattern or shorten the text.',
}
