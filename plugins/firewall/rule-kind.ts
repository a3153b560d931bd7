import {
  FIREWALL_SCOPES,
  type FirewallRule,
  type FirewallScope,
  GatewayError,
  Nullable,
  StringEnum,
  Type,
  type Warning,
} from '../../core/contract/index.ts'
import { PatternLimitError } from '../../core/patterns/pattern-run.ts'
import { compilePattern, isPrepared, preparePatterns } from '../../core/patterns/patterns.ts'
import { PRESETS } from '../../core/pcre/presets/presets.ts'
import type { FirewallContent } from '../../projections/events/rules.ts'
import {
  enabledField,
  nameField,
  parseValidFields,
  priorityField,
  type RuleField,
  type RuleKind,
  schemaField,
  showOwner,
} from '../rules/index.ts'
import { patternSource } from './compile.ts'
import { firewallRuleApi } from './schemas.ts'

const FIELDS = [
  nameField,
  enabledField,
  enumField('scope', FIREWALL_SCOPES),
  enumField('type', ['substring', 'regex', 'preset']),
  schemaField(
    'pattern',
    Type.String({ minLength: 1, maxLength: 10_000 }),
    'a string of 1 to 10000 characters',
  ),
  enumField('action', ['block', 'mask', 'warn']),
  schemaField(
    'replacement',
    Nullable(Type.String({ maxLength: 1000 })),
    'a string of at most 1000 characters, or null',
    false,
  ),
  priorityField,
]

function enumField(name: string, values: readonly string[]): RuleField {
  return schemaField(name, StringEnum(values), `one of ${values.join(', ')}`)
}

/**
 * Creates the kind of firewall rules: fields, validation and events (docs/api.md, "Firewall rules").
 * `evaluatesResponses`: rules with the scope `response` are in force.
 * `evaluatesTools`: rules with the scopes `tool_call` and `tool_result` are.
 */
export function createFirewallRuleKind(
  evaluatesResponses: boolean,
  evaluatesTools = true,
): RuleKind<FirewallRule, FirewallContent> {
  const unevaluated: Partial<Record<FirewallScope, string>> = {
    ...(!evaluatesResponses && { response: 'the setting firewall.evaluate_responses is off' }),
    ...(!evaluatesTools && { tool_call: NO_TOOLS, tool_result: NO_TOOLS }),
  }
  return { ...firewallRules, lint: (rule) => lintRule(rule, unevaluated[rule.scope]) }
}

const NO_TOOLS = 'no plugin that calls tools is listed'

const firewallRules: Omit<RuleKind<FirewallRule, FirewallContent>, 'lint'> = {
  name: 'firewall',
  api: firewallRuleApi,
  fields: FIELDS,
  parseNew(body) {
    // The cast is safe: every required field is present, and its value was parsed.
    return { replacement: null, ...parseValidFields(FIELDS, body, true) } as FirewallContent
  },
  parseChanges: (body) => parseValidFields(FIELDS, body, false),
  created: (owner, ruleId, content, more) => ({
    type: 'FirewallRuleCreated',
    data: { ...owner, ruleId, content, ...more },
  }),
  updated: (owner, ruleId, changes, more) => ({
    type: 'FirewallRuleUpdated',
    data: { ...owner, ruleId, changes, ...more },
  }),
  deleted: (owner, ruleId) => ({ type: 'FirewallRuleDeleted', data: { ...owner, ruleId } }),
  show(rule) {
    const { id, name, is_enabled, scope, type, pattern, action, replacement, priority } = rule
    const { created_at, updated_at } = rule
    const error = patternError(rule)
    return {
      id,
      ...showOwner(rule),
      name,
      is_enabled,
      scope,
      type,
      pattern,
      action,
      replacement,
      priority,
      created_at,
      updated_at,
      ...(error !== undefined && { pattern_error: error }),
    }
  },
  async prepare(contents, ownerId) {
    await preparePatterns(contents.map(patternSource), ownerId).catch((cause: unknown) => {
      if (!(cause instanceof PatternLimitError)) throw cause
      throw new GatewayError('invalid_rule', 'The pattern takes too long to compile. Shorten it.', { cause })
    })
  },
  check({ type, pattern, is_enabled: isEnabled }, owner) {
    const error = patternError({ type, pattern })
    if (error === undefined) return
    if (type === 'regex') {
      // One that was valid under other limits can be disabled.
      if ('policyId' in owner && isEnabled) throw unusablePolicyRuleError(error)
      return
    }
    const message =
      type === 'preset'
        ? `The pattern field must be the name of a preset: ${PRESETS.map(({ name }) => name).join(', ')}.`
        : `The pattern of ${pattern.length} characters is too long for a substring. Shorten it.`
    throw new GatewayError('invalid_rule', message)
  },
}

/** A rule that never matches would be one that an organisation relies on. */
function unusablePolicyRuleError(error: string): GatewayError {
  const message = `The pattern field cannot be evaluated, so the rule would never match: ${error}.`
  return new GatewayError('validation_error', message, { errors: { pattern: [message] } })
}

/** `unevaluated`: why rules of its scope are not in force. */
function lintRule(rule: FirewallRule, unevaluated: string | undefined): readonly Warning[] {
  const warnings: Warning[] = []
  const error = patternError(rule)
  if (error !== undefined) {
    const message = `${error}. The rule never matches until its pattern is changed.`
    warnings.push({ code: 'pattern_not_evaluable', message })
  }
  if (unevaluated !== undefined) {
    const message = `Rules with scope "${rule.scope}" are stored but not evaluated: ${unevaluated}.`
    warnings.push({ code: 'scope_not_evaluated', message })
  }
  return warnings
}

/** Why the pattern of the rule cannot be evaluated: a sentence without a final period. */
function patternError(rule: Pick<FirewallRule, 'type' | 'pattern'>): string | undefined {
  const source = patternSource(rule)
  // Entries of a history are shown without preparation; a long pattern that is unknown is not analyzed then.
  if (!isPrepared(source)) return undefined
  const pattern = compilePattern(source)
  return 'error' in pattern ? pattern.error : undefined
}
