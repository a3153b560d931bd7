import type { IncomingHttpHeaders } from 'node:http'
import {
  data,
  type Endpoint,
  endpoint,
  GatewayError,
  Nullable,
  type OperatorScope,
  operator,
  type ResourceEvent,
  type ResourceId,
  type ScopedAccess,
  SharedStateUnavailableError,
  type Static,
  Type,
  user,
} from '../../core/contract/index.ts'
import {
  contentEtag,
  etagHeader,
  parsePrecondition,
  preconditionHeaders,
} from '../../core/http/change-headers.ts'
import { Success, Timestamp } from '../../core/http/schemas.ts'
import { NANOS_PER_USD, toNanoUsd } from '../../core/prices/cost.ts'
import { buildHistorySchema, showHistory } from '../../core/resources/changes.ts'
import { asOfQuery, WRITE_ERRORS } from '../../core/resources/endpoints.ts'
import { renameFields, showFields, toCamelCase } from '../../core/resources/names.ts'
import { buildIdSchema, capitalize, createNotFoundError } from '../../core/resources/resource.ts'
import { type AsOf, parseAsOf } from '../../core/util/as-of.ts'
import type { Budget } from '../../projections/events/budgets.ts'
import { BudgetInput, BudgetTerms, keys, users } from '../auth/index.ts'
import { groups } from '../policies/index.ts'
import type { BudgetCommands } from './budget-commands.ts'
import type { BudgetScoping } from './budget-scope.ts'
import { budgetUnavailable } from './errors.ts'
import { type BudgetTarget, type OwnedBudget, ownerOf } from './owned-budget.ts'
import { periodAt } from './periods.ts'
import type { Spending } from './spending.ts'

const { limit_usd, period, warn_ratio, on_exceed } = BudgetInput.properties

/** Of a budget as it was, only the terms are known. */
const usd = (description: string) =>
  Type.Optional(
    Type.Number({ minimum: 0, description: `${description}, in US dollars. Missing with as_of.` }),
  )

const periodTime = (description: string) =>
  Type.Optional(Nullable(Timestamp(description), { description: 'Null for a total. Missing with as_of.' }))

const BudgetState = Type.Object(
  {
    ...{ limit_usd, period, warn_ratio, on_exceed },
    spent_usd: usd('What ended requests of the period cost'),
    reserved_usd: usd('What requests in flight may cost at most'),
    remaining_usd: usd('What is neither spent nor reserved'),
    period_start: periodTime('When the period began.'),
    period_end: periodTime('When the period ends.'),
  },
  { $id: 'BudgetState', description: 'A budget, and what is left of it.' },
)

const OwnBudgets = Type.Object(
  {
    user: Nullable(BudgetState, { description: 'The budget of the user; null if there is none.' }),
    key: Nullable(BudgetState, { description: 'The budget of the API key; null if there is none.' }),
  },
  { $id: 'OwnBudgets', description: "The caller's budgets." },
)

const BudgetHistory = buildHistorySchema('a budget', 'Budget', BudgetTerms)

interface Services {
  readonly commands: BudgetCommands
  readonly spending: Spending
  readonly scoping: BudgetScoping
}

/** What operators with a scope get of a kind of budgets. */
type ScopedBudgets = Readonly<Record<'read' | 'write', ScopedAccess>>

const FILTERED: ScopedBudgets = { read: 'filtered', write: 'filtered' }
const REFUSED: ScopedBudgets = { read: 'refused', write: 'refused' }

/** Creates the endpoints for operators of users, keys, groups and everything, and `GET /v1/budget`. */
export function createBudgetEndpoints(services: Services): readonly Endpoint[] {
  async function showOwn(target: BudgetTarget) {
    const budget = services.commands.find(target)
    return budget ? showState({ target, budget }, services.spending) : null
  }

  return [
    ...createOwnerEndpoints(users, 'a user', services, FILTERED, (userId) => ({ type: 'user', userId })),
    ...createOwnerEndpoints(keys, 'an API key', services, FILTERED, (keyId) => ({ type: 'key', keyId })),
    // The budget of a group is what limits those that operators with a scope set.
    ...createOwnerEndpoints(
      groups,
      'the users of a group',
      services,
      { read: 'filtered', write: 'refused' },
      (groupId) => ({ type: 'group', groupId }),
    ),
    ...createAdminEndpoints('OverallBudget', 'everything together', services, REFUSED, {
      path: '/admin/budget',
      toTarget: () => ({ type: 'all' }),
    }),
    ...createAdminEndpoints('ShadowBudget', 'copies for other models', services, REFUSED, {
      path: '/admin/budget/shadow',
      toTarget: () => ({ type: 'shadow' }),
    }),
    endpoint({
      method: 'GET',
      path: '/v1/budget',
      access: user(),
      operationId: 'readOwnBudgets',
      summary: 'Returns your budgets and what is left of them.',
      tags: ['budgets'],
      responses: { 200: { description: 'The budgets.', body: data(OwnBudgets) } },
      errors: ['budget_unavailable'],
      async handle({ account: { userId, keyId } }) {
        const [user, key] = await Promise.all([
          showOwn({ type: 'user', userId }),
          showOwn({ type: 'key', keyId }),
        ])
        return { status: 200, body: { data: { user, key } } }
      },
    }),
  ]
}

interface Owner<Id extends number | string> {
  readonly name: string
  readonly path: string
  readonly id: ResourceId<Id>
}

function createOwnerEndpoints<Id extends number | string>(
  owner: Owner<Id>,
  whose: string,
  services: Services,
  scoped: ScopedBudgets,
  toTarget: (id: Id) => BudgetTarget,
): readonly Endpoint[] {
  return createAdminEndpoints(`${capitalize(owner.name)}Budget`, whose, services, scoped, {
    path: `${owner.path}/{id}/budget`,
    params: { id: buildIdSchema(owner) },
    notFound: (id) => createNotFoundError(owner, id),
    // The cast is safe: the parameter matches the schema.
    toTarget: ({ id }) => toTarget(id as Id),
  })
}

interface BudgetPath extends Pick<Endpoint, 'path' | 'params' | 'notFound'> {
  toTarget(params: { readonly id?: unknown }): BudgetTarget
}

function createAdminEndpoints(
  name: string,
  owner: string,
  { commands, spending, scoping }: Services,
  scoped: ScopedBudgets,
  { toTarget, ...place }: BudgetPath,
): readonly Endpoint[] {
  const common = { ...place, access: operator('admin', scoped.write), tags: ['budgets'] }
  const reads = { ...common, access: operator('auditor', scoped.read) }
  const headers = preconditionHeaders('budget', '')
  const state = {
    200: { description: 'The budget.', headers: etagHeader('budget'), body: data(BudgetState) },
  }

  /** Throws 404 for what is not in the scope. */
  function findTarget(params: { readonly id?: unknown }, scope: OperatorScope | undefined): BudgetTarget {
    const target = toTarget(params)
    if (scope) scoping.require(target, scope)
    return target
  }

  async function read(target: BudgetTarget, asOf?: AsOf) {
    const budget = asOf ? (await commands.history(target, asOf)).at(-1)?.after : commands.find(target)
    if (budget !== undefined) {
      const shown = asOf ? showFields(budget) : await showState({ target, budget }, spending)
      return { status: 200, headers: { etag: termsEtag(budget) }, body: { data: shown } }
    }
    // Throws 404 for an owner that does not exist.
    commands.find(target)
    throw new GatewayError('not_found', 'No budget is set.')
  }

  return [
    endpoint({
      ...reads,
      method: 'GET',
      operationId: `read${name}`,
      summary: `Returns the budget of ${owner}, and what is left of it.`,
      query: asOfQuery,
      responses: state,
      errors: ['not_found', 'budget_unavailable'],
      async handle({ params, query: { as_of: asOf }, headers, scope }) {
        const target = findTarget(params, scope)
        const response = await read(target, asOf === undefined ? asOf : parseAsOf(asOf, 'as_of'))
        // The ETag is that of the terms, and what is spent is never unchanged.
        return headers['if-none-match'] === undefined ? response : { ...response, headers: {} }
      },
    }),
    endpoint({
      ...reads,
      method: 'GET',
      path: `${place.path}/history`,
      operationId: `read${name}History`,
      summary: `Lists the changes of the budget of ${owner}, oldest first.`,
      responses: { 200: { description: 'All changes.', body: BudgetHistory } },
      errors: ['not_found'],
      async handle({ params, scope }) {
        const target = findTarget(params, scope)
        const changes = await commands.history(target)
        // Throws 404 for an owner that does not exist.
        if (changes.length === 0) commands.find(target)
        return { status: 200, body: { data: showHistory(changes, eventsOf(target), showFields) } }
      },
    }),
    endpoint({
      ...common,
      method: 'PUT',
      operationId: `set${name}`,
      summary: `Sets the budget of ${owner}.`,
      description: 'Applies to the next request. What was spent in the period counts.',
      headers,
      body: BudgetInput,
      examples: {
        month: { limit_usd: 200, period: 'month', warn_ratio: 0.8, on_exceed: 'refuse' },
        downgrade: { limit_usd: 5, period: 'day', on_exceed: 'downgrade' },
      },
      responses: state,
      errors: [...WRITE_ERRORS, 'revision_mismatch', 'budget_unavailable'],
      async handle({ params, headers, body, author, scope }) {
        const owned: OwnedBudget = { target: findTarget(params, scope), budget: parseBudget(body) }
        if (scope) scoping.checkLimit(owned.target, owned.budget, scope)
        const isNew = await commands.change(owned.target, owned.budget, author, toCheck(headers))
        try {
          if (isNew) await spending.catchUp(owned)
          return await read(owned.target)
        } catch (error) {
          throw isUnavailable(error) ? createUnreadSpendingError(isNew) : error
        }
      },
    }),
    endpoint({
      ...common,
      method: 'DELETE',
      operationId: `remove${name}`,
      summary: `Removes the budget of ${owner}.`,
      headers,
      responses: { 200: { description: 'There is no budget.', body: Success } },
      errors: [...WRITE_ERRORS, 'revision_mismatch'],
      async handle({ params, headers, author, scope }) {
        await commands.change(findTarget(params, scope), undefined, author, toCheck(headers))
        return { status: 200, body: { success: true } }
      },
    }),
  ]
}

/** How the history of a budget names its events. */
const eventsOf = (target: BudgetTarget) => ({
  subjectOf: (event: ResourceEvent) => ({
    kind: 'budget',
    change: event.data.budget ? 'set' : 'removed',
    idValue: ownerOf(target) ?? target.type,
  }),
})

function termsEtag(budget: Budget): string {
  return contentEtag(showFields(budget))
}

/** Checks the conditions of a change of a budget. */
function toCheck(headers: IncomingHttpHeaders) {
  const expected = parsePrecondition(headers)
  return (budget: Budget | undefined) => expected(budget && termsEtag(budget), 'budget')
}

function isUnavailable(error: unknown): boolean {
  if (SharedStateUnavailableError.isInstance(error)) return true
  return GatewayError.isInstance(error) && error.code === 'budget_unavailable'
}

function createUnreadSpendingError(isNew: boolean): GatewayError {
  const message = 'The budget is set, but what was spent cannot be read at the moment.'
  const advice = ' If there was a budget before, remove this one and set it again, so that all of it counts.'
  return budgetUnavailable(isNew ? message + advice : message)
}

/** The budget in a valid body. */
export function parseBudget(body: Static<typeof BudgetInput>): Budget {
  // The cast is safe: a budget has the fields of the body.
  return renameFields(body, toCamelCase) as Budget
}

/** Returns a budget as the API shows it, with what is left of it. */
async function showState(owned: OwnedBudget, spending: Spending) {
  const { budget } = owned
  const { spent, reserved } = await spending.read(owned).catch((error: unknown) => {
    throw SharedStateUnavailableError.isInstance(error) ? budgetUnavailable() : error
  })
  const { startsAt, endsAt } = periodAt(budget.period, Date.now())
  const toUsd = (nanoUsd: number) => nanoUsd / NANOS_PER_USD
  return {
    ...showFields(budget),
    spent_usd: toUsd(spent),
    reserved_usd: toUsd(reserved),
    remaining_usd: toUsd(Math.max(0, toNanoUsd(budget.limitUsd) - spent - reserved)),
    period_start: endsAt === null ? null : new Date(startsAt).toISOString(),
    period_end: endsAt === null ? null : new Date(endsAt).toISOString(),
  }
}
