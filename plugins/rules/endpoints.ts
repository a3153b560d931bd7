import {
  type Account,
  type Author,
  data,
  type Endpoint,
  type EndpointCall,
  type EndpointResponse,
  endpoint,
  type FirewallRule,
  type RoutingRule,
  Type,
  user,
} from '../../core/contract/index.ts'
import { parseIfMatch } from '../../core/http/conditional.ts'
import { type AppliedChange, callerOf, repeatable } from '../../core/http/idempotency.ts'
import { dataWithWarnings, Success } from '../../core/http/schemas.ts'
import { parseAsOf } from '../../core/util/as-of.ts'
import type { History } from '../../projections/history.ts'
import { changedRuleId, pastCommands, readRuleChange } from './replay.ts'
import {
  type CreateRuleCommands,
  executeRuleChanges,
  type RuleChange,
  type RuleChangeResult,
  type RuleCommands,
  type RuleServices,
  ruleNotFoundError,
} from './rule-commands.ts'
import { type RuleKind, ruleBodySchema } from './rule-kind.ts'
import { asOfQuery, etagHeader, ifMatchHeader, ifNoneMatchHeader, ruleId } from './schemas.ts'

export interface RuleEndpointServices<Rule extends RoutingRule | FirewallRule, Content> extends RuleServices {
  readonly kind: RuleKind<Rule, Content>
  readonly createCommands: CreateRuleCommands
  readonly history: History
}

/** Errors of endpoints that change rules. */
export const RULE_WRITE_ERRORS = ['conflict', 'change_too_large', 'event_log_full'] as const

/** Creates the endpoints to list, create, read, update and delete rules of one kind. */
export function createRuleEndpoints<Rule extends RoutingRule | FirewallRule, Content>(
  services: RuleEndpointServices<Rule, Content>,
): readonly Endpoint[] {
  const { kind, createCommands, history } = services
  const { path, name, schema, errorStyle, examples, change, errors } = kind.api
  const common = { access: user({ plan: 'paid' }), tags: ['rules'], errorStyle }
  const params = { id: ruleId }
  const notFound = () => ruleNotFoundError(kind.name)
  const Rule = dataWithWarnings(schema)

  /** Commands on the rules as of the time or position in `as_of`; on the current rules without it. */
  async function commandsAsOf(userId: number, asOf: string | undefined): Promise<RuleCommands> {
    if (asOf === undefined) return createCommands(userId)
    const rules = await history.rulesOf(userId, parseAsOf(asOf, 'as_of'))
    return createCommands(userId, () => rules)
  }

  async function execute(status: number, change: RuleChange, { userId }: Account, author: Author) {
    const [result] = await executeRuleChanges([change], services, userId, author)
    return toRuleResponse(status, result)
  }

  return [
    endpoint({
      ...common,
      method: 'GET',
      path,
      operationId: `list${name}s`,
      summary: 'Lists your rules in evaluation order.',
      query: asOfQuery,
      responses: {
        200: {
          description: 'The rules, in evaluation order.',
          body: data(Type.Array(schema, { description: 'The rules, in evaluation order.' })),
        },
      },
      async handle({ account, query }) {
        const commands = await commandsAsOf(account.userId, query.as_of)
        await commands.prepare()
        return { status: 200, body: { data: commands.list() } }
      },
    }),
    repeatable(
      endpoint({
        ...common,
        method: 'POST',
        path,
        operationId: `create${name}`,
        summary: 'Creates a rule.',
        description: 'The read-only fields of rules are ignored.',
        // A getter, because plugins that are set up later can add conditions and actions.
        get body() {
          return ruleBodySchema(kind.fields, name, true)
        },
        parseBody: (body) => body,
        examples,
        responses: { 201: { description: 'The new rule.', headers: etagHeader, body: Rule } },
        errors: [...errors, ...RULE_WRITE_ERRORS],
        handle: ({ account, author, body }) =>
          execute(201, createCommands(account.userId).create(body), account, author),
      }),
      (call, change) => replayRuleChange(201, call, change, services),
    ),
    endpoint({
      ...common,
      method: 'GET',
      path: `${path}/{id}`,
      operationId: `read${name}`,
      summary: 'Returns a rule.',
      params,
      query: asOfQuery,
      headers: ifNoneMatchHeader,
      responses: { 200: { description: 'The rule.', headers: etagHeader, body: Rule } },
      notFound,
      async handle({ account, params: { id }, query }) {
        const commands = await commandsAsOf(account.userId, query.as_of)
        await commands.prepare()
        return toRuleResponse(200, commands.show(id))
      },
    }),
    endpoint({
      ...common,
      method: 'PATCH',
      path: `${path}/{id}`,
      operationId: `update${name}`,
      summary: 'Updates the given fields of a rule.',
      description: 'The read-only fields of rules are ignored.',
      params,
      headers: ifMatchHeader,
      get body() {
        return ruleBodySchema(kind.fields, name, false)
      },
      parseBody: (body) => body,
      examples: { change },
      responses: { 200: { description: 'The rule after the change.', headers: etagHeader, body: Rule } },
      errors: [...errors, ...RULE_WRITE_ERRORS, 'revision_mismatch'],
      notFound,
      handle({ account, author, params: { id }, headers, body }) {
        const commands = createCommands(account.userId)
        services.writer.checkAvailable()
        commands.requireRule(id)
        return execute(200, commands.update(id, body, parseIfMatch(headers['if-match'])), account, author)
      },
    }),
    endpoint({
      ...common,
      method: 'DELETE',
      path: `${path}/{id}`,
      operationId: `delete${name}`,
      summary: 'Deletes a rule.',
      params,
      headers: ifMatchHeader,
      responses: { 200: { description: 'The rule is deleted.', body: Success } },
      errors: [...RULE_WRITE_ERRORS, 'revision_mismatch'],
      notFound,
      handle({ account, author, params: { id }, headers }) {
        const commands = createCommands(account.userId)
        services.writer.checkAvailable()
        commands.requireRule(id)
        return execute(200, commands.remove(id, parseIfMatch(headers['if-match'])), account, author)
      },
    }),
  ]
}

/** Answers a repeated change of one rule as the first one was answered. */
export async function replayRuleChange(
  status: number,
  call: EndpointCall,
  change: AppliedChange,
  services: { readonly history: History; readonly createCommands: CreateRuleCommands },
): Promise<EndpointResponse> {
  const past = await readRuleChange(change, services.history, callerOf(call).userId)
  const commands = await pastCommands(past, services.createCommands)
  return toRuleResponse(status, commands.show(changedRuleId(past)))
}

/** The response with a rule, its ETag and its warnings, or with the success of a deletion. */
export function toRuleResponse(status: number, result: RuleChangeResult | undefined): EndpointResponse {
  if (result?.type !== 'rule') return { status, body: { success: true } }
  const { shown, revision, warnings } = result
  const body = { data: shown, ...(warnings.length > 0 && { warnings }) }
  return { status, headers: { etag: `"${revision}"` }, body }
}
