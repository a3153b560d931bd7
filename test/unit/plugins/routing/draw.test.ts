import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { expect } from 'chai'
import { drawArm } from '../../../../plugins/routing/draw.ts'

const subjects = Array.from({ length: 10_000 }, (_, index) => `subject ${index}`)

const draw = (weights: Readonly<Record<string, number>>, seed = ['log_1', '7']) => {
  const arms = Object.entries(weights).map(([model, weight]) => ({ model, weight }))
  return subjects.map((subject) => drawArm(arms, seed, subject).model)
}

const shareOf = (models: readonly string[], name: string) =>
  (100 * models.filter((model) => model === name).length) / models.length

describe('the arms that splits draw', () => {
  it('have their shares of 10,000 subjects to within one percent', () => {
    for (const weights of [
      { a: 50, b: 50 },
      { a: 95, b: 5 },
      { a: 1, b: 2, c: 7 },
      { a: 0.5, b: 0 },
    ]) {
      const total = Object.values(weights).reduce((sum, weight) => sum + weight, 0)
      const models = draw(weights)
      for (const [name, weight] of Object.entries(weights))
        expect(shareOf(models, name), JSON.stringify(weights)).to.be.closeTo((100 * weight) / total, 1)
    }
  })

  it('move only to the arm whose weight grows, as many as needed', () => {
    const before = draw({ a: 60, b: 30, c: 10 })
    const after = draw({ c: 40, b: 30, a: 60 })
    const moved = after.filter((model, index) => model !== before[index])
    expect(new Set(moved)).to.deep.equal(new Set(['c']))
    expect((100 * moved.length) / subjects.length).to.be.closeTo(100 * (40 / 130 - 10 / 100), 1)
  })

  it('are drawn from a subject of any length with one hash of it', () => {
    const arms = Array.from({ length: 20 }, (_, index) => ({ model: `model-${index}`, weight: 1 }))
    const subject = 'x'.repeat(1_000_000)
    const { hash } = crypto
    let hashed = 0
    const count = (algorithm: string, data: string, ...rest: []) => {
      hashed += data.length
      return hash(algorithm, data, ...rest)
    }
    Object.assign(crypto, { hash: count })
    syncBuiltinESMExports()
    try {
      drawArm(arms, ['log_1', '7'], subject)
    } finally {
      Object.assign(crypto, { hash })
      syncBuiltinESMExports()
    }
    expect(hashed).to.be.within(subject.length, subject.length + arms.length * 200)
    const drawn = (text: string) => drawArm(arms, ['log_1', '7'], text).model
    const models = Array.from({ length: 50 }, (_, index) => drawn(`${'y'.repeat(1000)}${index}`))
    expect(new Set(models).size).to.be.above(10)
  })

  it('are independent of those of another rule', () => {
    const one = draw({ a: 50, b: 50 })
    const other = draw({ a: 50, b: 50 }, ['log_1', '8'])
    const same = one.filter((model, index) => model === other[index])
    expect((100 * same.length) / subjects.length).to.be.closeTo(50, 2)
  })
})
