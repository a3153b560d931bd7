import {
  type Author,
  type Endpoint,
  type EndpointCall,
  type EndpointResponse,
  endpoint,
  Type,
} from '../../core/contract/index.ts'
import {
  type AppliedChange,
  etagHeader,
  ifNoneMatchHeader,
  parsePrecondition,
  preconditionHeaders,
  repeatable,
  revisionEtag,
} from '../../core/http/change-headers.ts'
import { invalidParameterError } from '../../core/http/parse-call.ts'
import { dataWithWarnings, NextCursor, Success } from '../../core/http/schemas.ts'
import { asOfQuery, WRITE_ERRORS } from '../../core/resources/endpoints.ts'
import { parseAsOf } from '../../core/util/as-of.ts'
import type { RuleKindName } from '../../projections/rules.ts'
import { changedRuleId, pastCommands, readRuleChange } from './replay.ts'
import {
  executeRuleChanges,
  type RuleChange,
  type RuleChangeResult,
  ruleNotFoundError,
} from './rule-commands.ts'
import { type RuleKind, ruleBodySchema } from './rule-kind.ts'
import type { RuleHistoryServices } from './rule-scopes.ts'
import { listQuery, ruleId } from './schemas.ts'

/** Errors of endpoints that read the past. */
export const HISTORY_ERRORS = ['audit_busy', 'history_unavailable'] as const

/**
 * Creates the endpoints to list, create, read, update and delete rules of one kind. See
 * docs/decisions/rules.md, "Rules keep their own engine, and the promises of all resources".
 */
export function createRuleEndpoints(kind: RuleKind, services: RuleHistoryServices): readonly Endpoint[] {
  const { past, scope } = services
  const createCommands = services.commands[kind.name]
  const { name, schema, examples, change, errors } = kind.api
  const { operation, whose } = scope
  const path = `${scope.path}/${kind.api.path}`
  const common = { params: scope.params, tags: ['rules'] }
  const read = { ...common, access: scope.read }
  const write = { ...common, access: scope.write }
  const params = { ...scope.params, id: ruleId }
  const notFound = () => ruleNotFoundError(kind.name)
  const Rule = dataWithWarnings(schema)

  /** The owner's rules as of the time or position in `as_of`. */
  const pastQuery = (call: EndpointCall, asOf: string) => ({
    owner: services.rules.owner(scope.ownerOf(call, true)),
    kind: kind.name,
    asOf: parseAsOf(asOf, 'as_of'),
  })

  async function execute(status: number, change: RuleChange, ownerId: number, author: Author) {
    const [result] = await executeRuleChanges([change], services, ownerId, author)
    return toRuleResponse(status, result)
  }

  return [
    endpoint({
      ...read,
      method: 'GET',
      path,
      operationId: `list${operation}${name}s`,
      summary: `Lists ${whose} rules in evaluation order.`,
      query: listQuery,
      errors: HISTORY_ERRORS,
      responses: {
        200: {
          description: 'The rules, in evaluation order.',
          body: Type.Object(
            {
              data: Type.Array(schema, { description: 'The rules, in evaluation order.' }),
              next_cursor: Type.Optional(NextCursor),
            },
            { $id: `${name}List`, description: 'All rules, or a page with limit or cursor.' },
          ),
        },
      },
      async handle(call) {
        const { as_of: asOf, revisions = false, ...page } = call.query
        if (asOf !== undefined && revisions)
          throw invalidParameterError('revisions', 'revisions and as_of exclude each other. Leave one out.')
        if (asOf !== undefined)
          return {
            status: 200,
            json: await past.list({ ...pastQuery(call, asOf), page }, call.client.signal),
          }
        const commands = createCommands(scope.ownerOf(call))
        await commands.prepare()
        return { status: 200, body: await commands.list(page, revisions) }
      },
    }),
    repeatable(
      endpoint({
        ...write,
        method: 'POST',
        path,
        operationId: `create${operation}${name}`,
        summary: 'Creates a rule.',
        description: 'The read-only fields of rules are ignored.',
        // A getter, because plugins that are set up later can add conditions and actions.
        get body() {
          return ruleBodySchema(kind.fields, name, true)
        },
        parseBody: (body) => body,
        examples,
        responses: { 201: { description: 'The new rule.', headers: etagHeader('rule'), body: Rule } },
        errors: [...errors, ...WRITE_ERRORS],
        handle(call) {
          const ownerId = scope.ownerOf(call)
          return execute(201, createCommands(ownerId).create(call.body), ownerId, call.author)
        },
      }),
      (call, change) => replayRuleChange(201, call, change, kind, services),
    ),
    endpoint({
      ...read,
      method: 'GET',
      path: `${path}/{id}`,
      operationId: `read${operation}${name}`,
      summary: 'Returns a rule.',
      params,
      query: asOfQuery,
      headers: ifNoneMatchHeader,
      errors: HISTORY_ERRORS,
      responses: { 200: { description: 'The rule.', headers: etagHeader('rule'), body: Rule } },
      notFound,
      async handle(call) {
        const { as_of: asOf } = call.query
        const { id: ruleId } = call.params
        const rules =
          asOf === undefined
            ? undefined
            : await past.find({ ...pastQuery(call, asOf), ruleId }, call.client.signal)
        const commands = rules
          ? createCommands(rules.ownerId, () => rules)
          : createCommands(scope.ownerOf(call))
        await commands.prepare()
        return toRuleResponse(200, commands.show(ruleId))
      },
    }),
    endpoint({
      ...write,
      method: 'PATCH',
      path: `${path}/{id}`,
      operationId: `update${operation}${name}`,
      summary: 'Updates the given fields of a rule.',
      description: 'The read-only fields of rules are ignored.',
      params,
      headers: preconditionHeaders('rule'),
      get body() {
        return ruleBodySchema(kind.fields, name, false)
      },
      parseBody: (body) => body,
      examples: { change },
      responses: {
        200: { description: 'The rule after the change.', headers: etagHeader('rule'), body: Rule },
      },
      errors: [...errors, ...WRITE_ERRORS, 'revision_mismatch'],
      notFound,
      handle(call) {
        const { author, params, headers, body } = call
        const ownerId = scope.ownerOf(call)
        const commands = createCommands(ownerId)
        services.writer.checkAvailable()
        commands.requireRule(params.id)
        const change = commands.update(params.id, body, parsePrecondition(headers))
        return execute(200, change, ownerId, author)
      },
    }),
    endpoint({
      ...write,
      method: 'DELETE',
      path: `${path}/{id}`,
      operationId: `delete${operation}${name}`,
      summary: 'Deletes a rule.',
      params,
      headers: preconditionHeaders('rule'),
      responses: { 200: { description: 'The rule is deleted.', body: Success } },
      errors: [...WRITE_ERRORS, 'revision_mismatch'],
      notFound,
      handle(call) {
        const { author, params, headers } = call
        const ownerId = scope.ownerOf(call)
        const commands = createCommands(ownerId)
        services.writer.checkAvailable()
        commands.requireRule(params.id)
        return execute(200, commands.remove(params.id, parsePrecondition(headers)), ownerId, author)
      },
    }),
  ]
}

/** Answers a repeated change of one rule as the first one was answered. */
export async function replayRuleChange(
  status: number,
  call: EndpointCall,
  change: AppliedChange,
  { name }: { readonly name: RuleKindName },
  { history, commands, scope }: RuleHistoryServices,
): Promise<EndpointResponse> {
  const past = await readRuleChange(change, history, scope.ownerOf(call, true))
  const { show } = await pastCommands(past, commands[name])
  return toRuleResponse(status, show(changedRuleId(past)))
}

/** The response with a rule, its ETag and its warnings, or with the success of a deletion. */
export function toRuleResponse(status: number, result: RuleChangeResult | undefined): EndpointResponse {
  if (result?.type !== 'rule') return { status, body: { success: true } }
  const { shown, revision, warnings } = result
  const body = { data: shown, ...(warnings.length > 0 && { warnings }) }
  return { status, headers: { etag: revisionEtag(revision) }, body }
}
