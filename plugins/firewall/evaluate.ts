import type { ChatRequest, FirewallRule, Warning } from '../../core/contract/index.ts'
import { mapTexts } from '../../core/text/map-texts.ts'
import { textsOf } from '../../core/text/texts-of.ts'
import type { CompiledRule } from './compile.ts'

/** What the firewall made of a request: refused by a rule, or let through, perhaps masked, with warnings. */
export type FirewallOutcome =
  | { readonly type: 'blocked'; readonly by: FirewallRule }
  | { readonly type: 'passed'; readonly request: ChatRequest; readonly warnings: readonly Warning[] }

/**
 * Runs the rules one after the other (interface: "Firewall action behavior"): a mask changes the text that later rules see,
 * the first block that matches ends it.
 */
export function evaluateFirewall(rules: readonly CompiledRule[], request: ChatRequest): FirewallOutcome {
  const warnings: Warning[] = []
  let current = request
  let texts = rules.length > 0 ? textsOf(current) : []
  for (const { rule, matches, mask } of rules) {
    if (!texts.some(matches)) continue
    switch (rule.action) {
      case 'block':
        return { type: 'blocked', by: rule }
      case 'warn':
        warnings.push({ code: 'firewall', message: `Firewall rule "${rule.name}" triggered.` })
        break
      case 'mask':
        current = mapTexts(current, mask)
        texts = textsOf(current)
        break
      default:
        rule.action satisfies never
    }
  }
  return { type: 'passed', request: current, warnings }
}
