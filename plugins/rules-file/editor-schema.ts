import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import { createOperatorRegistry } from '../../core/pipeline/registries.ts'
import { cacheAction } from '../cache/index.ts'
import { createFirewallRuleKind } from '../firewall/index.ts'
import {
  builtInConditions,
  createBuiltInActions,
  createRoutingRuleKind,
  createSplitAction,
} from '../routing/index.ts'
import { ruleBodySchema } from '../rules/index.ts'
import { createShadowAction } from '../shadow/index.ts'
import { toolRules } from '../tool-rules/index.ts'
import { RuleCasesSchema } from './run-cases.ts'
import { RulesFileSchema } from './schemas.ts'

const DRAFT = 'http://json-schema.org/draft-07/schema#'

/** The JSON schema of a file for editors. It describes rules with the built-in conditions and actions. */
export function buildEditorSchema(): JsonObject {
  const operators = createOperatorRegistry()
  const noModels = { find: () => undefined }
  const modelActions = [createSplitAction(noModels, ''), createShadowAction(noModels, '')]
  operators.add('the editor schema', {
    conditions: builtInConditions,
    // Providers are settings.
    actions: [...createBuiltInActions(new Set()), ...modelActions, cacheAction].map((action) =>
      action.name === 'set_provider' ? { ...action, schema: { type: 'string', minLength: 1 } } : action,
    ),
  })
  const id = { type: 'integer', minimum: 1, description: 'Id of an existing rule.' }
  const describeRule = ({ properties, ...schema }: JsonObject): JsonObject => {
    return { ...schema, properties: { id, ...Object(properties) } }
  }
  const items = {
    firewall_rules: describeRule(ruleBodySchema(createFirewallRuleKind(false).fields, 'FirewallRule', true)),
    routing_rules: describeRule(ruleBodySchema(createRoutingRuleKind(operators).fields, 'RoutingRule', true)),
    tool_rules: describeRule(ruleBodySchema(toolRules.fields, 'ToolRule', true)),
  }
  const isRuleList = (name: string): name is keyof typeof items => Object.hasOwn(items, name)
  return toEditorSchema(RulesFileSchema, (name, schema) =>
    isRuleList(name) ? { ...schema, items: items[name] } : schema,
  )
}

/** The JSON schema of `rules test` cases for editors. */
export function buildCasesEditorSchema(): JsonObject {
  return toEditorSchema(RuleCasesSchema, (_, schema) => schema)
}

/** Replaces the schemas of properties, and drops the ids, which name components of the OpenAPI document. */
function toEditorSchema(
  schema: JsonObject,
  replace: (property: string, schema: JsonObject) => JsonObject,
): JsonObject {
  function convert(value: unknown, name: string): unknown {
    if (Array.isArray(value)) return value.map((item) => convert(item, name))
    if (!isJsonObject(value)) return value
    const entries = Object.entries(replace(name, value)).filter(([key, id]) => !isComponentId(key, id))
    return Object.fromEntries(entries.map(([key, part]) => [key, convert(part, key)]))
  }
  return { $schema: DRAFT, ...Object(convert(JSON.parse(JSON.stringify(schema)), '')) }
}

function isComponentId(key: string, value: unknown): boolean {
  return key === '$id' && typeof value === 'string'
}
