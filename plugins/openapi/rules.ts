import type { JsonObject } from '../../core/contract/index.ts'
import { batchSchema } from '../rules/batch.ts'
import {
  type Answers,
  anyObject,
  closed,
  data,
  describeOperation,
  flag,
  ifMatch,
  inPath,
  integer,
  list,
  momentIn,
  oneOf,
  orNull,
  ref,
  success,
  text,
  time,
  userErrors,
} from './builders.ts'

/** What the descriptions of the two kinds differ in. */
interface KindWords {
  /** Of its schemas: `RoutingRule`, `RoutingRuleInput`, `RoutingRuleChange`. */
  readonly name: string
  readonly path: string
  readonly examples: Readonly<Record<string, JsonObject>>
  readonly change: JsonObject
  /** Errors that come in a shape of their own. */
  readonly special: Answers
}

const rule = { name: 'Contracts', is_enabled: true, priority: 10 }

/** A new routing rule. */
export const cheap = {
  ...rule,
  match_json: { contains: ['contract', 'invoice'] },
  action_json: { set_mode: 'cost' },
}

/** A new firewall rule. */
export const mask = {
  ...rule,
  scope: 'prompt',
  type: 'regex',
  pattern: '[\\w.]+@[\\w.]+',
  action: 'mask',
  replacement: '[address]',
}

export const ruleIdInPath = inPath('id', 7, 'The number of one of your rules.')

const asOf = momentIn('as_of', '2026-03-01T09:30:00Z', 'The rules as they were then')

export const routingPaths = describeKind({
  name: 'RoutingRule',
  path: '/v1/routing-rules',
  examples: {
    conditions: cheap,
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

export const firewallPaths = describeKind({
  name: 'FirewallRule',
  path: '/v1/firewall-rules',
  examples: {
    mask,
    block: { ...rule, scope: 'prompt', type: 'substring', pattern: 'top secret', action: 'block' },
  },
  change: { is_enabled: false },
  special: { 400: ref('MessageError'), 403: ref('MessageError') },
})

/** List, create, read, update and delete. */
function describeKind({ name, path, examples, change, special }: KindWords): JsonObject {
  const tag = 'rules'
  const one = closed({ data: ref(name), 'warnings?': list(ref('Warning')) })
  const read = { ...userErrors('Error', 403, 404), ...special }
  const write = { ...userErrors('Error', 403, 404, 409, 412, 413, 507), ...special }
  return {
    [path]: {
      get: describeOperation({
        id: `list${name}s`,
        tag,
        summary: 'Lists your rules in the order in which they are looked at.',
        parameters: [asOf],
        answers: { 200: data(list(ref(name))), ...read },
      }),
      post: describeOperation({
        id: `create${name}`,
        tag,
        summary: 'Makes a rule.',
        body: { schema: ref(`${name}Input`), examples },
        answers: { 201: one, ...write },
      }),
    },
    [`${path}/{id}`]: {
      parameters: [ruleIdInPath],
      get: describeOperation({
        id: `read${name}`,
        tag,
        summary: 'Shows a rule.',
        parameters: [asOf],
        answers: { 200: one, ...read },
      }),
      patch: describeOperation({
        id: `update${name}`,
        tag,
        summary: 'Changes the given fields of a rule.',
        parameters: [ifMatch],
        body: { schema: ref(`${name}Change`), examples: { change } },
        answers: { 200: one, ...write },
      }),
      delete: describeOperation({
        id: `delete${name}`,
        tag,
        summary: 'Removes a rule.',
        parameters: [ifMatch],
        answers: { 200: success, ...write },
      }),
    },
  }
}

const shown = { id: integer, user_id: integer, name: text, is_enabled: flag, priority: integer }
const times = { created_at: time, updated_at: time }

export const ruleSchemas: JsonObject = {
  RoutingRule: closed({ ...shown, match_json: anyObject, action_json: anyObject, ...times }),
  FirewallRule: closed({
    ...shown,
    scope: oneOf('prompt', 'response'),
    type: oneOf('substring', 'regex'),
    pattern: text,
    action: oneOf('block', 'mask', 'warn'),
    replacement: orNull(text),
    ...times,
    'pattern_error?': text,
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
              { kind: 'routing', op: 'create', data: cheap },
              { kind: 'firewall', op: 'create', data: mask },
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
      answers: {
        200: data(list({ anyOf: [ref('RoutingRule'), ref('FirewallRule'), success] })),
        ...userErrors('Error', 400, 403, 404, 409, 412, 413, 422, 507),
      },
    }),
  },
}

export const batchSchemas: JsonObject = {
  RuleBatch: batchSchema,
}
