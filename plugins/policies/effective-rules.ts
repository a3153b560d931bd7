import {
  data,
  type Endpoint,
  type EndpointResponse,
  endpoint,
  type JsonObject,
  type OperatorScope,
  operator,
  type Plan,
  type Rule,
  type RuleSet,
  Type,
  user,
} from '../../core/contract/index.ts'
import { Count, RuleOriginSchema } from '../../core/http/schemas.ts'
import { rulesPositionOf } from '../../core/pipeline/inference.ts'
import { asOfQuery } from '../../core/resources/endpoints.ts'
import { parseAsOf } from '../../core/util/as-of.ts'
import { mapInSlices } from '../../core/util/cooperative-yield.ts'
import type { Accounts } from '../../projections/accounts.ts'
import { includesOwnRules } from '../../projections/accounts.ts'
import type { Callers } from '../../projections/callers.ts'
import { toPastRuleSet } from '../../projections/history.ts'
import { isOwnPolicy } from '../../projections/operator-scope.ts'
import type { Policies } from '../../projections/policies.ts'
import { emptyRuleSet, RULE_KINDS } from '../../projections/rules.ts'
import { requireUser, userId, userNotFoundError } from '../auth/index.ts'
import type { RuleApi, RuleKind, RuleKinds } from '../rules/index.ts'

export interface EffectiveRuleServices {
  readonly accounts: Pick<Accounts, 'user'>
  readonly kinds: RuleKinds
  readonly policies: Pick<Policies, 'policy'>
  readonly callers: Callers
}

/**
 * Creates the endpoints that list all rules that apply to the requests of a user, those of policies first.
 */
export function createEffectiveRuleEndpoints(services: EffectiveRuleServices): readonly Endpoint[] {
  const { kinds, policies: known } = services
  const schema = effectiveRulesSchema(kinds)
  const responses = { 200: { description: 'The rules, in evaluation order.', body: data(schema) } }

  /** The visibility of now holds for the past, too: what was confidential may have become so since. */
  const isFull = ({ ownerId, origin }: RuleSet) =>
    origin === undefined || known.policy(ownerId)?.visibility === 'full'

  /** Operators with a scope see of other policies what their users see. */
  function isOwn({ ownerId }: RuleSet, scope: OperatorScope): boolean {
    const policy = known.policy(ownerId)
    return policy !== undefined && isOwnPolicy(policy, scope)
  }

  async function respond(
    userId: number,
    asOf: string | undefined,
    isShown: (rules: RuleSet) => boolean,
    scope?: OperatorScope,
  ): Promise<EndpointResponse> {
    const { plan, policies: all, rules, position } = await readState(userId, asOf, services)
    // The user may have been in groups outside of the scope then.
    const current =
      scope && asOf && new Set((await readState(userId, undefined, services)).policies.map(idOf))
    const policies = current ? all.filter((set) => current.has(idOf(set))) : all
    const sets = includesOwnRules(plan) ? [...policies, rules] : policies
    const shown: Record<string, readonly JsonObject[]> = {}
    for (const kind of RULE_KINDS) shown[kind] = await showRules(sets, kinds[kind], isShown)
    return { status: 200, body: { data: { rules_position: position, ...shown } } }
  }

  return [
    endpoint({
      method: 'GET',
      path: '/v1/rules/effective',
      access: user(),
      operationId: 'listEffectiveRules',
      summary: 'Lists all rules that apply to your requests, those of policies included.',
      tags: ['rules'],
      query: asOfQuery,
      responses,
      handle: ({ account, query }) => respond(account.userId, query.as_of, isFull),
    }),
    endpoint({
      method: 'GET',
      path: '/admin/users/{id}/effective-rules',
      access: operator('auditor', 'filtered'),
      operationId: 'listEffectiveRulesOfUser',
      summary: 'Lists all rules that apply to the requests of a user, those of policies included.',
      tags: ['policies'],
      params: { id: userId },
      query: asOfQuery,
      responses,
      notFound: userNotFoundError,
      handle({ params: { id }, query, scope }) {
        if (scope?.hasUser(id) === false) throw userNotFoundError(id)
        return respond(id, query.as_of, (rules) => !scope || isOwn(rules, scope) || isFull(rules), scope)
      },
    }),
  ]
}

const idOf = ({ ownerId }: RuleSet) => ownerId

interface EffectiveState {
  readonly plan: Plan
  readonly policies: readonly RuleSet[]
  readonly rules: RuleSet
  readonly position: number
}

async function readState(
  userId: number,
  asOf: string | undefined,
  { accounts, callers }: EffectiveRuleServices,
): Promise<EffectiveState> {
  if (asOf === undefined) {
    const { name, plan, position } = requireUser(accounts, userId)
    const caller = callers.snapshot({ userId, name, plan, keyId: '', position })
    const { account, policies, rules } = caller
    return { plan: account.plan, policies, rules, position: rulesPositionOf(caller) }
  }
  const past = await callers.at(userId, parseAsOf(asOf, 'as_of'))
  if (past.user === undefined) {
    // Nothing applied to the user before they existed.
    const { plan } = requireUser(accounts, userId)
    return { plan, policies: [], rules: emptyRuleSet(userId), position: 0 }
  }
  const { user: account, policies, policyPosition } = past
  const rules = toPastRuleSet(userId, past.rules)
  const position = rulesPositionOf({ account, rules, policyPosition })
  return { plan: account.plan, policies, rules, position }
}

async function showRules(
  sets: readonly RuleSet[],
  kind: RuleKind,
  isShown: (rules: RuleSet) => boolean,
): Promise<readonly JsonObject[]> {
  const shown: JsonObject[] = []
  for (const set of sets) {
    const { ownerId, origin = { type: 'user', id: ownerId } } = set
    const isFull = isShown(set)
    const all: readonly Rule[] = set[kind.name]
    const rules = all.filter((rule) => rule.is_enabled)
    await kind.prepare?.(rules, ownerId)
    for (const rule of await mapInSlices(rules, kind.show))
      shown.push({ ...(isFull ? rule : withoutContent(rule)), origin })
  }
  return shown
}

/**
 * What a rule looks for and writes. See docs/decisions/policies.md, "Users see the names of a policy's
 * rules".
 */
const CONFIDENTIAL = [
  'pattern',
  'pattern_error',
  'replacement',
  'match_json',
  'action_json',
  'match',
] as const

function withoutContent(rule: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(rule).filter(([name]) => !CONFIDENTIAL.includes(name as never)))
}

function effectiveRulesSchema(kinds: RuleKinds) {
  const origin = Type.Union(
    [
      RuleOriginSchema,
      Type.Object(
        { type: Type.Literal('user', { description: 'Always user.' }), id: Count('Id of the user.') },
        { $id: 'OwnRuleOrigin', description: 'The user whose own rule it is.' },
      ),
    ],
    { description: 'The policy or the user that the rule belongs to.' },
  )
  const optional = ({ properties }: RuleKinds['routing']['api']['schema']) =>
    Object.fromEntries(
      CONFIDENTIAL.flatMap((name) => (properties[name] ? [[name, Type.Optional(properties[name])]] : [])),
    )
  const list = ({ name, schema }: RuleApi) =>
    Type.Array(
      Type.Object(
        { ...schema.properties, ...optional(schema), origin },
        { $id: `Effective${name}`, description: 'A rule.' },
      ),
      {
        description: 'The enabled rules, in evaluation order.',
      },
    )
  return Type.Object(
    {
      rules_position: Count('Log position of the newest event that the rules depend on.'),
      routing: list(kinds.routing.api),
      firewall: list(kinds.firewall.api),
      tool: list(kinds.tool.api),
    },
    { $id: 'EffectiveRules', description: 'All rules that apply to the requests of a user.' },
  )
}
