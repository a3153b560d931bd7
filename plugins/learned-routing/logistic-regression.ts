import { createRandom, type Random } from '../../core/util/random.ts'

/** A sparse matrix by rows: row `r` has the entries from `starts[r]` up to `starts[r + 1]`. */
export interface SparseRows {
  readonly starts: Uint32Array
  readonly columns: Uint32Array
  readonly values: Float32Array
  readonly columnCount: number
}

export interface LogisticProblem {
  readonly rows: SparseRows
  /** By row, 0 to 1. A label between is a row of each kind, with shares of the weight. */
  readonly labels: Float64Array
  /** By row. */
  readonly weights: Float64Array
  /** By column: L2 penalties, half of which times the squared coefficient is added to the loss. */
  readonly penalties: Float64Array
}

const MAX_EPOCHS = 1000
/** Ends when an epoch changes the probabilities of the rows by less than this (root mean square). */
const TOLERANCE = 1e-4
/** Keeps a column without a penalty near its coefficient of the epoch before. */
const PROXIMAL_PENALTY = 10

/**
 * Returns the coefficients with the least weighted log loss plus L2 penalty, by dual coordinate ascent: one
 * row after the other gets the probability that is consistent with all others. The problem is convex, so the
 * result depends on nothing else. See docs/decisions/learned-routing.md, "One logistic regression per model".
 */
export function fitLogisticRegression(
  { rows, labels, weights, penalties }: LogisticProblem,
  { tolerance = TOLERANCE }: { readonly tolerance?: number } = {},
): Float64Array {
  const { starts, columns } = rows
  // In units in which all penalties are 1, an error of a row changes all coefficients alike.
  const units = penalties.map((penalty) => 1 / Math.sqrt(penalty === 0 ? PROXIMAL_PENALTY : penalty))
  const values = rows.values.map((value, entry) => value * (units[columns[entry] as number] as number))
  const coefficients = new Float64Array(rows.columnCount)
  const probabilities = labels.slice()
  const lengths = sumSquares(starts, values)
  const centers = new Float64Array(rows.columnCount)
  const freeColumns = [...penalties.keys()].filter((column) => penalties[column] === 0)
  const shiftOf = (column: number) =>
    Math.abs((coefficients[column] as number) - (centers[column] as number)) * (units[column] as number)
  const order = Uint32Array.from(labels.keys())
  const random = createRandom(1)
  const whole = weights.reduce((sum, weight) => sum + weight, 0)
  for (let epoch = 0; epoch < MAX_EPOCHS; epoch++) {
    shuffle(order, random)
    let changed = 0
    for (let visit = 0; visit < order.length; visit++) {
      const row = order[visit] as number
      const [start, end] = [starts[row] as number, starts[row + 1] as number]
      let sum = 0
      for (let entry = start; entry < end; entry++)
        sum += (values[entry] as number) * (coefficients[columns[entry] as number] as number)
      const weight = weights[row] as number
      const probability = findProbability(
        sum,
        probabilities[row] as number,
        weight * (lengths[row] as number),
      )
      const change = probability - (probabilities[row] as number)
      probabilities[row] = probability
      changed += weight * change * change
      const step = -weight * change
      for (let entry = start; entry < end; entry++) {
        const column = columns[entry] as number
        coefficients[column] = (coefficients[column] as number) + step * (values[entry] as number)
      }
    }
    if (changed <= tolerance ** 2 * whole && freeColumns.every((column) => shiftOf(column) <= tolerance))
      break
    for (const column of freeColumns) {
      const coefficient = coefficients[column] as number
      coefficients[column] = 2 * coefficient - (centers[column] as number)
      centers[column] = coefficient
    }
  }
  return coefficients.map((coefficient, column) => coefficient * (units[column] as number))
}

function sumSquares(starts: Uint32Array, values: Float32Array): Float64Array {
  const sums = new Float64Array(starts.length - 1)
  for (let row = 0; row < sums.length; row++) {
    let sum = 0
    for (let entry = starts[row] as number; entry < (starts[row + 1] as number); entry++)
      sum += (values[entry] as number) ** 2
    sums[row] = sum
  }
  return sums
}

const MAX_NEWTON_STEPS = 50
const NEWTON_TOLERANCE = 1e-10

/**
 * Returns the probability of a row that equals the logistic function of its log odds. These are `sum` at the
 * present probability, and fall by `effect` for each unit that the probability rises. A step of Newton's
 * method that leaves the known range of the solution, as happens for large effects, halves it instead.
 */
function findProbability(sum: number, present: number, effect: number): number {
  const goal = sum + effect * present
  let low = goal - effect
  let high = goal
  let odds = sum
  let probability = toProbability(odds)
  for (let step = 0; step < MAX_NEWTON_STEPS; step++) {
    const excess = odds + effect * probability - goal
    if (Math.abs(excess) < NEWTON_TOLERANCE) break
    if (excess > 0) high = Math.min(high, odds)
    else low = Math.max(low, odds)
    odds -= excess / (1 + effect * probability * (1 - probability))
    if (odds < low || odds > high) odds = (low + high) / 2
    probability = toProbability(odds)
  }
  return probability
}

function toProbability(odds: number): number {
  return 1 / (1 + Math.exp(-odds))
}

function shuffle(order: Uint32Array, random: Random): void {
  for (let at = order.length - 1; at > 0; at--) {
    const other = random.integer(at + 1)
    const row = order[at] as number
    order[at] = order[other] as number
    order[other] = row
  }
}
