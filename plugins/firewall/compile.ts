import type RE2 from 're2'
import type { FirewallRule, RuleSet } from '../../core/contract/index.ts'
import { matchLiterals } from '../../core/text/literal.ts'
import { compilePattern } from './pattern.ts'
import { expandReplacement, literalReplacement, type Replacement } from './replacement.ts'

export const DEFAULT_REPLACEMENT = '[redacted]'

/** A rule ready to run. */
export interface CompiledRule {
  readonly rule: FirewallRule
  matches(text: string): boolean
  /** The text with every match replaced; empty matches are left alone. */
  mask(text: string): string
}

/** The user's firewall in evaluation order: enabled rules of scope `prompt` whose pattern can be run. */
export function compileFirewall(rules: RuleSet): readonly CompiledRule[] {
  return rules.firewall
    .filter((rule) => rule.is_enabled && rule.scope === 'prompt')
    .map(compileRule)
    .filter((rule) => rule !== undefined)
}

function compileRule(rule: FirewallRule): CompiledRule | undefined {
  const text = rule.replacement ?? DEFAULT_REPLACEMENT
  if (rule.type === 'substring')
    return runnable(rule, matchLiterals([rule.pattern], 'g'), literalReplacement(text))
  const pattern = compilePattern(rule.pattern)
  return 'regex' in pattern ? runnable(rule, pattern.regex, expandReplacement(text)) : undefined
}

function runnable(rule: FirewallRule, regex: RE2, replacement: Replacement): CompiledRule {
  return {
    rule,
    matches: (text) => text.search(regex) !== -1,
    mask: (text) =>
      text.replace(regex, (match: string, ...rest: unknown[]) =>
        match === '' ? '' : replacement(match, groupsOf(rest)),
      ),
  }
}

/** The groups among a replacer's arguments: all before the offset, which is the first number. */
function groupsOf(rest: readonly unknown[]): readonly (string | undefined)[] {
  return rest.slice(
    0,
    rest.findIndex((argument) => typeof argument === 'number'),
  ) as (string | undefined)[]
}
