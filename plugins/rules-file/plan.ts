import type { Position } from '../../core/contract/index.ts'
import { PlanBuilder, planBudgets } from './plan-builder.ts'
import { planUsers } from './plan-rules.ts'
import { planGroups, planPolicies } from './plan-sections.ts'
import type { RulesFileState, RulesPlan } from './planned.ts'
import type { RulesFile } from './schemas.ts'

/**
 * Compares a file with what there is. Changes nothing. Throws 422 with all issues if the file is not valid.
 */
export async function planRulesFile(
  file: RulesFile,
  state: RulesFileState,
  position: Position,
): Promise<RulesPlan> {
  const builder = new PlanBuilder(state)
  await planGroups(file.groups ?? [], builder)
  await planPolicies(file.policies ?? [], builder)
  await planUsers(file.users ?? [], builder)
  planBudgets(file.budgets ?? {}, builder)
  builder.issues.throwIfAny()
  return builder.build(position)
}
