import { type Answer, AS_ADMIN, type RunningGateway } from './gateway.ts'

/** What one answer of `playStorm` costs with gpt-4o: 10 tokens at 2.50 and 40 at 10 dollars per million. */
export const ANSWER_USD = 0.000425

/** The paths of budgets. */
export const budgetOf = {
  user: (id: number) => `/admin/users/${id}/budget`,
  key: (id: string) => `/admin/keys/${id}/budget`,
  group: (id: number) => `/admin/groups/${id}/budget`,
  all: () => '/admin/budget',
  shadow: () => '/admin/budget/shadow',
}

const DEFAULTS = { period: 'total', on_exceed: 'refuse' }

export function setBudget(gateway: RunningGateway, path: string, budget: object): Promise<Answer> {
  return gateway.call('PUT', path, { ...DEFAULTS, ...budget }, AS_ADMIN)
}

/** The state of a budget. */
export async function readBudget(gateway: RunningGateway, path: string) {
  return (await gateway.call('GET', path, undefined, AS_ADMIN)).body.data
}
