import type { JsonObject } from '../../core/contract/index.ts'
import { batchSchema } from '../rules/batch.ts'
import {
  anyObject,
  arrayOf,
  boolean,
  closedObject,
  dataEnvelope,
  describeOperation,
  ifMatchParameter,
  integer,
  logPointParameter,
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

/** The differences between the descriptions of the two rule kinds. */
interface RuleKindDescription {
  /** The base name of the schemas: `RoutingRule` for `RoutingRuleInput` and `RoutingRuleChange`. */
  readonly name: string
  readonly path: string
  readonly examples: Readonly<Record<string, JsonObject>>
  readonly change: JsonObject
  /** Error responses that differ from those of other endpoints. */
  readonly errors: OperationResponses
}

const commonExample = { name: 'Contracts', is_enabled: true, priority: 10 }

const exampleRoutingRule = {
  ...commonExample,
  match_json: { contains: ['contract', 'invoice'] },
  action_json: { set_mode: 'cost' },
}

const exampleFirewallRule = {
  ...commonExample,
  scope: 'prompt',
  type: 'regex',
  pattern: '[\\w.]+@[\\w.]+',
  action: 'mask',
  replacement: '[address]',
}

export const ruleIdParameter = pathParameter('id', 7, 'The id of one of your rules.')

const asOfParameter = logPointParameter(
  'as_of',
  '2026-03-01T09:30:00Z',
  'Returns the rules as of a point in the log',
)

export const routingPaths = describeRuleKind({
  name: 'RoutingRule',
  path: '/v1/routing-rules',
  examples: {
    conditions: exampleRoutingRule,
    match_all: {
      ...commonExample,
      match_json: {},
      action_json: { set_provider: 'openai', add_warning: { message: 'Be brief.' } },
    },
    json_strings: {
      ...commonExample,
      match_json: '{"task":"summary","metadata_equals":{"team":"blue"}}',
      action_json: '{"set_model":"gpt-4o"}',
    },
  },
  change: { priority: -5, match_json: { mode: 'quality' } },
  errors: { 400: ref('MessageError'), 422: ref('Error') },
})

export const firewallPaths = describeRuleKind({
  name: 'FirewallRule',
  path: '/v1/firewall-rules',
  examples: {
    mask: exampleFirewallRule,
    block: { ...commonExample, scope: 'prompt', type: 'substring', pattern: 'top secret', action: 'block' },
  },
  change: { is_enabled: false },
  errors: { 400: ref('MessageError'), 403: ref('MessageError') },
})

function describeRuleKind({ name, path, examples, change, errors }: RuleKindDescription): JsonObject {
  const tag = 'rules'
  const single = closedObject({ data: ref(name), 'warnings?': arrayOf(ref('Warning')) })
  const readErrors = { ...userErrorResponses('Error', 403, 404), ...errors }
  const writeErrors = { ...userErrorResponses('Error', 403, 404, 409, 412, 413, 507), ...errors }
  return {
    [path]: {
      get: describeOperation({
        id: `list${name}s`,
        tag,
        summary: 'Lists your rules in evaluation order.',
        parameters: [asOfParameter],
        responses: { 200: dataEnvelope(arrayOf(ref(name))), ...readErrors },
      }),
      post: describeOperation({
        id: `create${name}`,
        tag,
        summary: 'Creates a rule.',
        body: { schema: ref(`${name}Input`), examples },
        responses: { 201: single, ...writeErrors },
      }),
    },
    [`${path}/{id}`]: {
      parameters: [ruleIdParameter],
      get: describeOperation({
        id: `read${name}`,
        tag,
        summary: 'Returns a rule.',
        parameters: [asOfParameter],
        responses: { 200: single, ...readErrors },
      }),
      patch: describeOperation({
        id: `update${name}`,
        tag,
        summary: 'Updates the given fields of a rule.',
        parameters: [ifMatchParameter],
        body: { schema: ref(`${name}Change`), examples: { change } },
        responses: { 200: single, ...writeErrors },
      }),
      delete: describeOperation({
        id: `delete${name}`,
        tag,
        summary: 'Deletes a rule.',
        parameters: [ifMatchParameter],
        responses: { 200: successBody, ...writeErrors },
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
    type: stringEnum('substring', 'regex', 'preset'),
    pattern: string,
    action: stringEnum('block', 'mask', 'warn'),
    replacement: nullable(string),
    ...timestamps,
    'pattern_error?': string,
  }),
}

export const presetPaths: JsonObject = {
  '/v1/firewall-presets': {
    get: describeOperation({
      id: 'listFirewallPresets',
      tag: 'firewall rules',
      summary: 'Lists the curated patterns that a firewall rule of the type preset refers to.',
      responses: {
        200: dataEnvelope(
          arrayOf(
            closedObject({ name: string, description: string, checked: nullable(string), example: string }),
          ),
        ),
        ...userErrorResponses('Error'),
      },
    }),
  },
}

export const batchPaths: JsonObject = {
  '/v1/rules/batch': {
    post: describeOperation({
      id: 'changeRules',
      tag: 'rules',
      summary: 'Applies several changes to rules of both kinds atomically.',
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
        200: closedObject({
          data: arrayOf({ anyOf: [ref('RoutingRule'), ref('FirewallRule'), successBody] }),
          'warnings?': arrayOf(closedObject({ code: string, message: string, operation: integer })),
        }),
        ...userErrorResponses('Error', 400, 403, 404, 409, 412, 413, 422, 507),
      },
    }),
  },
}

export const batchSchemas: JsonObject = {
  RuleBatch: batchSchema,
}
