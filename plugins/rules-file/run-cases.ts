import { type Account, type Exchange, GatewayError } from '../../core/contract/index.ts'
import type { CallerSnapshot } from '../../core/pipeline/inference.ts'
import { NO_CLIENT } from '../../core/pipeline/unsent-exchange.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { Groups } from '../../projections/groups.ts'
import type { Policies } from '../../projections/policies.ts'
import type { Rules } from '../../projections/rules.ts'
import { createRequestDecider, toSimulation } from '../audit/index.ts'
import type { RuleCase } from './case-schemas.ts'
import { checkExpectations, type Mismatch } from './check-expectations.ts'
import type { RulesFileState } from './planned.ts'
import { References } from './references.ts'

interface CaseServices extends RulesFileState {
  readonly accounts: Pick<Accounts, 'user' | 'users' | 'ownerOfKey'>
  readonly groups: Groups
  readonly policies: Policies
  readonly rules: Rules
  /** Runs the phase `decide` of all plugins. */
  decide(exchange: Exchange): Promise<void>
}

export interface CaseResult {
  readonly name: string
  /** Empty if all is as expected. */
  readonly mismatches: readonly Mismatch[]
}

/** Decides about the request of each case with the code that decides about real requests. */
export async function runCases(
  cases: readonly RuleCase[],
  services: CaseServices,
): Promise<readonly CaseResult[]> {
  const references = new References(services)
  const decide = createRequestDecider(services, async () => undefined)
  const results: CaseResult[] = []
  for (const ruleCase of cases) {
    const { name, expect } = ruleCase
    try {
      const caller = snapshotCaseCaller(ruleCase, references, services)
      const { endpoint, prompt = '', request = { messages: [{ role: 'user', content: prompt }] } } = ruleCase
      const simulation = toSimulation(request, { endpoint, as_of: undefined, drafts: {}, policyDrafts: [] })
      const decision = await decide(simulation, { ...NO_CALL, account: caller.account }, caller)
      results.push({ name, mismatches: checkExpectations(expect, decision) })
    } catch (error) {
      if (!GatewayError.isInstance(error)) throw error
      results.push({ name, mismatches: [{ field: 'case', expected: 'valid', got: error.message }] })
    }
  }
  return results
}

/** A request that no client sent. */
const NO_CALL = { requestId: 'req_test', headers: {}, client: NO_CLIENT }

/** The policies and rules of the user of a case; without one, of a user in no group and without rules. */
function snapshotCaseCaller(
  { user, groups, plan }: RuleCase,
  references: References,
  services: CaseServices,
): CallerSnapshot {
  const userId = user === undefined ? 0 : requireFound(references.findUser(user))
  const groupIds = groups?.map((group) => requireFound(references.findGroup(group))).sort((a, b) => a - b)
  const known = services.accounts.user(userId)
  const account: Account = {
    userId,
    name: known?.name ?? 'nobody',
    plan: plan ?? known?.plan ?? 'paid',
    keyId: '',
    position: known?.position ?? 0,
  }
  return {
    account,
    policies: services.policies.ruleSetsFor(userId, groupIds ?? services.groups.groupsOf(userId)),
    policyPosition: services.policies.position(),
    rules: services.rules.of(userId),
  }
}

/** Throws the issue of a reference. */
function requireFound(found: number | string | object): number {
  if (typeof found === 'number') return found
  throw new GatewayError('not_found', String(found))
}
