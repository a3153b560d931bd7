import { GatewayError } from '../../core/contract/index.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import type { AdminApi } from './admin-api.ts'
import { withAdminApi } from './admin-target.ts'
import { type CommandArgs, UsageError } from './command.ts'
import { type Columns, printList } from './output.ts'

interface ShownBudget {
  readonly limit_usd: number
  readonly period: string
  readonly on_exceed: string
  readonly spent_usd?: number
  readonly remaining_usd?: number
}

interface Owner {
  readonly id: number | string
  readonly name?: string
  readonly budget?: ShownBudget
}

/** Whose budget it is: `user:7`, and the name to show. */
interface OwnerName {
  readonly owner: string
  readonly name?: string | undefined
}

type OwnedBudget = OwnerName & ShownBudget

const COLUMNS: Columns<OwnedBudget> = {
  OWNER: ({ owner }) => owner,
  NAME: ({ name }) => name,
  LIMIT: ({ limit_usd }) => `$${limit_usd}`,
  PERIOD: ({ period }) => period,
  SPENT: ({ spent_usd }) => (spent_usd === undefined ? undefined : `$${spent_usd.toFixed(2)}`),
  LEFT: ({ remaining_usd }) => (remaining_usd === undefined ? undefined : `$${remaining_usd.toFixed(2)}`),
  'WHEN SPENT': ({ on_exceed }) => on_exceed,
}

export function printBudgets(args: CommandArgs): Promise<void> {
  return withAdminApi(args, async (api) => {
    const budgets: OwnedBudget[] = []
    // One at a time: reading what was spent sums up records of requests.
    for (const owned of await findOwners(api)) {
      const budget = await api.call<ShownBudget>(pathOf(owned.owner)).catch(ignoreMissing)
      if (budget) budgets.push({ ...owned, ...budget })
    }
    printList(args, budgets, COLUMNS, 'There is no budget: see "signalbox budgets set".')
  })
}

/** Everything that has a budget, or may have one. */
async function findOwners(api: AdminApi): Promise<readonly OwnerName[]> {
  const users = await api.list<Owner & { readonly keys: readonly Owner[] }>('/admin/users?limit=1000')
  const groups = await api.list<Owner>('/admin/groups?limit=1000')
  const nameOwners = (kind: string, owners: readonly Owner[], ownName?: string) =>
    owners
      .filter(({ budget }) => budget !== undefined)
      .map(({ id, name = ownName }) => ({ owner: `${kind}:${id}`, name }))
  return [
    { owner: 'all' },
    { owner: 'shadow' },
    ...nameOwners('group', groups),
    ...nameOwners('user', users),
    ...users.flatMap(({ keys, name }) => nameOwners('key', keys, name)),
  ]
}

function ignoreMissing(error: unknown): undefined {
  if (!GatewayError.isInstance(error) || error.status !== 404) throw error
}

/** `budgets set OWNER`. */
export function setBudget(args: CommandArgs): Promise<void> {
  const {
    operands: [owner = ''],
    options,
    print,
  } = args
  const path = pathOf(owner)
  const [limit, warnRatio] = [options.get('limit') ?? '', options.get('warn-ratio')]
  const budget = {
    limit_usd: parseNumber(limit, 'USD'),
    period: options.get('period') ?? 'month',
    on_exceed: options.get('on-exceed') ?? 'refuse',
    ...(warnRatio !== undefined && { warn_ratio: parseNumber(warnRatio, 'SHARE') }),
  }
  return withAdminApi(args, async (api) => {
    await api.send('PUT', path, budget).catch(rejectInvalid)
    print(`The budget of ${owner} is $${budget.limit_usd} per ${budget.period}.`)
  })
}

/** `budgets remove OWNER`. */
export function removeBudget(args: CommandArgs): Promise<void> {
  const [owner = ''] = args.operands
  const path = pathOf(owner)
  return withAdminApi(args, async (api) => {
    await api.send('DELETE', path)
    args.print(`${owner} has no budget.`)
  })
}

const PATHS: Readonly<Record<string, string>> = {
  user: '/admin/users',
  group: '/admin/groups',
  key: '/admin/keys',
}

function pathOf(owner: string): string {
  if (owner === 'all') return '/admin/budget'
  if (owner === 'shadow') return '/admin/budget/shadow'
  const [, kind = '', id = ''] = /^(user|group|key):(\w+)$/.exec(owner) ?? []
  if (id !== '') return `${PATHS[kind]}/${id}/budget`
  throw new UsageError('OWNER must be user:ID, group:ID, key:ID, shadow or all.')
}

function parseNumber(text: string, name: string): number {
  if (/^\d{1,9}(\.\d{1,9})?$/.test(text)) return Number(text)
  throw new UsageError(`${name} must be a number, such as 0.8 or 200.`)
}

function rejectInvalid(error: unknown): never {
  if (GatewayError.isInstance(error) && error.code === 'invalid_value')
    throw new UsageError(errorMessage(error))
  throw error
}
