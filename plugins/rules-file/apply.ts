import { isDeepStrictEqual } from 'node:util'
import {
  type Author,
  GatewayError,
  type Position,
  SharedStateUnavailableError,
} from '../../core/contract/index.ts'
import { answerInTime } from '../../core/threads/timeout.ts'
import { afterManyItems, afterNextInput } from '../../core/util/cooperative-yield.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { OVERALL_BUDGET_STREAM } from '../../projections/events/budgets.ts'
import { groupStream } from '../../projections/events/groups.ts'
import { policyStream } from '../../projections/events/policies.ts'
import { rulesStream } from '../../projections/events/rules.ts'
import { userStream } from '../../projections/events/users.ts'
import type { IdSource } from '../../projections/ids.ts'
import type { Subscription } from '../../projections/runtime/subscribe.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import type { Budgets, OwnedBudget } from '../budget/index.ts'
import { budgetUnavailable, findNewBudgets } from '../budget/index.ts'
import { planRulesFile } from './plan.ts'
import {
  type PlannedChange,
  type RulesFileState,
  type RulesPlan,
  type StreamOwner,
  type StreamWrite,
  streamRevision,
  type ToId,
} from './planned.ts'
import { findLostReference } from './references.ts'
import type { RulesFile } from './schemas.ts'

export interface RulesFileServices extends RulesFileState {
  readonly ids: Pick<IdSource, 'reserve'>
  readonly writer: EventWriter
  readonly subscription: Pick<Subscription, 'position'>
  /** Undefined where no requests are served. */
  readonly budgets?: Pick<Budgets, 'catchUp'> | undefined
}

/** What must still be so when a file is applied. */
export interface ApplyTerms {
  /** The event log must have no event after this position. */
  readonly position?: number
  /** The file must still lead to these changes. */
  readonly changes?: readonly PlannedChange[]
}

/** An append that was made. */
export interface AppliedWrite {
  readonly stream: string
  readonly title: string
}

export interface AppliedPlan {
  readonly plan: RulesPlan
  readonly applied: readonly AppliedWrite[]
}

/** Compares a file with the current state of this process. */
export async function planFile(file: RulesFile, services: RulesFileServices): Promise<RulesPlan> {
  services.writer.checkAvailable()
  // Reading a body with many rules has taken a good part of a slice. From here on, the state is read.
  await afterNextInput()
  return planRulesFile(file, services, services.subscription.position())
}

/**
 * Makes the changes that a file leads to, in one append for each stream. Throws 409 before the first one if
 * the terms are not met. An error after the first one says what was done and what was not.
 */
export async function applyFile(
  file: RulesFile,
  terms: ApplyTerms,
  services: RulesFileServices,
  author: Author,
  check: (plan: RulesPlan) => void = () => undefined,
): Promise<AppliedPlan> {
  const plan = await planFile(file, services)
  checkTerms(plan, terms, services.subscription.position())
  check(plan)
  const first = plan.newIds === 0 ? 0 : await services.ids.reserve(plan.newIds, author)
  const toId: ToId = (id) => (typeof id === 'number' ? id : first + id.newIndex)
  const applied: AppliedWrite[] = []
  const newBudgets: OwnedBudget[] = []
  for (const [index, write] of plan.writes.entries()) {
    try {
      newBudgets.push(...(await answerInTime(appendWrite(write, toId, services, author))))
    } catch (error) {
      throw describePartialChange(error, applied, plan.writes.slice(index))
    }
    applied.push({ stream: streamOf(write.owner, toId), title: write.title })
  }
  await catchUp(newBudgets, services)
  return { plan, applied }
}

/** `newest`: the position after planning. Rules are planned in time slices, in which events are applied. */
function checkTerms({ position, changes }: RulesPlan, terms: ApplyTerms, newest: Position): void {
  if (terms.position !== undefined && (terms.position !== position || newest !== position)) {
    const message =
      `The event log is at position ${newest}; the plan was made at ${terms.position}. ` +
      'Nothing was changed. Plan again, and check the changes.'
    throw new GatewayError('conflict', message)
  }
  if (terms.changes === undefined) return
  // Plans travel as JSON.
  if (!isDeepStrictEqual(terms.changes, JSON.parse(JSON.stringify(changes)))) {
    const message =
      'The file would no longer make the changes of the plan: the file, or what it is about, was changed ' +
      'since. Nothing was changed. Plan again, and check the changes.'
    throw new GatewayError('conflict', message)
  }
}

async function appendWrite(
  { owner, title, revision, events }: StreamWrite,
  toId: ToId,
  { writer, ...state }: RulesFileServices,
  author: Author,
): Promise<readonly OwnedBudget[]> {
  const current = () => streamRevision(toExistingOwner(owner, toId), state)
  const planned = events.flatMap((event) => event(toId))
  const newBudgets = findNewBudgets(planned, state)
  function requireReferences(): void {
    const issue = findLostReference(planned, state)
    if (issue !== undefined) throw new GatewayError('conflict', issue)
  }
  await afterManyItems(planned.length)
  const decide = () => {
    if (current() !== revision)
      throw new GatewayError('conflict', `Something else changed the ${title} meanwhile.`)
    requireReferences()
    return planned
  }
  await writer.write({ stream: streamOf(owner, toId), revision: current, decide }, author)
  await afterManyItems(planned.length)
  // Another node may have written first.
  requireReferences()
  return newBudgets
}

async function catchUp(added: readonly OwnedBudget[], { budgets }: RulesFileServices): Promise<void> {
  try {
    for (const owned of added) await budgets?.catchUp?.(owned)
  } catch (error) {
    if (!SharedStateUnavailableError.isInstance(error)) throw error
    const message =
      'The file is applied, but what was spent cannot be read at the moment. Where there was a budget of ' +
      'another period before, remove the new one and set it again, so that all of it counts.'
    throw budgetUnavailable(message)
  }
}

function toExistingOwner(owner: StreamOwner, toId: ToId): StreamOwner {
  return owner.type === 'budget' ? owner : { ...owner, id: toId(owner.id) }
}

const STREAMS = { group: groupStream, policy: policyStream, user: userStream, rules: rulesStream }

function streamOf(owner: StreamOwner, toId: ToId): string {
  return owner.type === 'budget' ? OVERALL_BUDGET_STREAM : STREAMS[owner.type](toId(owner.id))
}

/** Returns the error with what was done before it. Errors of the first append stay as they are. */
function describePartialChange(
  error: unknown,
  applied: readonly AppliedWrite[],
  others: readonly StreamWrite[],
): unknown {
  if (applied.length === 0) return error
  const message =
    `${errorMessage(error)} Applied before: ${listTitles(applied)}. Not applied: ${listTitles(others)}. ` +
    'Apply the file again to finish.'
  if (GatewayError.isInstance(error)) return error.withMessage(message)
  return new GatewayError('event_log_unavailable', message, { cause: error })
}

function listTitles(writes: readonly { readonly title: string }[]): string {
  return writes.map(({ title }) => title).join(', ')
}
