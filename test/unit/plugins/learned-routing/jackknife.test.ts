import { expect } from 'chai'
import { effectiveCount, predictFigures } from '../../../../plugins/learned-routing/judge.ts'
import { createRandom, type Random } from '../../../support/random.ts'

/** Measures the mean of groups, each of which counts by its size. */
const meanOf = (means: readonly number[], sizes: readonly number[]) => (leftOut?: number) => {
  const kept = sizes.map((size, group) => (group === leftOut ? 0 : size))
  const whole = kept.reduce((sum, size) => sum + size, 0)
  return [kept.reduce((sum, size, group) => sum + size * (means[group] as number), 0) / whole]
}

/** About normal, with the variance 1. */
function drawNormal(random: Random): number {
  const uniform = Array.from({ length: 12 }, () => random.integer(2 ** 31) / 2 ** 31)
  return uniform.reduce((sum, value) => sum + value, -6)
}

describe('predicting figures of new groups', () => {
  it('yields the prediction interval of means, for groups of the same size', () => {
    const means = [0.3, 0.1, 0.4, 0.2, 0.5]
    const sizes = means.map(() => 40)
    const [interval] = predictFigures(sizes, 2, meanOf(means, sizes))
    // Their standard deviation is 0.1581, and t with 4 degrees of freedom is 2.776.
    const margin = 2.776 * 0.158114 * Math.sqrt(1 / 2 + 1 / 5)
    expect(interval?.value).to.be.closeTo(0.3, 1e-9)
    expect(interval?.low).to.be.closeTo(0.3 - margin, 1e-5)
    expect(interval?.high).to.be.closeTo(0.3 + margin, 1e-5)
  })

  it('counts large groups as fewer', () => {
    expect(effectiveCount([10, 10, 10, 10])).to.be.closeTo(4, 1e-9)
    expect(effectiveCount([97, 1, 1, 1])).to.be.below(1.1)
  })

  it('covers new groups in 95 % of cases, and is above them in 2.5 %', () => {
    const trials = 2000
    for (const sizes of [Array.from({ length: 8 }, () => 100), [30, 40, 60, 80, 100, 120, 150, 180]]) {
      const random = createRandom(5)
      let [covered, above] = [0, 0]
      for (let trial = 0; trial < trials; trial++) {
        const means = sizes.map(() => drawNormal(random))
        const next = (drawNormal(random) + drawNormal(random)) / 2
        const [interval] = predictFigures(sizes, 2, meanOf(means, sizes))
        if (interval === undefined) throw new Error('there is no interval')
        if (interval.low > next) above++
        if (interval.low <= next && next <= interval.high) covered++
      }
      expect(covered / trials, String(sizes)).to.be.within(0.935, 0.98)
      expect(above / trials, String(sizes)).to.be.below(0.035)
    }
  })
})
