import type { EndedExchange } from '../../core/contract/index.ts'
import type { CostLedger, OwnedBudget } from '../budget/index.ts'
import type { CostQuery, CostSum, RequestPage, RequestQuery, StoredRecord } from '../ledger/index.ts'
import { timeOfRecordId } from '../ledger/index.ts'
import { type Coverage, findCoverage } from './budget-coverage.ts'
import { type BudgetVersion, DraftedBudgets } from './budget-versions.ts'
import type { CurrentCaller, WhatIfJob } from './job.ts'
import { type Admitted, LimitsReplay, type LimitsReplayOptions } from './limits-replay.ts'

export type ReplayOptions = Pick<LimitsReplayOptions, 'budget' | 'rateLimits' | 'costOf'>

export interface ReplayLedger {
  list(query: RequestQuery): Promise<RequestPage>
  sumCosts(query: CostQuery): Promise<CostSum>
}

export type VersionName = 'before' | 'after'

/** The groups of a user without and with the drafts. */
export type GroupVersions = Readonly<Record<VersionName, readonly number[]>>

interface ReplayedVersion {
  readonly budgets: BudgetVersion
  readonly replay: LimitsReplay
}

type Copy = Pick<StoredRecord, 'id' | 'cost'>

/** Copies for other models that are counted; more are unlikely. */
const MAX_COPIES = 10_000

/** The budgets and limits without and with the drafts, from the first request on. */
export class ReplayedLimits {
  readonly #covered: Coverage
  readonly #drafted: DraftedBudgets
  readonly #versions: Readonly<Record<VersionName, ReplayedVersion>>
  /** Copies for other models, which count in the budget of everything, oldest last. */
  readonly #copies: Copy[]

  private constructor(job: WhatIfJob, options: ReplayOptions, ledger: CostLedger, copies: Copy[]) {
    this.#covered = findCoverage(job.filter)
    this.#drafted = new DraftedBudgets(job)
    this.#copies = copies
    const rateLimits = this.#covered.user ? options.rateLimits : undefined
    const open = (budgets: BudgetVersion) => ({
      budgets,
      replay: new LimitsReplay({ ...options, rateLimits, ledger }),
    })
    this.#versions = { before: open(this.#drafted.before), after: open(this.#drafted.after) }
  }

  /** `first`: the oldest request. What was spent before it is read from the ledger. */
  static async open(
    job: WhatIfJob,
    first: StoredRecord | undefined,
    options: ReplayOptions,
    ledger: ReplayLedger,
  ): Promise<ReplayedLimits> {
    const start = first === undefined ? Date.now() : timeOfRecordId(first.id)
    const costs: CostLedger = {
      sumCosts: async (query) =>
        query.since >= start ? { cost: 0 } : ledger.sumCosts({ ...query, until: start }),
    }
    const { before, after } = new DraftedBudgets(job)
    const isNeeded = findCoverage(job.filter).all && (before.overall ?? after.overall) !== undefined
    const copies = isNeeded ? await listCopies(start, job.filter.until, ledger) : []
    return new ReplayedLimits(job, options, costs, copies)
  }

  addCaller(caller: CurrentCaller): void {
    this.#drafted.addCaller(caller)
  }

  /** Admits a request that its rules allow. May change its route. */
  async admit(
    version: VersionName,
    exchange: EndedExchange,
    record: StoredRecord,
    groups: GroupVersions,
  ): Promise<Admitted> {
    const { replay } = this.#versions[version]
    return replay.admit(exchange, record, this.#budgetsOf(version, record, groups[version]))
  }

  /** Counts the cost of a request that is not evaluated. Without groups, those of then are used. */
  async count(record: StoredRecord, groups?: GroupVersions): Promise<void> {
    for (const version of VERSIONS) {
      const budgets = this.#budgetsOf(version, record, groups?.[version] ?? record.groups)
      await this.#versions[version].replay.count(record, budgets)
    }
  }

  /** Counts the copies that arrived before a request. */
  async countCopiesBefore({ id }: Pick<StoredRecord, 'id'>): Promise<void> {
    for (let copy = this.#copies.at(-1); copy !== undefined && copy.id < id; copy = this.#copies.at(-1)) {
      this.#copies.pop()
      for (const version of VERSIONS) {
        const { budgets, replay } = this.#versions[version]
        const { overall } = budgets
        if (overall) await replay.count(copy, [{ target: { type: 'all' }, budget: overall }])
      }
    }
  }

  close(): void {
    for (const version of VERSIONS) this.#versions[version].replay.close()
  }

  #budgetsOf(
    version: VersionName,
    { userId, keyId }: Pick<StoredRecord, 'userId' | 'keyId'>,
    groups: readonly number[],
  ): readonly OwnedBudget[] {
    const budgets = this.#versions[version].budgets.find({ userId, keyId, groups })
    return budgets.filter(({ target }) => this.#covered[target.type])
  }
}

const VERSIONS: readonly VersionName[] = ['before', 'after']

async function listCopies(since: number, until: number | undefined, ledger: ReplayLedger): Promise<Copy[]> {
  const copies: Copy[] = []
  const filter = { since, ...(until !== undefined && { until }), copies: 'only' as const }
  for (let before: number | undefined; copies.length < MAX_COPIES; ) {
    const page = await ledger.list({ filter, ...(before !== undefined && { before }), limit: 250 })
    copies.push(...page.records.map(({ id, cost }) => ({ id, cost })))
    if (page.next === undefined) break
    before = page.next
  }
  return copies
}
