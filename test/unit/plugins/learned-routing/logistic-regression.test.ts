import { expect } from 'chai'
import { fitLogisticRegression, type SparseRows } from '../../../../plugins/learned-routing/model.ts'

/** The figures were computed with scikit-learn 1.9.1: `LogisticRegression(C=1 / penalty, tol=1e-12)`. */
const REFERENCE = {
  rows: [
    [0, 0, 0, 0, 0, 0.41],
    [0, 1, 1, 0, 0, 1.73],
    [0, 0, 1, 0, 1, -0.35],
    [1, 0, 0, 0, 0, -1.23],
    [1, 1, 0, 1, 0, 0.72],
    [0, 0, 0, 1, 1, 0.52],
    [0, 0, 0, 0, 0, 0.67],
    [0, 1, 0, 0, 0, 1.03],
    [0, 0, 0, 0, 0, -0.68],
    [0, 1, 0, 0, 0, -1.97],
    [0, 0, 1, 0, 0, 1.04],
    [0, 1, 0, 1, 0, -0.41],
    [0, 0, 1, 0, 1, -1.21],
    [0, 0, 1, 1, 0, -1.17],
    [0, 0, 0, 0, 0, 1.13],
    [0, 1, 0, 0, 0, 0.18],
    [0, 0, 0, 0, 1, 0.3],
    [0, 0, 0, 0, 1, 0.85],
    [0, 0, 1, 1, 0, -0.68],
    [0, 0, 0, 0, 1, -1.13],
    [0, 0, 0, 0, 0, -0.85],
    [1, 0, 1, 0, 0, -1.1],
    [0, 1, 0, 0, 1, -0.29],
    [0, 1, 0, 0, 0, -0.89],
  ],
  labels: [0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 1, 0],
  weights: [
    0.34, 0.82, 0.79, 1.18, 1.1, 1.76, 0.75, 1.98, 1.43, 1.67, 0.3, 0.52, 1.34, 0.77, 0.62, 0.47, 0.43, 1.31,
    0.66, 0.84, 2.1, 0.61, 1.53, 0.45,
  ],
  weak: {
    penalty: 0.1,
    coefficients: [-1.424243, -1.889897, 3.06992, -2.237838, 2.751176, -0.588052],
    bias: -0.660423,
  },
  strong: {
    penalty: 3,
    coefficients: [-0.161805, -0.457809, 0.474466, -0.196478, 0.572328, -0.190544],
    bias: -0.31725,
  },
  soft: {
    penalty: 0.5,
    labels: [
      0.44, 0.74, 0.83, 0.39, 0.11, 0.55, 0.79, 1.0, 0.84, 0.53, 0.41, 0.06, 0.2, 0.45, 0.35, 0.18, 0.87,
      0.35, 0.17, 0.29, 0.75, 0.95, 0.66, 0.32,
    ],
    coefficients: [0.030242, -0.221003, 0.143025, -0.82046, 0.022931, 0.133644],
    bias: 0.246799,
  },
}

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
