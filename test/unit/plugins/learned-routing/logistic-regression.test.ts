import { expect } from 'chai'
import { fitLogisticRegression, type SparseRows } from '../../../../plugins/learned-routing/model.ts'
import { readVectors } from '../../../support/vectors.ts'

interface Fit {
  readonly penalty: number
  readonly labels: readonly number[]
  readonly coefficients: readonly number[]
  readonly bias: number
}

const REFERENCE = readVectors<{
  readonly rows: readonly (readonly number[])[]
  readonly labels: readonly number[]
  readonly weights: readonly number[]
  readonly weak: Fit
  readonly strong: Fit
  readonly soft: Fit
}>('logistic-regression')

/** The last column is the bias. */
function toSparse(rows: readonly (readonly number[])[]): SparseRows {
  const full = rows.map((row) =>
    [...row, 1].flatMap((value, column) => (value === 0 ? [] : [{ value, column }])),
  )
  const starts = [0]
  for (const row of full) starts.push((starts.at(-1) ?? 0) + row.length)
  return {
    starts: Uint32Array.from(starts),
    columns: Uint32Array.from(full.flat(), ({ column }) => column),
    values: Float32Array.from(full.flat(), ({ value }) => value),
    columnCount: (rows[0]?.length ?? 0) + 1,
  }
}

function solve(labels: readonly number[], weights: readonly number[], penalty: number): readonly number[] {
  return [
    ...fitLogisticRegression(
      {
        rows: toSparse(REFERENCE.rows),
        labels: Float64Array.from(labels),
        weights: Float64Array.from(weights),
        penalties: Float64Array.from([0, 1, 2, 3, 4, 5, 6], (column) => (column === 6 ? 0 : penalty)),
      },
      { tolerance: 1e-9 },
    ),
  ]
}

function expectClose(actual: readonly number[], expected: readonly number[]): void {
  for (const [at, value] of expected.entries())
    expect(actual[at], `coefficient ${at}`).to.be.closeTo(value, 2e-5)
}

describe('the logistic regression', () => {
  it('finds the coefficients that scikit-learn finds, for weighted rows', () => {
    for (const { penalty, coefficients, bias } of [REFERENCE.weak, REFERENCE.strong]) {
      expectClose(solve(REFERENCE.labels, REFERENCE.weights, penalty), [...coefficients, bias])
    }
  })

  it('takes labels between 0 and 1 as a share of rows of each kind', () => {
    const { labels, penalty, coefficients, bias } = REFERENCE.soft
    expectClose(
      solve(
        labels,
        labels.map(() => 1),
        penalty,
      ),
      [...coefficients, bias],
    )
  })

  it('finds the coefficient of a number that few prompts have, which is far from its mean', () => {
    const labels = [1, 1, 0]
    const value = 10
    const [coefficient = Number.NaN] = fitLogisticRegression(
      {
        rows: {
          starts: Uint32Array.of(0, 1, 2, 3),
          columns: Uint32Array.of(0, 0, 0),
          values: Float32Array.of(value, value, value),
          columnCount: 1,
        },
        labels: Float64Array.from(labels),
        weights: Float64Array.of(1, 1, 1),
        penalties: Float64Array.of(1),
      },
      { tolerance: 1e-9 },
    )
    const probability = 1 / (1 + Math.exp(-value * coefficient))
    const slope = labels.reduce((sum, label) => sum + value * (probability - label), coefficient)
    expect(slope).to.be.closeTo(0, 1e-4)
  })

  it('has the same result each time', () => {
    const once = solve(REFERENCE.labels, REFERENCE.weights, 1)
    expect(solve(REFERENCE.labels, REFERENCE.weights, 1)).to.deep.equal(once)
  })

  it('ends for rows that a plane separates', () => {
    const coefficients = solve(
      REFERENCE.rows.map(([first]) => first as number),
      REFERENCE.rows.map(() => 1),
      1e-6,
    )
    expect(coefficients.every(Number.isFinite)).to.equal(true)
    expect(coefficients[0]).to.be.above(5)
  })
})
