import { data, FIREWALL_SCOPES, Nullable, StringEnum, Type } from '../../core/contract/index.ts'
import type { RuleApi } from '../rules/index.ts'
import { ruleSchema } from '../rules/index.ts'

const FirewallRuleSchema = ruleSchema(
  'FirewallRule',
  'A rule that inspects the text of requests, replies and tool calls.',
  {
    scope: StringEnum(FIREWALL_SCOPES, {
      description:
        'The text that the rule inspects: requests, replies, arguments of tool calls, or results of tools.',
    }),
    type: StringEnum(['substring', 'regex', 'preset'], { description: 'Kind of the pattern.' }),
    pattern: Type.String({ description: 'A substring, a PCRE pattern, or the name of a preset.' }),
    action: StringEnum(['block', 'mask', 'warn'], { description: 'What happens if the pattern matches.' }),
    replacement: Nullable(Type.String(), {
      description: 'The text that replaces masked text; null: [redacted].',
    }),
    pattern_error: Type.Optional(
      Type.String({ description: 'Why the pattern cannot be evaluated. Missing if it can.' }),
    ),
  },
)

const FirewallPreset = Type.Object(
  {
    name: Type.String({ description: 'The pattern of rules of the type preset.' }),
    description: Type.String({ description: 'What the preset finds.' }),
    checked: Nullable(Type.String(), {
      description: 'What is checked beside the pattern, such as a checksum; null if nothing is.',
    }),
    example: Type.String({ description: 'A text that the preset finds.' }),
  },
  { $id: 'FirewallPreset', description: 'A curated pattern for firewall rules.' },
)

export const FirewallPresetList = data(Type.Array(FirewallPreset, { description: 'All presets.' }))

const exampleFirewallRule = {
  name: 'Contracts',
  is_enabled: true,
  priority: 10,
  scope: 'prompt',
  type: 'regex',
  pattern: '[\\w.]+@[\\w.]+',
  action: 'mask',
  replacement: '[address]',
}

const examples = {
  mask: exampleFirewallRule,
  block: {
    name: 'Secrets',
    is_enabled: true,
    priority: 10,
    scope: 'prompt',
    type: 'substring',
    pattern: 'top secret',
    action: 'block',
  },
  preset: { ...exampleFirewallRule, type: 'preset', pattern: 'iban' },
}

export const firewallRuleApi: RuleApi = {
  path: 'firewall-rules',
  name: 'FirewallRule',
  schema: FirewallRuleSchema,
  examples,
  change: { is_enabled: false },
  errors: ['invalid_rule', 'validation_error'],
}
