import type { UsageChange } from './add-to-usage.ts'
import { FIGURES } from './record-batch.ts'
import { hourOf, type PlacedRecords, sharedRowOf, signalsOf } from './rows.ts'
import { SIGNALS, type UsageMeasures } from './tables.ts'

type Sums = { -readonly [Measure in keyof UsageMeasures]: number }

/** Returns what the records of a batch add to usage. One element has all with the same shared fields. */
export function sumUsage(placed: PlacedRecords, repeated: ReadonlySet<string>): readonly UsageChange[] {
  const { batch, ids } = placed
  const changes: UsageChange[] = []
  /** By number of the shared fields. */
  const latest: { readonly hour: number; readonly sums: Sums }[] = []
  for (let index = 0; index < ids.length; index++) {
    // Users neither asked for copies nor pay for them.
    if (batch.extrasOf(index)?.shadowOf !== undefined) continue
    const id = ids[index] ?? 0
    const [number, hour] = [batch.sharedNumber(index), hourOf({ id })]
    let sum = latest[number]
    // Neighbours mostly are of the same hour.
    if (sum?.hour !== hour) {
      const { user_id, key, group_set, target, rules } = sharedRowOf(placed, index)
      sum = { hour, sums: createSums() }
      latest[number] = sum
      const request = { id, user_id, key, group_set, target, shadow_of: null }
      changes.push({ request, rules, measures: sum.sums })
    }
    addRecord(sum.sums, placed, index, repeated)
  }
  return changes
}

function createSums(): Sums {
  // Written out, because a batch of many callers has one for each record.
  return {
    requests: 0,
    errors: 0,
    cache_hits: 0,
    unknown_costs: 0,
    input: 0,
    cached: 0,
    cache_write: 0,
    output: 0,
    reasoning: 0,
    cost: 0,
    ratings: 0,
    score: 0,
    cut_off: 0,
    invalid_tool_call: 0,
    schema_mismatch: 0,
    asked_again: 0,
  }
}

function addRecord(sums: Sums, placed: PlacedRecords, index: number, repeated: ReadonlySet<string>): void {
  const { batch } = placed
  const { error, isCacheHit } = batch.sharedOf(index)
  const cost = batch.figure(index, FIGURES.cost)
  sums.requests += 1
  if (error !== null) sums.errors += 1
  if (isCacheHit) sums.cache_hits += 1
  if (cost === null) sums.unknown_costs += 1
  sums.input += batch.figure(index, FIGURES.input) ?? 0
  sums.cached += batch.figure(index, FIGURES.cached) ?? 0
  sums.cache_write += batch.figure(index, FIGURES.cacheWrite) ?? 0
  sums.output += batch.figure(index, FIGURES.output) ?? 0
  sums.reasoning += batch.figure(index, FIGURES.reasoning) ?? 0
  sums.cost += cost ?? 0
  const signals = signalsOf(batch, index, repeated)
  if (signals === 0) return
  if (signals & SIGNALS.cut_off) sums.cut_off += 1
  if (signals & SIGNALS.invalid_tool_call) sums.invalid_tool_call += 1
  if (signals & SIGNALS.schema_mismatch) sums.schema_mismatch += 1
  if (signals & SIGNALS.asked_again) sums.asked_again += 1
}
