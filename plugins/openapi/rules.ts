import type { JsonObject } from '../../core/contract/index.ts'
import { batchSchema } from '../rules/batch.ts'
import {
  anyObject,
  arrayOf,
  asOfParameter,
  boolean,
  closedObject,
  dataEnvelope,
  describeOperation,
  ifMatchParameter,
  integer,
  nullable,
  type OperationResponses,
  pathParameter,
  ref,
  string,
  stringEnum,
  successBody,
  timestamp,
  userErrorResponses,
} from './builders.ts'

/** What the descriptions of the two kinds differ in. */
interface RuleKindDescription {
  /** Of its schemas: `RoutingRule`, `RoutingRuleInput`, `RoutingRuleChange`. */
  readonly name: string
  readonly path: string
  readonly examples: Readonly<Record<string, JsonObject>>
  readonly change: JsonObject
  /** Errors that come in a shape of their own. */
  readonly special: OperationResponses
}

const rule = { name: 'Contracts', is_enabled: true, priority: 10 }

/** A new routing rule. */
export const exampleRoutingRule = {
  ...rule,
  match_json: { contains: ['contract', 'invoice'] },
  action_json: { set_mode: 'cost' },
}

/** A new firewall rule. */
export const exampleFirewallRule = {
  ...rule,
  scope: 'prompt',
  type: 'regex',
  pattern: '[\\w.]+@[\\w.]+',
  action: 'mask',
  replacement: '[address]',
}

export const ruleIdParameter = pathParameter('id', 7, 'The number of one of your rules.')

const asOf = asOfParameter('as_of', '2026-03-01T09:30:00Z', 'The rules as they were then')

export const routingPaths = describeRuleKind({
  name: 'RoutingRule',
  path: '/v1/routing-rules',
  examples: {
    conditions: exampleRoutingRule,
    everything: {
      ...rule,
      match_json: {},
      action_json: { set_provider: 'openai', add_warning: { message: 'Be brief.' } },
    },
    texts: {
      ...rule,
      match_json: '{"task":"summary","metadata_equals":{"team":"blue"}}',
      action_json: '{"set_model":"gpt-4o"}',
    },
  },
  change: { priority: -5, match_json: { mode: 'quality' } },
  special: { 400: ref('MessageError'), 422: ref('Error') },
})

export const firewallPaths = describeRuleKind({
  name: 'FirewallRule',
  path: '/v1/firewall-rules',
  examples: {
    mask: exampleFirewallRule,
    block: { ...rule, scope: 'prompt', type: 'substring', pattern: 'top secret', action: 'block' },
  },
  change: { is_enabled: false },
  special: { 400: ref('MessageError'), 403: ref('MessageError') },
})

/** List, create, read, update and delete. */
function describeRuleKind({ name, path, examples, change, special }: RuleKindDescription): JsonObject {
  const tag = 'rules'
  const one = closedObject({ data: ref(name), 'warnings?': arrayOf(ref('Warning')) })
  const read = { ...userErrorResponses('Error', 403, 404), ...special }
  const write = { ...userErrorResponses('Error', 403, 404, 409, 412, 413, 507), ...special }
  return {
    [path]: {
      get: describeOperation({
        id: `list${name}s`,
        tag,
        summary: 'Lists your rules in the order in which they are looked at.',
        parameters: [asOf],
        responses: { 200: dataEnvelope(arrayOf(ref(name))), ...read },
      }),
      post: describeOperation({
        id: `create${name}`,
        tag,
        summary: 'Makes a rule.',
        body: { schema: ref(`${name}Input`), examples },
        responses: { 201: one, ...write },
      }),
    },
    [`${path}/{id}`]: {
      parameters: [ruleIdParameter],
      get: describeOperation({
        id: `read${name}`,
        tag,
        summary: 'Shows a rule.',
        parameters: [asOf],
        responses: { 200: one, ...read },
      }),
      patch: describeOperation({
        id: `update${name}`,
        tag,
        summary: 'Changes the given fields of a rule.',
        parameters: [ifMatchParameter],
        body: { schema: ref(`${name}Change`), examples: { change } },
        responses: { 200: one, ...write },
      }),
      delete: describeOperation({
        id: `delete${name}`,
        tag,
        summary: 'Removes a rule.',
        parameters: [ifMatchParameter],
        responses: { 200: successBody, ...write },
      }),
    },
  }
}

const commonFields = { id: integer, user_id: integer, name: string, is_enabled: boolean, priority: integer }
const timestamps = { created_at: timestamp, updated_at: timestamp }

export const ruleSchemas: JsonObject = {
  RoutingRule: closedObject({
    ...commonFields,
    match_json: anyObject,
    action_json: anyObject,
    ...timestamps,
  }),
  FirewallRule: closedObject({
    ...commonFields,
    scope: stringEnum('prompt', 'response'),
    type: stringEnum('substring', 'regex'),
    pattern: string,
    action: stringEnum('block', 'mask', 'warn'),
    replacement: nullable(string),
    ...timestamps,
    'pattern_error?': string,
  }),
}

export const batchPaths: JsonObject = {
  '/v1/rules/batch': {
    post: describeOperation({
      id: 'changeRules',
      tag: 'rules',
      summary: 'Makes several changes to rules of both kinds together, or none.',
      body: {
        schema: ref('RuleBatch'),
        examples: {
          create: {
            operations: [
              { kind: 'routing', op: 'create', data: exampleRoutingRule },
              { kind: 'firewall', op: 'create', data: exampleFirewallRule },
            ],
          },
          change: {
            operations: [
              { kind: 'routing', op: 'update', id: 7, data: { priority: 1 } },
              { kind: 'firewall', op: 'delete', id: 8, revision: 1 },
            ],
          },
        },
      },
      responses: {
        200: dataEnvelope(arrayOf({ anyOf: [ref('RoutingRule'), ref('FirewallRule'), successBody] })),
        ...userErrorResponses('Error', 400, 403, 404, 409, 412, 413, 422, 507),
      },
    }),
  },
}

export const batchSchemas: JsonObject = {
  RuleBatch: batchSchema,
}
