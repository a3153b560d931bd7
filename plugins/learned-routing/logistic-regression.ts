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

/** Pairs of steps that stand for the curvature. */
const MEMORY = 8
const MAX_ITERATIONS = 200
/** Ends when the gradient has fallen to this share of what it was at the beginning. */
const TOLERANCE = 1e-3
/** A step must lower the loss by this share of what the gradient promises. */
const SUFFICIENT_DECREASE = 1e-4
const MAX_HALVINGS = 30

/**
 * Returns the coefficients with the least weighted log loss plus L2 penalty, by L-BFGS. The problem is
 * convex, so the result depends on nothing else. See docs/decisions/learned-routing.md, "One logistic
 * regression per model".
 */
export function fitLogisticRegression(
  problem: LogisticProblem,
  { tolerance = TOLERANCE }: { readonly tolerance?: number } = {},
): Float64Array {
  const size = problem.rows.columnCount
  let at: Float64Array = new Float64Array(size)
  let gradient = new Float64Array(size)
  let loss = evaluateLoss(problem, at, gradient)
  const goal = tolerance * Math.sqrt(dot(gradient, gradient))
  const steps: Step[] = []
  for (let iteration = 0; iteration < MAX_ITERATIONS; iteration++) {
    if (Math.sqrt(dot(gradient, gradient)) <= goal) break
    const direction = findDirection(gradient, steps)
    const slope = dot(direction, gradient)
    let length = steps.length === 0 ? 1 / Math.max(1, Math.sqrt(dot(gradient, gradient))) : 1
    let next = at
    const nextGradient = new Float64Array(size)
    let nextLoss = Number.POSITIVE_INFINITY
    for (let halving = 0; halving < MAX_HALVINGS; halving++, length /= 2) {
      next = addScaled(at, direction, length)
      nextLoss = evaluateLoss(problem, next, nextGradient)
      if (nextLoss <= loss + SUFFICIENT_DECREASE * length * slope) break
    }
    // The loss cannot be lowered within the precision of numbers.
    if (!(nextLoss < loss)) break
    const change = addScaled(next, at, -1)
    const bend = addScaled(nextGradient, gradient, -1)
    const curvature = dot(change, bend)
    if (curvature > 0) steps.push({ change, bend, curvature })
    if (steps.length > MEMORY) steps.shift()
    at = next
    gradient = nextGradient
    loss = nextLoss
  }
  return at
}

interface Step {
  readonly change: Float64Array
  readonly bend: Float64Array
  readonly curvature: number
}

/** The two loops of L-BFGS: minus the gradient times an estimate of the inverse of the curvature. */
function findDirection(gradient: Float64Array, steps: readonly Step[]): Float64Array {
  const direction = gradient.map((slope) => -slope)
  const shares = steps.map(() => 0)
  for (let index = steps.length - 1; index >= 0; index--) {
    const { change, bend, curvature } = steps[index] as Step
    shares[index] = dot(change, direction) / curvature
    addInPlace(direction, bend, -(shares[index] as number))
  }
  const newest = steps.at(-1)
  if (newest !== undefined) {
    const scale = newest.curvature / dot(newest.bend, newest.bend)
    for (let column = 0; column < direction.length; column++)
      direction[column] = (direction[column] as number) * scale
  }
  for (const [index, { change, bend, curvature }] of steps.entries()) {
    addInPlace(direction, change, (shares[index] as number) - dot(bend, direction) / curvature)
  }
  return direction
}

/** Returns the loss, and puts its gradient into `gradient`. */
function evaluateLoss(problem: LogisticProblem, at: Float64Array, gradient: Float64Array): number {
  const { rows, labels, weights, penalties } = problem
  const { starts, columns, values } = rows
  let loss = 0
  for (let column = 0; column < at.length; column++) {
    const coefficient = at[column] as number
    const slope = (penalties[column] as number) * coefficient
    loss += 0.5 * slope * coefficient
    gradient[column] = slope
  }
  for (let row = 0; row < labels.length; row++) {
    const start = starts[row] as number
    const end = starts[row + 1] as number
    let sum = 0
    for (let entry = start; entry < end; entry++) {
      sum += (values[entry] as number) * (at[columns[entry] as number] as number)
    }
    const label = labels[row] as number
    const weight = weights[row] as number
    // log(1 + e^sum) without overflow.
    loss += weight * (Math.max(sum, 0) + Math.log1p(Math.exp(-Math.abs(sum))) - label * sum)
    const error = weight * (1 / (1 + Math.exp(-sum)) - label)
    for (let entry = start; entry < end; entry++) {
      const column = columns[entry] as number
      gradient[column] = (gradient[column] as number) + error * (values[entry] as number)
    }
  }
  return loss
}

function dot(left: Float64Array, right: Float64Array): number {
  let sum = 0
  for (let at = 0; at < left.length; at++) sum += (left[at] as number) * (right[at] as number)
  return sum
}

function addScaled(left: Float64Array, right: Float64Array, scale: number): Float64Array {
  const sum = new Float64Array(left.length)
  for (let at = 0; at < left.length; at++) sum[at] = (left[at] as number) + scale * (right[at] as number)
  return sum
}

function addInPlace(target: Float64Array, other: Float64Array, scale: number): void {
  for (let at = 0; at < target.length; at++)
    target[at] = (target[at] as number) + scale * (other[at] as number)
}
