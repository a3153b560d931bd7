import { AnyFields } from '../../core/http/schemas.ts'
import type { RuleApi } from '../rules/index.ts'
import { ruleSchema } from '../rules/index.ts'

const RoutingRuleSchema = ruleSchema('RoutingRule', 'A rule that chooses the model of requests.', {
  match_json: AnyFields('The conditions. All of them must hold; none matches every request.'),
  action_json: AnyFields('The actions that are applied to matching requests.'),
})

const exampleRoutingRule = {
  name: 'Contracts',
  is_enabled: true,
  priority: 10,
  match_json: { contains: ['contract', 'invoice'] },
  action_json: { set_mode: 'cost' },
}

const examples = {
  conditions: exampleRoutingRule,
  match_all: {
    ...exampleRoutingRule,
    match_json: {},
    action_json: { set_provider: 'openai', add_warning: { message: 'Be brief.' } },
  },
  json_strings: {
    ...exampleRoutingRule,
    match_json: '{"task":"summary","metadata_equals":{"team":"blue"}}',
    action_json: '{"set_model":"gpt-4o"}',
  },
}

export const routingRuleApi: RuleApi = {
  path: 'routing-rules',
  name: 'RoutingRule',
  schema: RoutingRuleSchema,
  examples,
  change: { priority: -5, match_json: { mode: 'quality' } },
  errors: ['invalid_rule', 'validation_error'],
}
