import type { IncomingHttpHeaders } from 'node:http'
import {
  data,
  type Endpoint,
  endpoint,
  GatewayError,
  Nullable,
  operator,
  SharedStateUnavailableError,
  type Static,
  type TProperties,
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
import { WRITE_ERRORS } from '../../core/resources/endpoints.ts'
import { renameFields, showFields, toCamelCase } from '../../core/resources/names.ts'
import type { Budget } from '../../projections/events/budgets.ts'
import { BudgetInput, keyId, userId } from '../auth/index.ts'
import { groupId } from '../policies/index.ts'
import type { BudgetCommands } from './budget-commands.ts'
import { budgetUnavailable } from './errors.ts'
import type { BudgetTarget, OwnedBudget } from './owned-budget.ts'
import { periodAt } from './periods.ts'
import type { Spending } from './spending.ts'

const { limit_usd, period, warn_ratio, on_exceed } = BudgetInput.properties

const usd = (description: string) =>
  Type.Number({ minimum: 0, description: `${description}, in US dollars.` })

const BudgetState = Type.Object(
  {
    ...{ limit_usd, period, warn_ratio, on_exceed },
    spent_usd: usd('What ended requests of the period cost'),
    reserved_usd: usd('What requests in flight may cost at most'),
    remaining_usd: usd('What is neither spent nor reserved'),
    period_start: Nullable(Timestamp('When the period began.'), { description: 'Null for a total.' }),
    period_end: Nullable(Timestamp('When the period ends.'), { description: 'Null for a total.' }),
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

interface Services {
  readonly commands: BudgetCommands
  readonly spending: Spending
}

/** Creates the endpoints for operators of users, keys, groups and everything, and `GET /v1/budget`. */
export function createBudgetEndpoints(services: Services): readonly Endpoint[] {
  return [
    ...createAdminEndpoints('/admin/users/{id}/budget', 'UserBudget', 'a user', services, {
      params: { id: userId },
      toTarget: ({ id }) => ({ type: 'user', userId: Number(id) }),
    }),
    ...createAdminEndpoints('/admin/keys/{id}/budget', 'KeyBudget', 'an API key', services, {
      params: { id: keyId },
      toTarget: ({ id }) => ({ type: 'key', keyId: String(id) }),
    }),
    ...createAdminEndpoints('/admin/groups/{id}/budget', 'GroupBudget', 'the users of a group', services, {
      params: { id: groupId },
      toTarget: ({ id }) => ({ type: 'group', groupId: Number(id) }),
    }),
    ...createAdminEndpoints('/admin/budget', 'OverallBudget', 'everything together', services, {
      params: {},
      toTarget: () => ({ type: 'all' }),
    }),
    ...createAdminEndpoints('/admin/budget/shadow', 'ShadowBudget', 'copies for other models', services, {
      params: {},
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
          showState({ type: 'user', userId }, services),
          showState({ type: 'key', keyId }, services),
        ])
        return { status: 200, body: { data: { user, key } } }
      },
    }),
  ]
}

interface TargetParameters {
  readonly params: TProperties
  toTarget(params: { readonly id?: unknown }): BudgetTarget
}

function createAdminEndpoints(
  path: string,
  name: string,
  owner: string,
  services: Services,
  { params, toTarget }: TargetParameters,
): readonly Endpoint[] {
  const common = { path, params, access: operator('admin'), tags: ['budgets'] }
  const headers = preconditionHeaders('budget', '')
  const state = {
    200: { description: 'The budget.', headers: etagHeader('budget'), body: data(BudgetState) },
  }

  async function readState(target: BudgetTarget) {
    const shown = await showState(target, services)
    if (shown === null) throw new GatewayError('not_found', 'No budget is set.')
    const budget = services.commands.find(target)
    return { status: 200, headers: budget ? { etag: termsEtag(budget) } : {}, body: { data: shown } }
  }

  return [
    endpoint({
      ...common,
      method: 'GET',
      access: operator('auditor'),
      operationId: `read${name}`,
      summary: `Returns the budget of ${owner}, and what is left of it.`,
      responses: state,
      errors: ['not_found', 'budget_unavailable'],
      async handle({ params, headers }) {
        const response = await readState(toTarget(params))
        // The ETag is that of the terms, and what is spent is never unchanged.
        return headers['if-none-match'] === undefined ? response : { ...response, headers: {} }
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
      async handle({ params, headers, body, author }) {
        const owned: OwnedBudget = { target: toTarget(params), budget: parseBudget(body) }
        const isNew = await services.commands.change(owned.target, owned.budget, author, toCheck(headers))
        try {
          if (isNew) await services.spending.catchUp(owned)
          return await readState(owned.target)
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
      async handle({ params, headers, author }) {
        await services.commands.change(toTarget(params), undefined, author, toCheck(headers))
        return { status: 200, body: { success: true } }
      },
    }),
  ]
}

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

/** Returns the budget as the API shows it; null if there is none. */
async function showState(target: BudgetTarget, { commands, spending }: Services) {
  const budget = commands.find(target)
  if (budget === undefined) return null
  const owned: OwnedBudget = { target, budget }
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
